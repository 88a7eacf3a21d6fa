import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { snipKeepRounds, snipTextCharsMax, nothingFoundCharsMax } from "./limits.ts";
import {
  roundCalls,
  roundEntries,
  holdsThinking,
  loopStart,
  type Round,
  groupRounds,
  hasUserContent,
  roundResults,
} from "./round.ts";
import { type CountBlock, flattenItems, tokensFreed, type ViewState } from "./view-state.ts";
import type { ToolResultBlock, ToolUseBlock } from "../../schema/block.ts";
import { fileAction, callFilePath, classifyTool } from "../../tokens/tool-kind.ts";
import { findRefusal, resultText } from "./result-text.ts";
import type { ViewEdit, Layer } from "../layer.ts";
import { makesEnoughRoom } from "../worth.ts";
import { inventoryScale } from "../../cache/clear-price.ts";
import { plural } from "../../text/format-count.ts";
import { explainRemoval } from "../reason.ts";

/** Removes rounds of low value if the cache is cold anyway or room is needed. */
export const snipLowValue: Layer = {
  name: "snip",
  switches: ["snip"],
  propose(state) {
    const { decisions, prefixes, moment, thresholds, items, pins, withheld } = state;
    if (decisions === undefined || !state.isOn("snip")) return undefined;
    const isCold = prefixes.isCold(moment.at);
    if (!isCold && moment.contextTokens < thresholds.warning) return undefined;
    const view = { items, decisions, pins, withheld };
    const plan = planSnip({ view, count: (block) => tokens(state.count(block)) });
    if (plan.entries.length === 0) return undefined;
    const removesTokens = plan.tokens * inventoryScale(state);
    if (!makesEnoughRoom(removesTokens, { state, isCold })) return undefined;
    const rounds = plan.rounds.length;
    const reasons = [...new Set(plan.rounds.flatMap((round) => round.reasons))].join(", ");
    const of = `${rounds} ${plural(rounds, "round")} of low value (${reasons})`;
    const because = explainRemoval({ removesTokens, of }, moment);
    return {
      layer: "snip",
      removesTokens,
      behindTokens: isCold ? 0 : moment.contextTokens - moment.fixedTokens - removesTokens,
      because,
      edit: snipEdit(plan.entries, because),
    };
  },
};

interface SnipInput {
  readonly view: ViewState;
  readonly count: CountBlock;
  /** The number of newest rounds that always stay. */
  readonly keepRounds?: number;
}

interface SnippedRound {
  readonly entries: readonly EntryId[];
  /** The reasons of its calls, each once, in their order. */
  readonly reasons: readonly SnipReason[];
}

export interface SnipPlan {
  readonly rounds: readonly SnippedRound[];
  /** Entries of all the rounds; the edit lists them. */
  readonly entries: readonly EntryId[];
  /** What the view loses. */
  readonly tokens: Tokens;
}

/**
 * Finds whole rounds in which every call is of low value: a search that found nothing, a call that the user refused
 * silently, a read that a later one repeats. Pure; the same view gives the same plan, and the snipped view an empty
 * one.
 */
export function planSnip({ view, count, keepRounds = snipKeepRounds }: SnipInput): SnipPlan {
  const candidates = findSnipCandidates(view, keepRounds);
  if (candidates.length === 0) return { rounds: [], entries: [], tokens: tokens(0) };
  const before = flattenItems(view, view.items);
  const shownEntries = new Set(before.shown().map(({ entry }) => entry));
  const rounds: SnippedRound[] = [];
  for (const { round, reasons } of candidates) {
    if (!isBehindUser(round, { items: view.items, shownEntries })) continue;
    const entries = roundEntries(round);
    for (const entry of entries) shownEntries.delete(entry);
    rounds.push({ entries, reasons });
  }
  const entries = rounds.flatMap((round) => round.entries);
  const snipped = new Set(entries);
  const remaining = view.items.filter(({ entry }) => !snipped.has(entry));
  return { rounds, entries, tokens: tokensFreed(before, flattenItems(view, remaining), count) };
}

interface SnipCandidate {
  readonly round: Round;
  readonly reasons: readonly SnipReason[];
}

function findSnipCandidates(view: ViewState, keepRounds: number): readonly SnipCandidate[] {
  const rounds = groupRounds(view.items);
  const reasonByCall = lowValueCalls(view, rounds);
  const loopFrom = loopStart(view.items);
  return rounds.slice(0, Math.max(0, rounds.length - keepRounds)).flatMap((round) => {
    const reasons = roundReasons(round, reasonByCall);
    const isNeeded = round.last >= loopFrom && holdsThinking(round);
    const isPinned = round.items.some(({ entry }) => view.pins.has(entry));
    return reasons.length === 0 || isNeeded || isPinned || saysSomething(round) ? [] : [{ round, reasons }];
  });
}

