import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../schema/brand.ts";
import type { Collapse } from "../../schema/edit.ts";
import { pressureAttachmentType, wrapReminder, reminderAttachmentType } from "../../transcript/attachment-text.ts";
import type { Item } from "../../transcript/item.ts";
import {
  collapseKeepRounds,
  collapseRunRoundsMax,
  standInShareMax,
  standInArgumentChars,
  standInLinesMax,
  standInTextChars,
} from "./limits.ts";
import { findRefusal } from "./result-text.ts";
import { roundCalls, roundResults, type Round, groupRounds, hasUserContent } from "./round.ts";
import { type CountBlock, flattenItems, tokensFreed, type ViewState } from "./view-state.ts";
import type { ToolUseBlock } from "../../schema/block.ts";
import { field, isArray, type JsonObject } from "../../schema/json.ts";
import { plural } from "../../text/format-count.ts";
import { callFilePath } from "../../tokens/tool-kind.ts";
import { clipText } from "../clip-text.ts";
import { inventoryScale } from "../../cache/clear-price.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Layer } from "../layer.ts";
import { explainRemoval, formatTokens } from "../reason.ts";
import { makesEnoughRoom } from "../worth.ts";

/**
 * From the warning on, collapses old rounds. A published policy collapses the oldest run before each request, and each
 * writes everything behind it again. If the price decides, all of them collapse at once: the cut is paid for once.
 */
export const collapseOldest: Layer = {
  name: "collapse",
  switches: ["collapse"],
  propose(state) {
    const { decisions, prefixes, moment, thresholds, items, pins, withheld } = state;
    if (decisions === undefined || !state.isOn("collapse") || moment.contextTokens < thresholds.warning)
      return undefined;
    const view = { items, decisions, pins, withheld };
    const freeTokens = tokens(state.policy.chooses === "price" ? Infinity : 1);
    const { runs, tokens: freed } = planCollapse({ view, count: (block) => tokens(state.count(block)), freeTokens });
    const removesTokens = freed * inventoryScale(state);
    const isCold = prefixes.isCold(moment.at);
    if (!makesEnoughRoom(removesTokens, { state, isCold })) return undefined;
    const rounds = runs.reduce((sum, run) => sum + run.rounds, 0);
    const of = `the oldest ${rounds === 1 ? "round" : `${rounds} rounds`}`;
    const because = `the context is over ${formatTokens(thresholds.warning)}: ${explainRemoval({ removesTokens, of }, moment)}`;
    const [draft, ...others] = runs.map(({ span, shown }): Draft => ({ type: "collapse", span, shown, because }));
    if (draft === undefined) return undefined;
    return {
      layer: "collapse",
      removesTokens,
      behindTokens: isCold ? 0 : moment.contextTokens - moment.fixedTokens - removesTokens,
      because,
      edit: { draft, others, what: "collapse", count: runs.length, nature: "summarised" },
    };
  },
};

interface CollapseInput {
  readonly view: ViewState;
  readonly count: CountBlock;
  /** Runs are proposed, oldest first, until so much is freed. */
  readonly freeTokens: Tokens;
  /** The number of newest rounds that always stay. */
  readonly keepRounds?: number;
}

interface CollapsedRun {
  /** The span of the edit. */
  readonly span: Pick<Collapse["span"], "from" | "to">;
  readonly shown: string;
  readonly entries: readonly EntryId[];
  readonly rounds: number;
}

export interface CollapsePlan {
  /** Oldest first. Each is one edit; the edits may be applied in any order. */
  readonly runs: readonly CollapsedRun[];
  /** What the view loses once all runs are collapsed. */
  readonly tokens: Tokens;
}

/**
 * Finds runs of old rounds, each to be shown as one stand-in. A run never reaches across a message of the user, a
 * pinned entry, a stand-in or a summary. Pure; planning again on the collapsed view does not yield the same runs.
 */
