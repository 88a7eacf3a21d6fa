import type { SessionId } from "../schema/brand.ts";

/** Names of folders that a project has besides the folders of its sessions. */
const reservedNames: ReadonlySet<string> = new Set(["blobs", "memory"]);
const sessionNamePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,179}$/;

/** Session ids become file names: an id that could escape the folder or be a hidden file is rejected. */
export const isSessionName = (id: SessionId): boolean => sessionNamePattern.test(id) && !reservedNames.has(id);
