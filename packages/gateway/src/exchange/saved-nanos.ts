import { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import { parseSpent } from "palimpsest/internal/cache/usage-split";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { ReplyCharge } from "../reply/reply-usage.ts";
import { cacheMs } from "./limits.ts";

export interface SavedInput {
  /** Tokens of the original request. 0 for a request that the client did not make: it only costs. */
  readonly wholeTokens: number;
  /** The original request before this one. */
  readonly lastSent: { readonly tokens: number; readonly at: number } | undefined;
  readonly now: number;
  readonly prices: readonly ModelOverride[];
}

/**
 * Estimates how much more the original request would have cost. Negative if an edit invalidated more cache than it saved.
 *
 * Assumes that, without the gateway, everything the client had sent before would be a cache read while the provider keeps it,
 * and the rest a cache write. If the reply used no cache, the original request would not have either.
 */
export function savedNanos(
  { model, usage }: Pick<ReplyCharge, "model" | "usage">,
  { wholeTokens, lastSent, now, prices }: SavedInput,
): number {
  const ledger = new CostLedger(prices);
  const runs = parseSpent(usage);
  const sum = (key: keyof (typeof runs)[number]["usage"]): number =>
    runs.reduce((total, run) => total + run.usage[key], 0);
  const [read, hour, plain] = [sum("cacheReadTokens"), sum("cacheWrite1hTokens"), sum("inputTokens")];
  const written = sum("cacheWrite5mTokens") + hour;
  const write = (count: number) =>
    written === 0
      ? { input_tokens: count }
      : { cache_creation_input_tokens: count, cache_creation: { ephemeral_1h_input_tokens: hour > 0 ? count : 0 } };
  const paid = ledger.priceOf({
    model,
    usage: {
      input_tokens: plain,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      cache_creation: { ephemeral_1h_input_tokens: hour },
    },
  });
  if (read + written === 0) return ledger.priceOf({ model, usage: { input_tokens: wholeTokens } }) - paid;
  const isKept = lastSent !== undefined && (read > 0 || now - lastSent.at < cacheMs);
  const known = lastSent === undefined ? wholeTokens - written - plain : isKept ? lastSent.tokens : 0;
  const wholeRead = Math.max(0, Math.min(known, wholeTokens));
  const whole = { cache_read_input_tokens: wholeRead, ...write(wholeTokens - wholeRead) };
  return ledger.priceOf({ model, usage: whole }) - paid;
}
