import type { PaidRequest } from "../../cache/costs.ts";
import { type MessageId, type SessionId, tokens } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";

/** `inherited`: paid by the session that this one was forked or copied from. */
export type PastRequest = PaidRequest & { readonly paidBy: "own" | "inherited" };

export interface PastInput {
  readonly path: Iterable<Entry>;
  readonly session: SessionId;
}

/** What was paid for a session so far, as far as its log was read. The log does not tell lifetimes apart: writes count as the usual ones. */
export function pastRequests({ path, session }: PastInput): readonly PastRequest[] {
  const byReply = new Map<MessageId, PastRequest>();
  for (const entry of path) {
    if (entry.kind !== "assistant" || entry.messageId === undefined || entry.usage === undefined) continue;
    const { input, cacheWrite, cacheRead, output } = entry.usage;
    // Of a reply in several entries the last one has the whole usage.
    byReply.set(entry.messageId, {
      paidBy: entry.session === session ? "own" : "inherited",
      source: "main",
      model: entry.model ?? "",
      usage: {
        input_tokens: input,
        cache_creation_input_tokens: cacheWrite,
        cache_read_input_tokens: cacheRead,
        output_tokens: output,
      },
      headerTokens: tokens(0),
    });
  }
  return [...byReply.values()];
}
