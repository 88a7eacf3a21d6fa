import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../schema/brand.ts";
import type { Collapse } from "../../schema/edit.ts";
import { pressureAttachment } from "../../schema/pressure.ts";
import { reminderAttachment } from "../../schema/reminder.ts";
import { asReminder } from "../../transcript/attachment.ts";
import type { Item } from "../../transcript/item.ts";
import { collapseKeepRounds, collapseRunRoundsMax, standInShareMax } from "./limits.ts";
import { refusalOf } from "./refusal.ts";
import { callsOf, resultsOf, type Round, roundsOf, saysMore } from "./rounds.ts";
import { standInOf } from "./stand-in.ts";
import { type CountBlock, flattenedOf, tokensFreed, type ViewState } from "./view-state.ts";

export interface CollapseInput {
  readonly view: ViewState;
  readonly count: CountBlock;
  /** Runs are proposed, oldest first, until this much is freed. */
  readonly freeTokens: Tokens;
  /** The newest rounds, which stay whatever they hold. */
  readonly keepRounds?: number;
}

export interface CollapsedRun {
  /** What its edit holds. */
  readonly span: Pick<Collapse["span"], "from" | "to">;
  readonly shown: string;
  readonly entries: readonly EntryId[];
  readonly rounds: number;
}

export interface CollapsePlan {
  /** Oldest first; one edit each, in any order. */
  readonly runs: readonly CollapsedRun[];
  /** By which the view gets smaller once all are collapsed. */
  readonly tokens: Tokens;
}

/**
 * Runs of old rounds, each to be shown as one stand-in. A run never reaches across a message of a person, a pinned
 * entry, a stand-in or a summary. Pure; the view behind a plan holds no run that was in it.
 */
export function planCollapse(input: CollapseInput): CollapsePlan {
  const { view, count, freeTokens, keepRounds = collapseKeepRounds } = input;
  const before = flattenedOf(view, view.items);
  const shownByEntry = Map.groupBy(before.shown(), ({ entry }) => entry);
  const runs: CollapsedRun[] = [];
  let freed = 0;
  for (const slices of runsOf(view, { keepRounds, open: before.open })) {
    if (freed >= freeTokens) break;
    const run = collapsedRun(slices);
    const shown = run.entries.flatMap((entry) => shownByEntry.get(entry) ?? []);
    const size = shown.reduce((sum, { block }) => sum + count(block), 0);
    const standIn = count({ type: "text", text: asReminder(run.shown) });
    if (standIn > size * standInShareMax) continue;
    runs.push(run);
    freed += size - standIn;
  }
  if (runs.length === 0) return { runs, tokens: tokens(0) };
  return { runs, tokens: tokensFreed(before, flattenedOf(view, collapsed(view.items, runs)), count) };
}

/** The fewest neighbouring items that hold each of their rounds whole. */
interface Slice {
  readonly items: readonly Item[];
  readonly rounds: readonly Round[];
}

interface Kept {
  readonly keepRounds: number;
  readonly open: ReadonlySet<ToolUseId>;
}

/** Slices that go together behind one stand-in; each run begins and ends with a round. */
function runsOf(view: ViewState, { keepRounds, open }: Kept): readonly (readonly Slice[])[] {
  const rounds = roundsOf(view.items);
  const newest = new Set(keepRounds === 0 ? [] : rounds.slice(-keepRounds));
  const runs: Slice[][] = [];
  let run: Slice[] = [];
  const close = (): void => {
    const last = run.findLastIndex((slice) => slice.rounds.length > 0);
    if (last !== -1) runs.push(run.slice(0, last + 1));
    run = [];
  };
  for (const slice of slicesOf(view.items, rounds)) {
    const isKept = slice.rounds.some((round) => newest.has(round) || isOpen(round, open) || isPersonal(round));
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

function slicesOf(items: readonly Item[], rounds: readonly Round[]): readonly Slice[] {
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

/** Its result may still come, and would find no call. */
const isOpen = (round: Round, open: ReadonlySet<ToolUseId>): boolean => callsOf(round).some(({ id }) => open.has(id));

/** Tools by which people are asked, by the names that agents in the field give them. */
const askingTool =
  /^(?:ask_?user(?:_?questions?)?|ask_?followup_?question|question|request_?user_?input|exit_?plan_?mode)$/i;

/** A result holds what a person said: an answer, or what to do instead of a refused call. */
const isPersonal = (round: Round): boolean =>
  callsOf(round).some(({ name }) => askingTool.test(name)) ||
  resultsOf(round).some((result) => refusalOf(result) === "with-words");

/** Reminders of how things stood then: newer ones, or the files themselves, say how they stand now. */
const passingReminders: ReadonlySet<string> = new Set([
  "task_reminder",
  "todo_reminder",
  "todo",
  "edited_text_file",
  pressureAttachment,
  reminderAttachment,
]);

function isBarrier(item: Item): boolean {
  if (item.attachment !== undefined) return !passingReminders.has(item.attachment);
  // A compaction of the server stands for everything before it: without it, all of that would be read again.
  if (item.role === "assistant") return item.blocks.some((block) => block.type === "compaction");
  return saysMore(item) || !item.blocks.some((block) => block.type === "tool_result");
}

function collapsedRun(slices: readonly Slice[]): CollapsedRun {
  const items = slices.flatMap((slice) => slice.items);
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined) throw new Error("a run without an item");
  const span = { from: first.entry, to: last.entry };
  const rounds = roundsIn(slices);
  return { span, shown: standInOf({ items, rounds, ...span }), entries: items.map(({ entry }) => entry), rounds };
}

/** The items as the edits would leave them, as far as their size goes. */
function collapsed(items: readonly Item[], runs: readonly CollapsedRun[]): readonly Item[] {
  const runByFirst = new Map(runs.map((run) => [run.span.from, run]));
  const gone = new Set(runs.flatMap((run) => run.entries));
  return items.flatMap((item): Item[] => {
    const run = runByFirst.get(item.entry);
    if (run === undefined) return gone.has(item.entry) ? [] : [item];
    const { entry, at } = item;
    const blocks = [{ type: "text", text: asReminder(run.shown) }] as const;
    return [{ entry, at, role: "user", messageId: undefined, blocks, thinking: "left-out" }];
  });
}
