import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "palimpsest/internal/store/files/disk";
import { localUser } from "../operate/users.ts";
import { ifAbsent } from "./json-lines-file.ts";

export const conversationsPath = (home: string): string => join(home, "gateway", "conversations.jsonl");

export const toolUsagePath = (home: string): string => join(home, "gateway", "tools.jsonl");

export const historyLogPath = (home: string, user: string): string =>
  join(historyFolder(home, user), "histories.jsonl");

/** All who may have a history log. */
export const listHistoryUsers = async (home: string): Promise<readonly string[]> => [
  localUser,
  ...(await readdir(join(home, "gateway", "users")).catch(ifAbsent([]))),
];

/**
 * Histories were in `held.jsonl`, in the same lines. It becomes the history log; beside one it is removed, as nothing would
 * delete a session in it. Only while no gateway runs. Rejects if a file can't be renamed.
 */
export async function renameHistoryLogs(home: string): Promise<void> {
  for (const user of await listHistoryUsers(home)) {
    const [earlier, path] = [join(historyFolder(home, user), "held.jsonl"), historyLogPath(home, user)];
    if (await exists(path)) await rm(earlier, { force: true });
    else await rename(earlier, path).catch(ifAbsent(undefined));
  }
}

const historyFolder = (home: string, user: string): string =>
  join(home, "gateway", ...(user === localUser ? [] : ["users", user]));