export function planCollapse(input: CollapseInput): CollapsePlan {
  const { view, count, freeTokens, keepRounds = collapseKeepRounds } = input;
  const before = flattenItems(view, view.items);
  const shownByEntry = Map.groupBy(before.shown(), ({ entry }) => entry);
  const runs: CollapsedRun[] = [];
  let freed = 0;
  for (const slices of findRuns(view, { keepRounds, open: before.open })) {
    if (freed >= freeTokens) break;
    const run = collapseRun(slices);
    const shown = run.entries.flatMap((entry) => shownByEntry.get(entry) ?? []);
    const size = shown.reduce((sum, { block }) => sum + count(block), 0);
    const standIn = count({ type: "text", text: wrapReminder(run.shown) });
    if (standIn > size * standInShareMax) continue;
    runs.push(run);
    freed += size - standIn;
  }
  if (runs.length === 0) return { runs, tokens: tokens(0) };
  return { runs, tokens: tokensFreed(before, flattenItems(view, applyCollapse(view.items, runs)), count) };
}

/** The smallest range of adjacent items that contains each of its rounds whole. */
interface Slice {
  readonly items: readonly Item[];
  readonly rounds: readonly Round[];
}

/** Slices that share one stand-in. Each run begins and ends with a round. */
function findRuns(
  view: ViewState,
  { keepRounds, open }: { readonly keepRounds: number; readonly open: ReadonlySet<ToolUseId> },
): readonly (readonly Slice[])[] {
  const rounds = groupRounds(view.items);
  const newest = new Set(keepRounds === 0 ? [] : rounds.slice(-keepRounds));
  const runs: Slice[][] = [];
  let run: Slice[] = [];
  const close = (): void => {
    const last = run.findLastIndex((slice) => slice.rounds.length > 0);
    if (last !== -1) runs.push(run.slice(0, last + 1));
    run = [];
  };
  for (const slice of sliceByRound(view.items, rounds)) {
    const isKept = slice.rounds.some((round) => newest.has(round) || isOpen(round, open) || holdsUserWords(round));
    if (isKept || slice.items.some((item) => view.pins.has(item.entry) || isBarrier(item))) {
      close();
      continue;
    }
    if (roundsIn(run) + slice.rounds.length > collapseRunRoundsMax) close();
    if (run.length > 0 || slice.rounds.length > 0) run.push(slice);
  }
  close();
  return runs;
}

function sliceByRound(items: readonly Item[], rounds: readonly Round[]): readonly Slice[] {
  const roundByFirst = new Map(rounds.map((round) => [round.first, round]));
  const slices: Slice[] = [];
  for (let from = 0, to = 0; from < items.length; from = to) {
    const inside: Round[] = [];
    to = from + 1;
    for (let at = from; at < to; at += 1) {
      const round = roundByFirst.get(at);
      if (round === undefined) continue;
      inside.push(round);
      to = Math.max(to, round.last + 1);
    }
    slices.push({ items: items.slice(from, to), rounds: inside });
  }
  return slices;
}

const roundsIn = (slices: readonly Slice[]): number => slices.reduce((sum, { rounds }) => sum + rounds.length, 0);

/** The result of an open call may still come, and would find no call. */
const isOpen = (round: Round, open: ReadonlySet<ToolUseId>): boolean =>
  roundCalls(round).some(({ id }) => open.has(id));

/** Tools that ask the user, by the names that known agents give them. */
const askingTool =
  /^(?:ask_?user(?:_?questions?)?|ask_?followup_?question|question|request_?user_?input|exit_?plan_?mode)$/i;

/** Whether a result holds what the user said: an answer, or what to do instead of a refused call. */
const holdsUserWords = (round: Round): boolean =>
  roundCalls(round).some(({ name }) => askingTool.test(name)) ||
  roundResults(round).some((result) => findRefusal(result) === "with-words");

/** Reminders of a past state. Newer ones, or the files themselves, show the current state. */
const passingReminders: ReadonlySet<string> = new Set([
  "task_reminder",
  "todo_reminder",
  "todo",
  "edited_text_file",
  pressureAttachmentType,
  reminderAttachmentType,
]);

function isBarrier(item: Item): boolean {
  if (item.attachment !== undefined) return !passingReminders.has(item.attachment);
  // A compaction of the server replaces everything before it: without it, all of that would be read again.
  if (item.role === "assistant") return item.blocks.some((block) => block.type === "compaction");
  return hasUserContent(item) || !item.blocks.some((block) => block.type === "tool_result");
}

function collapseRun(slices: readonly Slice[]): CollapsedRun {
  const items = slices.flatMap((slice) => slice.items);
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined) throw new Error("a run without an item");
  const span = { from: first.entry, to: last.entry };
  const rounds = roundsIn(slices);
  return { span, shown: renderStandIn({ items, rounds, ...span }), entries: items.map(({ entry }) => entry), rounds };
}

