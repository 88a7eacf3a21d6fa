import { ConversationLog } from "./conversation-log.ts";
import {
  conversationsPath,
  historyLogPath,
  listHistoryUsers,
  renameHistoryLogs,
  toolUsagePath,
} from "./gateway-files.ts";
import { HistoryLog } from "./history/history-log.ts";
import { ToolUsageLog } from "./tools/tool-usage-log.ts";

/**
 * Removes what a gateway that does not run has kept of sessions that were deleted. The caller holds its place, so that none
 * is started meanwhile. Rejects if a file can't be written.
 */
export async function forgetSessions(home: string, sessions: readonly string[]): Promise<void> {
  await renameHistoryLogs(home);
  const log = await ConversationLog.open(conversationsPath(home));
  await (await ToolUsageLog.open(toolUsagePath(home))).forget(sessions);
  const histories = new HistoryLog((user) => historyLogPath(home, user), { listUsers: () => listHistoryUsers(home) });
  for (const [user, ids] of Map.groupBy(sessions, (id) => log.facts(id)?.user))
    await histories.remove({ user, sessions: ids });
  for (const id of sessions) log.remove(id);
  await log.rewrite();
}
