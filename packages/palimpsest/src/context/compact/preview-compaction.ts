import { nanosFor } from "../../cache/cost-ledger.ts";
import { nanoUsd } from "../../schema/brand.ts";
import type { CompactionCall } from "../../schema/compaction-cause.ts";
import type { Conversation } from "../conversation.ts";
import type { BoundaryDraft, CompactionContext } from "./boundary-draft.ts";
import type { CompactionMoney, CompactionPreview } from "./proposal.ts";
import { callsCost } from "../past-costs.ts";
import { formatCount } from "../../text/format-count.ts";

/** One line for the user; undefined if the boundary is worth writing. */
export function whyNotSmaller({ ask, settings }: CompactionContext, draft: BoundaryDraft): string | undefined {
  const { compact, blocking } = settings.thresholds;
  const { tokensBefore, tokensAfter } = draft;
  // It must become simpler, not smaller.
  if (ask.cause === "refused" && tokensAfter < blocking) return undefined;
  const [before, after] = [formatCount(tokensBefore), formatCount(tokensAfter)];
  if (tokensAfter >= tokensBefore)
    return `The context would not become smaller: about ${after} tokens instead of ${before}${largestPartsText(draft)}.`;
  const isNeeded = ask.trigger === "manual" || ask.cause === "limit" || ask.cause === "overflow";
  // Otherwise it would be due again at once.
  return isNeeded || tokensAfter < compact
    ? undefined
    : `The context would still have about ${after} tokens, over the ${formatCount(compact)} at which compaction starts.`;
}

/** Names what is kept verbatim: a shorter summary would not help. */
function largestPartsText({ ledger, restoration }: BoundaryDraft): string {
  const parts = [
    { tokens: ledger.tokens, what: "what you said, word for word" },
    { tokens: restoration.tokens, what: "files and other working state put back" },
  ].filter(({ tokens }) => tokens > 0);
  return parts.length === 0
    ? ""
    : `, ${parts.map(({ tokens, what }) => `${formatCount(tokens)} of it ${what}`).join(", ")}`;
}

interface PreviewInput {
  readonly draft: BoundaryDraft;
  readonly calls: readonly CompactionCall[];
}

export function previewCompaction(conversation: Conversation, { draft, calls }: PreviewInput): CompactionPreview {
  const { receipt, tokensBefore, tokensAfter, audit, ledger, restoration, pinsWarning } = draft;
  const money = computeMoney(conversation, { draft, calls });
  return {
    receipt,
    tokensBefore,
    tokensAfter,
    audit,
    userMessages: Object.fromEntries(
      [...Map.groupBy(ledger.messages, ({ shown }) => shown)].map(([shown, messages]) => [shown, messages.length]),
    ),
    restored: restoration.attachments.map(({ name }) => name),
    ...(pinsWarning === undefined ? {} : { pinsWarning }),
    ...(money === undefined ? {} : { money }),
  };
}

/** Undefined if the model's price is not known. */
function computeMoney(conversation: Conversation, { draft, calls }: PreviewInput): CompactionMoney | undefined {
  const { known, cache } = conversation;
  if (known === undefined) return undefined;
  const tariff = { prices: known.prices, factor: 1 };
  const nanos = (count: number, kind: keyof typeof known.prices): number => nanosFor(count, { kind, tariff });
  const { tokensBefore, tokensAfter } = draft;
  const { behindTokens } = contextChange(draft);
  const callsNanos = callsCost(conversation, calls);
  const [roundBefore, roundAfter] = [nanos(tokensBefore, "cacheRead"), nanos(tokensAfter, "cacheRead")];
  const write = cache?.lifetime === "1h" ? "cacheWrite1h" : "cacheWrite5m";
  const rewriteNanos = nanos(behindTokens, write) - nanos(behindTokens, "cacheRead");
  const saved = roundBefore - roundAfter;
  return {
    callsNanos,
    roundBeforeNanos: nanoUsd(roundBefore),
    roundAfterNanos: nanoUsd(roundAfter),
    ...(saved > 0 ? { breakEvenRounds: Math.max(0, Math.ceil((callsNanos + rewriteNanos - saved) / saved)) } : {}),
  };
}

/** What a boundary removes from the context, and what follows its first change: the receipt's estimates, scaled to the context. */
export function contextChange({ tokensBefore, tokensAfter, receipt, reload }: DraftSizes): {
  readonly removesTokens: number;
  readonly behindTokens: number;
} {
  const removesTokens = tokensBefore - tokensAfter;
  const shown = receipt.tokensBefore - receipt.tokensAfter;
  // Behind instructions that were read again and have changed, the system prompt is written again too.
  const rewrittenTokens = reload?.reloaded.rewrittenTokens ?? 0;
  const behindTokens = receipt.tokensBehind * (shown > 0 ? removesTokens / shown : 1) + rewrittenTokens;
  return { removesTokens, behindTokens: Math.round(behindTokens) };
}

type DraftSizes = Pick<BoundaryDraft, "tokensBefore" | "tokensAfter" | "receipt"> &
  Partial<Pick<BoundaryDraft, "reload">>;
