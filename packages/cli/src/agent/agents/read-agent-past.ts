import { pastRequests } from "palimpsest/internal/context/past-costs";
import type { AgentPast } from "palimpsest/internal/ports/agent-host";
import type { AgentStore } from "palimpsest/internal/ports/store";
import { type AgentId, sessionId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { readLog } from "palimpsest/internal/session/counted-log";

/** What the transcript of an agent tells; undefined if there is none that can be read. Must not reject. */
export async function readAgentPast(store: AgentStore, id: AgentId): Promise<AgentPast | undefined> {
  const whole = { line: "side", tailBytes: Number.MAX_SAFE_INTEGER } as const;
  const log = await readLog({ ...store, ...whole }, sessionId(id)).catch(() => undefined);
  if (log === undefined) return undefined;
  const { entries, everyBranch } = log.fold.path;
  const paid = pastRequests({ entries: everyBranch, session: sessionId(id) });
  return {
    // A fork's log begins with its parent's replies.
    lastReply: lastReply(entries.filter((entry) => entry.kind === "assistant" && entry.session === id)),
    payments: paid.flatMap(({ paidBy, model, usage }) => (paidBy === "own" ? [{ model, usage }] : [])),
  };
}

/** All texts of the last reply that has one. */
function lastReply(entries: readonly Entry[]): string {
  const last = entries.findLast(
    (entry) => entry.kind === "assistant" && entry.blocks.some(({ type }) => type === "text"),
  );
  if (last?.kind !== "assistant") return "";
  const parts = entries.filter((entry) => entry.kind === "assistant" && entry.messageId === last.messageId);
  return parts
    .flatMap((entry) => (entry.kind === "assistant" ? entry.blocks : []))
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("");
}
