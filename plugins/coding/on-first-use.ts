/** Functions of the coding agent whose code comes with the first call of one: naming them loads none of it. */
type Sessions = typeof import("./sessions.ts");
let code: Sessions | undefined;
const loaded = async (): Promise<Sessions> => (code ??= await import("./sessions.ts"));

/**
 * Starts a session, or takes up a saved one.
 * @throws CavemanError `cave_coding_session_unknown`, `cave_coding_session_invalid`, `cave_option_invalid`,
 * `cave_plugin_missing`.
 */
export const startSession: Sessions["startSession"] = async (...given) => (await loaded()).startSession(...given);

/** The sessions of a workspace, newest first; those that cannot be read are left out. */
export const listSessions: Sessions["listSessions"] = async (...given) => (await loaded()).listSessions(...given);

/** Reads the AGENTS.md files from the repository's root down to the workspace. What is cut or refused is a notice. */
export const readAgentsMd: Sessions["readAgentsMd"] = async (...given) => (await loaded()).readAgentsMd(...given);

/** Reads the Agent Skills of a workspace. A wrong one is left out with a notice. */
export const readSkills: Sessions["readSkills"] = async (...given) => (await loaded()).readSkills(...given);

/** Makes `<workspace>/.caveman/sessions`. @throws Error with what stands in the way. */
export const privateFolder: Sessions["privateFolder"] = async (...given) => (await loaded()).privateFolder(...given);

/** A file of at most `maxBytes` that only this user can have written. @throws Error with what is wrong with it. */
export const readPrivately: Sessions["readPrivately"] = async (...given) => (await loaded()).readPrivately(...given);

/** Writes a file whole or not at all: beside it first, flushed, then in its place. */
export const writePrivately: Sessions["writePrivately"] = async (...given) => (await loaded()).writePrivately(...given);
