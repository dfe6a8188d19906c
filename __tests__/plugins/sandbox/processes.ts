/** Processes by what /proc tells of them. */
import { readdirSync, readFileSync } from "node:fs";

const statusOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
};
/** Running, and no zombie that waits for its parent. */
export const isAlive = (pid: number): boolean => /^State:\s+[^ZX]/m.test(statusOf(pid));

/** Every process below one, as the host numbers them. */
export function descendants(root: number): number[] {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const parents = new Map(pids.map((pid) => [pid, Number(/^PPid:\s+(\d+)/m.exec(statusOf(pid))?.[1])]));
  const below = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === root || (parent > 1 && below(parent));
  };
  return pids.filter(below);
}
