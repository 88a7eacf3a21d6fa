import { type ClearPrice, inventoryScale, warmPatience } from "../../cache/clear-price.ts";
import type { ResultContent } from "../../schema/block.ts";
import { type EntryId, type ToolUseId, type BlobId, type Bytes, bytes, type SessionId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { countTokensBefore, findEntryAfterTokens } from "../../transcript/make-receipt.ts";
import type { Item } from "../../transcript/item.ts";
import type { Candidate, CandidateFigures, LayerHost, LayerRun } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { mapInBatches } from "../../schema/map-in-batches.ts";
import { savedTogetherMax, thinkingLossShare } from "./limits.ts";
import type { Blobs, BlobsDep } from "../../ports/blobs.ts";
import { plainClearMarker } from "../../schema/edit.ts";
import type { Draft } from "../../transcript/draft.ts";
import { formatBytes } from "../../text/format-count.ts";
import { loopStart } from "./round.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";

/** Results to replace by their markers. */
interface ResultClear {
  /** `asked`: by the user. */
  readonly cause: "size" | "idle" | "price" | "asked";
  /** Oldest first. */
  readonly results: readonly ToolUseId[];
  readonly marker: "plain" | "named";
  readonly priced?: ClearPrice;
}

export const clearCandidate = (figures: CandidateFigures, clear: ResultClear): Candidate => ({
  ...figures,
  results: clear.results,
  run: (host) => runClear(host, { figures, clear }),
});

/**
 * Saves each result first, so that the model can read it where its marker says. Memories between the results go too,
 * and so does the thinking behind them if the model no longer accepts it.
 */
async function* runClear(
  host: LayerHost,
  { figures, clear }: { readonly figures: CandidateFigures; readonly clear: ResultClear },
): LayerRun {
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
    price: roundPrice(clear, thinking?.tokens),
    dropsThinking: thinking?.drops,
  });
  if (unsaved.length > 0) yield warnUnsaved(unsaved);
  const cut = cutAt(host, { cleared, attachments });
  // Rules without prices do not know how far the cache still reaches before the cut.
  const between = clear.priced === undefined ? cut - state.prefixes.upTo(cut, state.moment.at) : 0;
  return yield* host.edit({
    draft,
    what: "clear",
    count: cleared.size,
    nature: "reduced",
    cut,
    clearedTokens: figures.removesTokens,
    behindTokens: figures.behindTokens + between * inventoryScale(state),
    cache,
    ...(clear.cause === "asked" ? { cause: "asked" } : {}),
  });
}

/** The content of these results in the log, in the order of the view. */
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

/** Thinking that can no longer be sent was paid for, and part of that price counts as lost. */
function paysForThinking(
  { priced }: ResultClear,
  { state, lostTokens }: { readonly state: PipelineState; readonly lostTokens: number },
): boolean {
  if (priced === undefined || priced.why === "forced" || lostTokens === 0) return true;
  const { rates } = state.moment;
  const rule = state.policy.clear.byPrice;
  const lossCost = rates.output * lostTokens * inventoryScale(state) * thinkingLossShare;
  if (priced.why === "warm")
    return priced.rentCost > priced.neededRent + (rule === undefined ? 1 : warmPatience(rule)) * lossCost;
  const gain = rates.write * priced.removesTokens + priced.savedPerRound * (rule?.horizonRounds ?? 0);
  return gain > priced.riskCost + lossCost;
}

/** What lies behind every live prefix is written again in any case, even if a shorter prefix is warm. */
const cacheBehind = ({ priced }: ResultClear, { prefixes, moment }: PipelineState): "warm" | "cold" =>
  priced?.why === "cold" || prefixes.isCold(moment.at) ? "cold" : "warm";

/**
 * On a cold cache, memories are cleared wherever that does not rewrite a live prefix; on a warm one, behind the oldest
 * result.
 */
function memoriesFrom({ fold, state }: LayerHost, cache: "warm" | "cold"): EntryId | "oldest-result" {
  if (cache === "warm") return "oldest-result";
  return (
    findEntryAfterTokens({ shown: fold.shown(), count: state.count }, state.prefixes.upTo(Infinity, state.moment.at)) ??
    "oldest-result"
  );
}

interface RemovedItems {
  readonly cleared: ReadonlySet<ToolUseId>;
  /** In the order of the view. */
  readonly attachments: readonly EntryId[];
}

