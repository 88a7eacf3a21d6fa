import type { SessionId } from "../schema/brand.ts";

/** Names that a project folder uses for itself, beside the sessions' own folders. */
const reservedNames: ReadonlySet<string> = new Set(["blobs", "memory"]);
const sessionNamePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,179}$/;

/** Session ids become file names: what could leave the folder or hide in it is no session of ours. */
export const isSessionName = (id: SessionId): boolean => sessionNamePattern.test(id) && !reservedNames.has(id);
