import { type PricedClear, scaleOf } from "../../cache/clear-price.ts";
import type { ResultContent } from "../../schema/block.ts";
import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { shownBefore, shownFrom } from "../../tokens/shown-before.ts";
import type { Item } from "../../transcript/item.ts";
import type { Candidate, CandidateFigures, LayerHost, LayerRun } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { thinkingLossShare } from "./limits.ts";
import { memoriesBetween } from "./memories-between.ts";
import { clearDraft } from "./run.ts";
import { thinkingBehind } from "./thinking-behind.ts";

/** Results that show their markers from now on. */
export interface ResultClear {
  /** `asked`: the user wants it. */
  readonly cause: "size" | "idle" | "price" | "asked";
  /** Oldest first. */
  readonly results: readonly ToolUseId[];
  readonly marker: "plain" | "named";
  readonly priced?: PricedClear;
}

export const clearCandidate = (figures: CandidateFigures, clear: ResultClear): Candidate => ({
  ...figures,
  results: clear.results,
  run: (host) => runClear(host, { figures, clear }),
});

interface Clearing {
  readonly figures: CandidateFigures;
  readonly clear: ResultClear;
}

/**
 * Each result is saved first, so that the model can read it where its marker says. Along go memories that stand between
 * them, and the thinking that was made behind them where the model takes none of that any more.
 */
async function* runClear(host: LayerHost, { figures, clear }: Clearing): LayerRun {
  const { state, fold } = host;
  const { items, pins } = fold.projection;
  const results = resultContents(items, new Set(clear.results));
  const cleared = new Set(results.map(({ toolUse }) => toolUse));
  const thinking = host.thinking === "bound" ? thinkingBehind(items, cleared) : undefined;
  const lostTokens = thinking?.tokens ?? 0;
  if (cleared.size === 0 || !paysForThinking(clear, { state, lostTokens })) return { kind: "nothing" };
  const cache = cacheBehind(clear, state);
  const attachments = memoriesBetween(items, { cleared, from: memoriesFrom(host, cache), pins });
  const { draft, unsaved } = await clearDraft(host, {
    session: host.session,
    results,
    marker: clear.marker,
    readingTool: host.readingTool,
    cause: clear.cause,
    because: figures.because,
    attachments,
    tokensBefore: state.moment.contextTokens,
    tokensSaved: figures.removesTokens,
    price: priceOf(clear, thinking?.tokens),
    dropsThinking: thinking?.drops,
  });
  if (unsaved.length > 0) yield unsavedWarning(unsaved);
  const cut = cutAt(host, { cleared, attachments });
  // Rules that know no prices do not ask how far before the cut the cache still reaches.
  const between = clear.priced === undefined ? cut - state.prefixes.upTo(cut, state.moment.at) : 0;
  return yield* host.edit({
    draft,
    what: "clear",
    count: cleared.size,
    nature: "reduced",
    cut,
    clearedTokens: figures.removesTokens,
    behindTokens: figures.behindTokens + between * scaleOf(state),
    cache,
    ...(clear.cause === "asked" ? { cause: "asked" } : {}),
  });
}

/** What the log holds of these results, in the order of the view. */
export function resultContents(
  items: readonly Item[],
  chosen: ReadonlySet<ToolUseId>,
): readonly { readonly toolUse: ToolUseId; readonly content: ResultContent }[] {
  return items.flatMap(({ blocks }) =>
    blocks.flatMap((block) =>
      block.type === "tool_result" && chosen.has(block.tool_use_id)
        ? [{ toolUse: block.tool_use_id, content: block.content ?? "" }]
        : [],
    ),
  );
}

interface ThinkingLost {
  readonly state: PipelineState;
  readonly lostTokens: number;
}

/** Thinking that no request can carry any more was paid for, and part of it is worth its price. */
function paysForThinking({ priced }: ResultClear, { state, lostTokens }: ThinkingLost): boolean {
  if (priced === undefined || priced.why === "forced" || lostTokens === 0) return true;
  const { rates } = state.moment;
  const rule = state.policy.clear.byPrice;
  const lossCost = rates.output * lostTokens * scaleOf(state) * thinkingLossShare;
  if (priced.why === "warm") return priced.rentCost > priced.neededRent + (rule?.patience ?? 1) * lossCost;
  const gain = rates.write * priced.removesTokens + priced.savedPerRound * (rule?.horizonRounds ?? 0);
  return gain > priced.riskCost + lossCost;
}

/** What lies behind everything that still lives is written again in any case, also where a shorter prefix is warm. */
const cacheBehind = ({ priced }: ResultClear, { prefixes, moment }: PipelineState): "warm" | "cold" =>
  priced?.why === "cold" || prefixes.isCold(moment.at) ? "cold" : "warm";

/** On a cold cache they go wherever that has nothing written again that lives, on a warm one behind the oldest result. */
function memoriesFrom({ fold, state }: LayerHost, cache: "warm" | "cold"): EntryId | "oldest-result" {
  if (cache === "warm") return "oldest-result";
  return (
    shownFrom({ shown: fold.shown(), count: state.count }, state.prefixes.upTo(Infinity, state.moment.at)) ??
    "oldest-result"
  );
}

interface Going {
  readonly cleared: ReadonlySet<ToolUseId>;
  /** In the order of the view. */
  readonly attachments: readonly EntryId[];
}

/** Where the first thing stands that goes; 0 where nobody knows. */
function cutAt({ fold, state: { inventory, count } }: LayerHost, { cleared, attachments }: Going): number {
  const residents = [...cleared].flatMap((toolUse) => inventory.find(toolUse) ?? []);
  if (residents.length < cleared.size) return 0;
  const [first] = attachments;
  const memory = first === undefined ? Infinity : shownBefore({ shown: fold.shown(), count }, first);
  return Math.min(memory, ...residents.map((one) => inventory.offsetOf(one)));
}

/** Without the results: the edit names them itself. */
function priceOf({ priced }: ResultClear, thinkingTokens: number | undefined): object | undefined {
  if (priced === undefined) return undefined;
  const { results: _, why, ...figures } = priced;
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value)] as const);
  return { why, ...Object.fromEntries(rounded), ...(thinkingTokens === undefined ? {} : { thinkingTokens }) };
}

const unsavedWarning = (unsaved: readonly ToolUseId[]): LoopEvent => ({
  kind: "warning",
  code: "clear-unsaved",
  message: `${unsaved.length === 1 ? "A cleared result" : `${unsaved.length} cleared results`} could not be saved to a file; the transcript still holds it all: palimpsest expand`,
});