/** Empty if one of the calls is worth keeping. */
function roundReasons(round: Round, reasonByCall: ReadonlyMap<ToolUseId, SnipReason>): readonly SnipReason[] {
  const reasons = roundCalls(round).map(({ id }) => reasonByCall.get(id));
  const found = reasons.filter((reason) => reason !== undefined);
  return found.length < reasons.length ? [] : [...new Set(found)];
}

interface RemainingView {
  readonly items: readonly Item[];
  /** Entries that the view would still show. */
  readonly shownEntries: ReadonlySet<EntryId>;
}

/** Otherwise two replies would merge without the round, or the view would begin with a reply. */
const isBehindUser = ({ first }: Round, { items, shownEntries }: RemainingView): boolean =>
  items.slice(0, first).findLast(({ entry }) => shownEntries.has(entry))?.role === "user";

const saysSomething = ({ items }: Round): boolean =>
  items.some((item) => hasUserContent(item)) || countTextChars(items) > snipTextCharsMax;

/** Other blocks than calls and thinking count as infinite: their value is unknown. */
function countTextChars(items: readonly Item[]): number {
  let chars = 0;
  for (const { blocks } of items)
    for (const block of blocks) {
      if (block.type === "tool_use" || block.type === "tool_result" || isThinking(block) || isEmptyText(block))
        continue;
      chars += block.type === "text" ? block.text.trim().length : Infinity;
    }
  return chars;
}

/**
 * Why a call and its result can be removed: the search found nothing, the user refused the call, a later read shows the
 * same.
 */
type SnipReason = "found-nothing" | "refused" | "read-again";

/** By call: why it is of low value. Absent calls are worth keeping, as are those without exactly one result. */
function lowValueCalls(view: ViewState, rounds: readonly Round[]): ReadonlyMap<ToolUseId, SnipReason> {
  const reasons = new Map<ToolUseId, SnipReason>();
  const shownLater = new Set<string>();
  for (const round of rounds.toReversed()) {
    for (const { call, result } of pairAnsweredCalls(round).toReversed()) {
      const readShown = view.withheld.has(call.id) || isDecided(view, call.id) ? undefined : readKey(call, result);
      const reason =
        snipReason(call, result) ?? (readShown !== undefined && shownLater.has(readShown) ? "read-again" : undefined);
      if (reason !== undefined) reasons.set(call.id, reason);
      if (readShown !== undefined) shownLater.add(readShown);
    }
  }
  return reasons;
}

interface AnsweredCall {
  readonly call: ToolUseBlock;
  readonly result: ToolResultBlock;
}

function pairAnsweredCalls(round: Round): readonly AnsweredCall[] {
  const resultsByCall = Map.groupBy(roundResults(round), (result) => result.tool_use_id);
  return roundCalls(round).flatMap((call) => {
    const [result, ...more] = resultsByCall.get(call.id) ?? [];
    return result === undefined || more.length > 0 ? [] : [{ call, result }];
  });
}

/** An offload or a clear shows something other than what was read. */
const isDecided = ({ decisions }: ViewState, toolUse: ToolUseId): boolean =>
  decisions.get(toolUse)?.some(({ kind }) => kind !== "repair") === true;

function snipReason(call: ToolUseBlock, result: ToolResultBlock): SnipReason | undefined {
  if (findRefusal(result) === "silent") return "refused";
  return classifyTool(call.name) === "search" && isEmptySearch(result) ? "found-nothing" : undefined;
}

const foundNouns = String.raw`(?:match(?:es|ing \w+)?|files?|results?|hits?|lines?|occurrences?|documents?)`;
const nothingFound: readonly RegExp[] = [
  new RegExp(
    String.raw`^(?:no|0|zero) (?:matching |search |web )?${foundNouns}(?: (?:were|was))?(?: found)?(?: (?:for|in|matching|with|under|of)\b.*)?[.!:]?$`,
    "i",
  ),
  new RegExp(String.raw`^found (?:no|0|zero) (?:matching )?${foundNouns}\b.*$`, "i"),
  /^nothing (?:was )?found[.!]?$/i,
  /^\(\S+ completed with no output\)$/,
];

function isEmptySearch(result: ToolResultBlock): boolean {
  const text = resultText(result);
  if (text === "") return result.is_error !== true;
  return text.length <= nothingFoundCharsMax && nothingFound.some((form) => form.test(text));
}

/** What a read shows: the file, the range and the content. The same text means the same read. */
function readKey(call: ToolUseBlock, { content, is_error }: ToolResultBlock): string | undefined {
  const path = callFilePath(call);
  if (fileAction(call.name) !== "read" || path === undefined || is_error === true || content === undefined)
    return undefined;
  const sortedInput = Object.entries(call.input).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([path, sortedInput, content]);
}

/** Removes entries from the view without a replacement. */
export const snipEdit = (entries: readonly EntryId[], because: string): ViewEdit => ({
  draft: { type: "snip", entries, because },
  what: "snip",
  count: entries.length,
  nature: "reduced",
});