/** Tokens before the first thing that is removed; 0 if unknown. */
function cutAt({ fold, state: { inventory, count } }: LayerHost, { cleared, attachments }: RemovedItems): number {
  const residents = [...cleared].flatMap((toolUse) => inventory.find(toolUse) ?? []);
  if (residents.length < cleared.size) return 0;
  const [first] = attachments;
  const memory = first === undefined ? Infinity : countTokensBefore({ shown: fold.shown(), count }, first);
  return Math.min(memory, ...residents.map((resident) => inventory.offsetOf(resident)));
}

/** Leaves out the results, which the edit lists itself. */
function roundPrice({ priced }: ResultClear, thinkingTokens: number | undefined): object | undefined {
  if (priced === undefined) return undefined;
  const { results: _, why, ...figures } = priced;
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value)] as const);
  return { why, ...Object.fromEntries(rounded), ...(thinkingTokens === undefined ? {} : { thinkingTokens }) };
}

const warnUnsaved = (unsaved: readonly ToolUseId[]): LoopEvent => ({
  kind: "warning",
  code: "clear-unsaved",
  message: `${unsaved.length === 1 ? "A cleared result" : `${unsaved.length} cleared results`} could not be saved to a file; the transcript still holds it all: palimpsest expand`,
});

interface ClearedResult {
  readonly toolUse: ToolUseId;
  readonly content: ResultContent;
}

export interface ClearDraftInput {
  readonly session: SessionId;
  readonly results: readonly ClearedResult[];
  readonly marker: "plain" | "named";
  readonly readingTool: string | undefined;
  readonly cause: "size" | "idle" | "price" | "asked";
  readonly because: string;
  /** Memories that are cleared with the results. */
  readonly attachments: readonly EntryId[];
  readonly tokensBefore: number;
  readonly tokensSaved: number;
  /** The planner's arithmetic, if it has one. */
  readonly price?: object | undefined;
  /** Items whose thinking came behind what is cleared, if the model no longer accepts it. */
  readonly dropsThinking?: { readonly from: EntryId; readonly to: EntryId } | undefined;
}

interface ClearDraft {
  readonly draft: Draft;
  /** Results that could not be saved. They show the plain marker, and only the transcript still holds them. */
  readonly unsaved: readonly ToolUseId[];
}

/** An item of the edit. */
interface ReplacedResult {
  readonly toolUse: ToolUseId;
  readonly blob?: BlobId;
  readonly media?: "text" | "json";
  readonly bytes: Bytes;
  readonly shown: string;
}

/**
 * The edit that clears results. Each is saved first, so that the model can read it where its marker says. Must not
 * reject if the disk refuses: what can't be saved shows the plain marker.
 */
export async function clearDraft(deps: BlobsDep, input: ClearDraftInput): Promise<ClearDraft> {
  const { results, attachments, cause, because, price, dropsThinking } = input;
  const replaced = await mapInBatches(results, {
    size: savedTogetherMax,
    map: (result) => replaceResult(deps, { result, input }),
  });
  const unsaved = input.marker === "plain" ? [] : replaced.filter(({ blob }) => blob === undefined);
  return {
    unsaved: unsaved.map(({ toolUse }) => toolUse),
    draft: {
      type: "clear",
      results: replaced,
      attachments,
      cause,
      tokensBefore: Math.round(input.tokensBefore),
      tokensSaved: Math.round(input.tokensSaved),
      because,
      ...(price === undefined ? {} : { price }),
      ...(dropsThinking === undefined ? {} : { dropsThinking }),
    },
  };
}

async function replaceResult(
  { blobs }: BlobsDep,
  { result, input }: { readonly result: ClearedResult; readonly input: ClearDraftInput },
): Promise<ReplacedResult> {
  const { toolUse, content } = result;
  const { session, readingTool } = input;
  const { data, media } = encodeResult(content);
  const size = bytes(data.byteLength);
  const plain = { toolUse, bytes: size, shown: plainClearMarker };
  if (input.marker === "plain") return plain;
  const saved = await saveResult(blobs, { data, media, session, toolUse });
  if (saved === undefined) return plain;
  const shown = renderMarker({ toolUse, bytes: size, path: saved.path, readingTool });
  return { toolUse, blob: saved.blob, media, bytes: size, shown };
}

async function saveResult(
  blobs: Blobs,
  { data, media, session, toolUse }: EncodedResult & { readonly session: SessionId; readonly toolUse: ToolUseId },
): Promise<{ readonly blob: BlobId; readonly path: string | undefined } | undefined> {
  const put = await blobs.put(data);
  if (put.kind === "failed") return undefined;
  return { blob: put.id, path: await blobs.link?.({ blob: put.id, session, toolUse, media }) };
}

