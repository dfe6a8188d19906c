/**
 * The command that starts a worker inside the boundary of the operating system. On Linux: namespaces for users, mounts,
 * processes, network, IPC and names; the stage, read-only, as the whole file system, with a private /tmp in memory, no
 * /proc, no /dev and no /sys; then a second user namespace without any capability. A process in a changed root may make no
 * further user namespace, so there is no way back. On macOS: a `sandbox-exec` profile. Elsewhere it is refused.
 */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { CavemanError } from "../../kernel/index.ts";

export interface Bounds {
  /** Megabytes of memory that the worker's heap and buffers may take. */
  readonly memoryMb: number;
  /** Megabytes of its private /tmp. */
  readonly scratchMb: number;
}
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The stage's `app` as the worker sees it. */
  readonly app: string;
}

/** What the kernel counts as data of a Node that does nothing: 512 MB that V8 reserves for code, and stacks of its threads. */
const OVERHEAD_MB = 512 + 128;
/** The exit code of the script below when the boundary could not be drawn. */
export const BOUNDARY_FAILED = 97;

const SCRIPT = `ulimit -c 0 && ulimit -n 256 && ulimit -d "$4" &&
mount -o bind,ro,nosuid,nodev "$1" "$1" &&
mount -o bind,ro,nosuid,nodev "$2" "$1/bin/node" &&
mount -t tmpfs -o "size=$3m,nr_inodes=8192,nosuid,nodev,noexec,mode=0700" tmpfs "$1/tmp" || exit ${BOUNDARY_FAILED}
echo sandbox > /proc/sys/kernel/hostname 2>/dev/null
root=$1; unshare=$5; shift 5
exec "$unshare" --user --root="$root" --wd=/tmp -- /bin/node "$@" 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-`;

const at = (name: string): string | undefined =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map((dir) => join(dir, name)).find((path) => existsSync(path));

/** @throws CavemanError `cave_sandbox_os_network_isolation_unavailable`. */
export function launch(stageDir: string, scratch: string, bounds: Bounds): Launch {
  if (process.platform === "linux") return linux(stageDir, bounds);
  if (process.platform === "darwin") return darwin(stageDir, scratch, bounds);
  throw new CavemanError("cave_sandbox_os_network_isolation_unavailable", {
    expected: "Linux or macOS",
    received: process.platform,
    ...(process.platform === "win32" ? { remedy: "Run sandboxed tools in WSL2." } : {}),
  });
}

function nodeFlags(app: string, scratch: string, { memoryMb }: Bounds): string[] {
  return [
    "--permission",
    `--allow-fs-read=${app}/`,
    `--allow-fs-read=${scratch}/`,
    `--allow-fs-write=${scratch}/`,
    "--disallow-code-generation-from-strings",
    "--no-addons",
    ...(process.allowedNodeEnvironmentFlags.has("--disable-sigusr1") ? ["--disable-sigusr1"] : []),
    "--no-warnings",
    `--max-old-space-size=${memoryMb}`,
    `${app}/worker.mjs`,
  ];
}

function linux(stageDir: string, bounds: Bounds): Launch {
  const [setpriv, unshare, sh] = ["setpriv", "unshare", "sh"].map((name) => {
    const path = at(name);
    if (path) return path;
    throw new CavemanError("cave_sandbox_os_network_isolation_unavailable", {
      expected: `the command ${name} of util-linux`,
      received: "none",
    });
  }) as [string, string, string];
  const kilobytes = String((bounds.memoryMb + OVERHEAD_MB) * 1024);
  return {
    // The parent's death kills the launcher, and the launcher's death kills the first process of the namespace, and so all.
    command: setpriv,
    args: [
      "--pdeathsig=KILL",
      "--no-new-privs",
      "--",
      unshare,
      "--user",
      "--map-root-user",
      "--net",
      "--pid",
      "--ipc",
      "--uts",
      "--mount",
      "--fork",
      "--kill-child",
      "--",
      sh,
      "-c",
      SCRIPT,
      "sandbox",
      realpathSync(stageDir),
      realpathSync(process.execPath),
      String(bounds.scratchMb),
      kilobytes,
      unshare,
      ...nodeFlags("/app", "/tmp", bounds),
    ],
    cwd: "/",
    app: "/app",
  };
}

function darwin(stageDir: string, scratch: string, bounds: Bounds): Launch {
  const app = join(realpathSync(stageDir), "app");
  const quoted = (path: string): string => `"${path.replace(/(["\\])/g, "\\$1")}"`;
  const profile = `(version 1)(allow default)(deny network*)(deny file-write*)(allow file-write* (subpath ${quoted(scratch)}) (literal "/dev/null"))(deny process-fork)(deny mach-lookup)(deny signal (target others))`;
  return {
    command: "/usr/bin/sandbox-exec",
    args: ["-p", profile, process.execPath, ...nodeFlags(app, scratch, bounds)],
    cwd: scratch,
    app,
  };
}
