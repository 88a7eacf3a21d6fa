import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import { isAbsent } from "palimpsest/internal/store/files/disk";
import { sessionIds } from "palimpsest/internal/store/files/list-sessions";

/*
 * The sessions of the gateway's users, besides those of `local`: `<home>/gateway/users/<user>/<project's hash>/<id>.jsonl`.
 * Only the operator, whose home it is, can read them.
 */

const usersFolder = (home: string): string => join(home, "gateway", "users");

/** One for each of their projects. A user's name is only compared: it may come from a command line. */
export async function listUserFolders(home: string, user?: string): Promise<readonly string[]> {
  const folders: string[] = [];
  for (const name of await listFolders(usersFolder(home)))
    if (user === undefined || name === user)
      for (const project of await listFolders(join(usersFolder(home), name)))
        folders.push(join(usersFolder(home), name, project));
  return folders;
}

export const listGatewayUsers = (home: string): Promise<readonly string[]> => listFolders(usersFolder(home));

/** By the whole id, or by the beginning of one. */
export async function findUserSessions(
  home: string,
  name: string,
): Promise<readonly { readonly id: SessionId; readonly folder: string }[]> {
  const found: { readonly id: SessionId; readonly folder: string }[] = [];
  for (const folder of name === "" ? [] : await listUserFolders(home))
    for (const id of await sessionIds(folder)) if (id.startsWith(name)) found.push({ id: sessionId(id), folder });
  const exact = found.filter(({ id }) => id === name);
  return exact.length > 0 ? exact : found;
}

async function listFolders(path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
