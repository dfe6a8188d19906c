/** `sandboxProfile`: what a worker may have beyond the baseline. Little can be asked for; the rest is refused. */
import { CavemanError } from "../../kernel/index.ts";

export interface SandboxProfile {
  /** Unbounded egress; always refused. */
  network?: boolean;
  /** Child processes; always refused. */
  childProcess?: boolean;
  /** Names of environment variables: the credentials of one provider. */
  credentialEnv?: string[];
}

const FAMILIES: readonly (readonly string[])[] = [
  ["ANTHROPIC_API_KEY"],
  ["OPENAI_API_KEY"],
  ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
];

/**
 * The environment of a worker: a fixed baseline, and the credentials that were asked for by name.
 * @throws CavemanError `cave_sandbox_network_egress_unbounded`, `cave_sandbox_child_process_containment_unavailable`,
 * `cave_sandbox_credential_*`.
 */
export function environment(
  profile: SandboxProfile = {},
  from: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  if (profile.network)
    throw new CavemanError("cave_sandbox_network_egress_unbounded", { place: "sandboxProfile.network" });
  if (profile.childProcess)
    throw new CavemanError("cave_sandbox_child_process_containment_unavailable", {
      place: "sandboxProfile.childProcess",
    });
  const env: Record<string, string> = { PATH: "/usr/bin:/bin", CAVE_EVAL_FIXTURE: "1" };
  for (const name of ["LANG", "LC_ALL", "TZ"]) if (from[name]) env[name] = from[name];
  const names = profile.credentialEnv ?? [];
  const place = "sandboxProfile.credentialEnv";
  const families = new Set<readonly string[]>();
  for (const name of names) {
    const family = FAMILIES.find((each) => each.includes(name));
    if (!family) throw new CavemanError("cave_sandbox_credential_env_not_allowlisted", { place, received: name });
    families.add(family);
  }
  if (families.size > 1)
    throw new CavemanError("cave_sandbox_credential_capability_ambiguous", { place, received: names.join(", ") });
  for (const name of names) {
    const value = from[name];
    if (!value) throw new CavemanError("cave_sandbox_credential_missing", { place, received: name });
    env[name] = value;
  }
  return env;
}