/** The items after the edits, as far as their size matters. */
function applyCollapse(items: readonly Item[], runs: readonly CollapsedRun[]): readonly Item[] {
  const runByFirst = new Map(runs.map((run) => [run.span.from, run]));
  const gone = new Set(runs.flatMap((run) => run.entries));
  return items.flatMap((item): Item[] => {
    const run = runByFirst.get(item.entry);
    if (run === undefined) return gone.has(item.entry) ? [] : [item];
    const { entry, at } = item;
    const blocks = [{ type: "text", text: wrapReminder(run.shown) }] as const;
    return [{ entry, at, role: "user", messageId: undefined, blocks, thinking: "left-out" }];
  });
}

interface StandInInput {
  /** What the stand-in replaces, in the order of the view. */
  readonly items: readonly Item[];
  readonly rounds: number;
  readonly from: EntryId;
  readonly to: EntryId;
}

/**
 * The text that replaces collapsed rounds: how many, which tools, what each call was about and the id for recalling its
 * result, and the last text of the model. The same items give the same bytes.
 */
function renderStandIn({ items, rounds, from, to }: StandInInput): string {
  const calls = items.flatMap(({ blocks }) => blocks.filter((block) => block.type === "tool_use"));
  const tools = calls.length === 0 ? "without a call" : formatTools(calls);
  const unlisted = calls.length - standInLinesMax;
  const words = lastWords(items);
  const lines = [
    `${rounds} earlier ${plural(rounds, "round")} of yours, collapsed: ${tools}.`,
    ...calls.slice(0, standInLinesMax).map((call) => formatCall(call)),
    ...(unlisted > 0 ? [`- … ${unlisted} more ${plural(unlisted, "call")}`] : []),
    ...(words === undefined ? [] : [`You ended with: ${words}`]),
    `All of it is kept: recall a call's id for its result, ${from} for the first entry, ${to} for the last.`,
  ];
  return escapeReminderTag(lines.join("\n").toWellFormed());
}

/** The most used first; with the same count, in the order of their first call. */
function formatTools(calls: readonly ToolUseBlock[]): string {
  const callsByName = [...Map.groupBy(calls, (call) => argumentLine(call.name))].toSorted(
    ([, left], [, right]) => right.length - left.length,
  );
  const listed = callsByName.slice(0, standInLinesMax).map(([name, group]) => `${name} ×${group.length}`);
  const left = callsByName.length - listed.length;
  return [...listed, ...(left > 0 ? [`${left} more ${plural(left, "tool")}`] : [])].join(", ");
}

function formatCall(call: ToolUseBlock): string {
  const argument = argumentLine(mainArgument(call));
  return `- ${argumentLine(call.name)} ${call.id}${argument === "" ? "" : `: ${argument}`}`;
}

/** Keys of the argument that says what a call is about, the most informative first. */
const mainKeys = ["command", "cmd", "pattern", "query", "url", "description", "prompt"] as const;

/** A path or a command, else the first text. */
function mainArgument(call: ToolUseBlock): string {
  const command = mainKeys.map((key) => textAt(call.input, key)).find((value) => value !== undefined);
  return callFilePath(call) ?? command ?? Object.values(call.input).find((value) => typeof value === "string") ?? "";
}

/** A command may also be a list of words. */
function textAt(input: JsonObject, key: string): string | undefined {
  const value = field(input, key);
  if (typeof value === "string") return value;
  return isArray(value) && value.every((part) => typeof part === "string") ? value.join(" ") : undefined;
}

function lastWords(items: readonly Item[]): string | undefined {
  const lastText = items
    .filter(({ role }) => role === "assistant")
    .flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "text" ? [block.text.trim()] : [])))
    .findLast((text) => text !== "");
  return lastText === undefined ? undefined : shortenLine(lastText, standInTextChars);
}

const argumentLine = (text: string): string => shortenLine(text, standInArgumentChars);

function shortenLine(text: string, charsMax: number): string {
  const line = clipText(text, 2 * charsMax)
    .replaceAll(/\s+/g, " ")
    .trim();
  const cut = clipText(line, charsMax);
  return cut.length < line.length || 2 * charsMax < text.length ? `${cut.trimEnd()}…` : cut;
}

/** The content must not close the tag around it. */
const escapeReminderTag = (shown: string): string =>
  shown.replaceAll("</system-reminder", String.raw`<\/system-reminder`);
