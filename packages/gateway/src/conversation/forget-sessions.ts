import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { localUser } from "../operate/users.ts";
import { ConversationLog } from "./conversation-log.ts";
import { HistoryLog } from "./history/history-log.ts";
import { ifAbsent } from "./json-lines-file.ts";
import { ToolUsageLog } from "./tools/tool-usage-log.ts";

export const conversationsPath = (home: string): string => join(home, "gateway", "conversations.jsonl");

export const historyLogPath = (home: string, user: string): string =>
  join(home, "gateway", ...(user === localUser ? [] : ["users", user]), "histories.jsonl");

/** All who may have a history log. */
export const listHistoryUsers = async (home: string): Promise<readonly string[]> => [
  localUser,
  ...(await readdir(join(home, "gateway", "users")).catch(ifAbsent([]))),
];

export const toolUsagePath = (home: string): string => join(home, "gateway", "tools.jsonl");

/**
 * Removes what a gateway that does not run has kept of sessions that were deleted. The caller holds its place, so that none
 * is started meanwhile. Rejects if a file can't be written.
 */
export async function forgetSessions(home: string, sessions: readonly string[]): Promise<void> {
  const log = await ConversationLog.open(conversationsPath(home));
  await (await ToolUsageLog.open(toolUsagePath(home))).forget(sessions);
  const histories = new HistoryLog((user) => historyLogPath(home, user), { listUsers: () => listHistoryUsers(home) });
  for (const [user, ids] of Map.groupBy(sessions, (id) => log.facts(id)?.user))
    await histories.remove({ user, sessions: ids });
  for (const id of sessions) log.remove(id);
  await log.rewrite();
}
