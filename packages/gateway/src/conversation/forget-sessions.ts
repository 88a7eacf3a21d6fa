import { join } from "node:path";
import { localUser } from "../operate/users.ts";
import { ConversationLog } from "./conversation-log.ts";
import { HistoryLog } from "./history-log.ts";
import { ToolUsageLog } from "./tool-usage-log.ts";

export const conversationsPath = (home: string): string => join(home, "gateway", "conversations.jsonl");

export const historyLogPath = (home: string, user: string): string =>
  join(home, "gateway", ...(user === localUser ? [] : ["users", user]), "held.jsonl");

export const toolUsagePath = (home: string): string => join(home, "gateway", "tools.jsonl");

/**
 * Removes what a gateway that does not run has kept of sessions that were deleted. The caller holds its place, so that none
 * is started meanwhile. Rejects if a file can't be written.
 */
export async function forgetSessions(home: string, sessions: readonly string[]): Promise<void> {
  const log = await ConversationLog.open(conversationsPath(home));
  const userById = new Map(sessions.map((id) => [id, log.facts(id)?.user ?? localUser]));
  for (const id of sessions) log.remove(id);
  await log.rewrite();
  await (await ToolUsageLog.open(toolUsagePath(home))).forget(sessions);
  const held = new HistoryLog((user) => historyLogPath(home, user));
  for (const [user, own] of Map.groupBy(sessions, (id) => userById.get(id) ?? localUser)) await held.remove(user, own);
}
