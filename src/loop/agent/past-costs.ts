import type { PaidRequest } from "../../cache/costs.ts";
import { type SessionId, tokens } from "../../schema/brand.ts";
import type { AssistantEntry, Entry } from "../../schema/entry.ts";
import { callsIn } from "../compact/spent.ts";

/** `inherited`: paid by the session that this one was forked or copied from. */
export type PastRequest = PaidRequest & { readonly paidBy: "own" | "inherited" };

export interface PastInput {
  readonly path: Iterable<Entry>;
  readonly session: SessionId;
}

/** What was paid for a session so far, as far as its log was read. The log does not tell lifetimes apart: writes count as the usual ones. */
export function pastRequests({ path, session }: PastInput): readonly PastRequest[] {
  const byKey = new Map<string, PastRequest>();
  for (const entry of path) {
    if (entry.kind !== "assistant" && entry.kind !== "edit") continue;
    const paidBy = entry.session === session ? "own" : "inherited";
    if (entry.kind === "edit") {
      for (const [at, { model, usage }] of callsIn(entry).entries())
        byKey.set(`call ${entry.id} ${at}`, { paidBy, source: "compact", model, usage, headerTokens: tokens(0) });
      continue;
    }
    const paid = replyRequest(entry);
    // Of a reply in several entries the last one has the whole usage.
    if (paid !== undefined) byKey.set(`reply ${entry.messageId ?? ""}`, { ...paid, paidBy });
  }
  return [...byKey.values()];
}

function replyRequest({ messageId, model, usage }: AssistantEntry): PaidRequest | undefined {
  if (messageId === undefined || usage === undefined) return undefined;
  const { input, cacheWrite, cacheRead, output } = usage;
  return {
    source: "main",
    model: model ?? "",
    usage: {
      input_tokens: input,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
      output_tokens: output,
    },
    headerTokens: tokens(0),
  };
}
