/** What a session needs, in one piece: loaded with the first function that does. */
export { readAgentsMd } from "./agents-md.ts";
export { privateFolder, readPrivately, writePrivately } from "./private-folder.ts";
export { listSessions } from "./session-file.ts";
export { readSkills } from "./skills.ts";
export { startSession } from "./start-session.ts";