interface EncodedResult {
  readonly data: Uint8Array;
  readonly media: "text" | "json";
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Half a surrogate pair can't be encoded in UTF-8, but JSON can escape it. */
function encodeResult(content: ResultContent): EncodedResult {
  if (typeof content !== "string") return { media: "json", data: encode(JSON.stringify(content, null, 2)) };
  if (content.isWellFormed()) return { media: "text", data: encode(content) };
  return { media: "json", data: encode(JSON.stringify([{ type: "text", text: content }], null, 2)) };
}

interface MarkerInput {
  readonly toolUse: ToolUseId;
  /** Size of what is cleared, as it is stored. */
  readonly bytes: Bytes;
  /** Where it is stored. Undefined in a store without paths. */
  readonly path: string | undefined;
  /** Name of the tool with which the model reads files. */
  readonly readingTool: string | undefined;
}

/** The text that replaces a cleared result. The same input gives the same bytes. */
export function renderMarker({ toolUse, bytes: size, path, readingTool }: MarkerInput): string {
  const cleared = `Old tool result cleared, ${formatBytes(size)}`;
  if (path === undefined) return `[${cleared}. All of it is kept: recall ${toolUse}]`;
  const reading = readingTool === undefined ? "" : ` use ${readingTool} on that file, or`;
  return `[${cleared}. All of it is in ${path};${reading} recall ${toolUse}]`;
}

interface MemoryClear {
  readonly cleared: ReadonlySet<ToolUseId>;
  /** Memories before it stay. */
  readonly from: EntryId | "oldest-result";
  /** Pinned entries stay. */
  readonly pins: ReadonlySet<EntryId>;
}

/** Attachments that show a memory, by the names that known agents give them. */
const isMemory = (attachment: string | undefined): boolean =>
  attachment !== undefined && /memor(?:y|ies)/i.test(attachment);

/**
 * Memories that are cleared with the results: those before the newest result, but none so far back that more would be
 * written again than for the results alone.
 */
export function memoriesBetween(items: readonly Item[], { cleared, from, pins }: MemoryClear): readonly EntryId[] {
  const holdsCleared = ({ blocks }: Item): boolean =>
    blocks.some((block) => block.type === "tool_result" && cleared.has(block.tool_use_id));
  const first =
    from === "oldest-result" ? items.findIndex(holdsCleared) : items.findIndex(({ entry }) => entry === from);
  const last = items.findLastIndex(holdsCleared);
  if (first === -1 || last === -1) return [];
  return items
    .slice(first, last)
    .flatMap(({ entry, attachment }) => (isMemory(attachment) && !pins.has(entry) ? [entry] : []));
}

interface ThinkingBehind {
  /** Tokens of all of it: none is valid any more if a model binds thinking to its prefix. */
  readonly tokens: number;
  /**
   * Items that are shown without it from now on. The current tool loop is not among them: its calls have to be sent
   * with their thinking, and the server leaves out what does not fit.
   */
  readonly drops: { readonly from: EntryId; readonly to: EntryId } | undefined;
}

/** The thinking that came behind the first of these results. */
export function thinkingBehind(items: readonly Item[], cleared: ReadonlySet<ToolUseId>): ThinkingBehind {
  const first = items.findIndex(({ blocks }) =>
    blocks.some((block) => block.type === "tool_result" && cleared.has(block.tool_use_id)),
  );
  if (first === -1) return { tokens: 0, drops: undefined };
  const thinkingItems = items.flatMap((item, at) =>
    at > first && item.thinking === "kept" && hasThinking(item) ? [{ item, at }] : [],
  );
  const tokens = thinkingItems.reduce((sum, { item }) => sum + countThinkingTokens(item), 0);
  const loopFrom = loopStart(items);
  const closed = thinkingItems.filter(({ at }) => at < loopFrom);
  const [from, to] = [closed[0]?.item.entry, closed.at(-1)?.item.entry];
  return { tokens, drops: from === undefined || to === undefined ? undefined : { from, to } };
}

const hasThinking = ({ blocks }: Item): boolean => blocks.some((block) => isThinking(block));

const countThinkingTokens = ({ blocks }: Item): number =>
  blocks.reduce((sum, block) => sum + (isThinking(block) ? estimateBlock(block) : 0), 0);
