import type { PaidRequest } from "../../cache/costs.ts";
import { type MessageId, tokens } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";

/** What earlier runs of a session paid, as far as its log was read. The log does not tell lifetimes apart: writes count as the usual ones. */
export function pastRequests(path: Iterable<Entry>): readonly PaidRequest[] {
  const byReply = new Map<MessageId, PaidRequest>();
  for (const entry of path) {
    if (entry.kind !== "assistant" || entry.messageId === undefined || entry.usage === undefined) continue;
    const { input, cacheWrite, cacheRead, output } = entry.usage;
    // Of a reply in several entries the last one has the whole usage.
    byReply.set(entry.messageId, {
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
