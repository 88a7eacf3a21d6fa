import { millions, nothing, percent, range, ratios } from "@palimpsest/lab/internal/report/figures";
import { hasBounds, type PolicySummary, type PriceSummary } from "@palimpsest/lab/internal/summary";
import { counted, filled, humanCount } from "./human.ts";
import { intervalSessionsMin } from "./replay/limits.ts";
import { type Column, table } from "./table.ts";

/** What a policy's row says, by the heading of the column. */
interface Section {
  readonly heading: string;
  readonly columns: readonly string[];
  readonly cells: (policy: PolicySummary) => readonly string[];
  /** Below the table. */
  readonly note?: string | undefined;
}

const width = 80;
/** Some terminals say that they have no columns at all. */
const widthMin = 40;

export interface ReplayLook {
  /** Of the terminal: where tables do not fit each policy has lines of its own. */
  readonly columns: number | undefined;
  /** Sessions with fewer are not in the figures. */
  readonly roundsMin: number;
  /** Of all sessions, those that are not in the figures included. */
  readonly longestRounds: number;
}

/** The figures at one price table. */
export function replayText(summary: PriceSummary, { columns: asked = width, ...look }: ReplayLook): string {
  const columns = Math.max(widthMin, asked);
  const { prices, compaction, sessions, rounds, tooShort, hopeless } = summary;
  const head = `${prices} prices: ${counted(sessions, "session")}, ${counted(rounds, "round")}`;
  const left = [
    ...(compaction === "stand-in" ? [] : [`compaction ${compaction}: summaries are made from what was said`]),
    ...(tooShort === 0 ? [] : [`left out with too few rounds: ${humanCount(tooShort)}`]),
    ...(tooShort === 0 || sessions + hopeless > 0 ? [] : [allShortText(tooShort, look)]),
    ...(hopeless === 0 ? [] : [`left out, since no policy comes through: ${humanCount(hopeless)}`]),
  ];
  const first = `${[head, ...left].map((line) => filled(line, columns)).join("\n")}\n`;
  if (sessions === 0) return first;
  const sections = sectionsOf(summary).map((section) => sectionText({ section, policies: summary.policies, columns }));
  return [first, ...sections, recordedText(summary, columns)].filter((text) => text !== "").join("\n");
}

/** Whoever sees no figure wants to know what would show some. */
function allShortText(sessions: number, { roundsMin, longestRounds }: Omit<ReplayLook, "columns">): string {
  const most = `${sessions === 1 ? "" : "at most "}${counted(longestRounds, "round")}`;
  return `${most} of at least ${humanCount(roundsMin)}: --rounds-min 1 shows ${sessions === 1 ? "it" : "them"}`;
}

const sectionsOf = ({ baseline, policies }: PriceSummary): readonly Section[] => [
  moneySection({ baseline, policies }),
  ...(policies.some(hasBounds) ? boundSections : []),
  {
    heading: "What it did",
    columns: ["policy", "edits", "compactions", "refetched", "peak", "refused"],
    cells: ({ policy, edits, compactions, refetched, peakContext, refused }) => [
      policy,
      ...[edits, compactions, refetched, peakContext, refused].map(humanCount),
    ],
  },
];

const boundSections: readonly Section[] = [
  {
    heading: "Cost without re-fetching, over the best with clearing and compacting",
    columns: ["policy", "mean", "median", "p90", "max"],
    cells: ({ policy, overFull }) => [policy, ...ratios(overFull)],
  },
  {
    heading: "The same over the best with clearing alone",
    columns: ["policy", "mean", "median", "p90", "max"],
    cells: ({ policy, overClearOnly }) => [policy, ...ratios(overClearOnly)],
  },
];

function moneySection({ baseline, policies }: Pick<PriceSummary, "baseline" | "policies">): Section {
  const ofBaseline = policies.find(({ policy }) => policy === baseline)?.sessions ?? 0;
  return {
    heading: `Money, in tokens at the base input price; saving against ${baseline}`,
    columns: ["policy", "cost", "saving", "95 % interval", "with rework"],
    cells: ({ policy, cost, saving, savingWithRework, sessions }) => [
      policy,
      millions(cost),
      saving === undefined ? nothing : percent(saving.estimate),
      saving === undefined || Math.min(sessions, ofBaseline) < intervalSessionsMin ? nothing : range(saving),
      savingWithRework === undefined ? nothing : percent(savingWithRework.estimate),
    ],
    note: failsText(policies),
  };
}

/** A policy that fails somewhere has figures of the other sessions only. */
function failsText(policies: readonly PolicySummary[]): string | undefined {
  const failing = policies.filter(({ failedSessions }) => failedSessions > 0);
  if (failing.length === 0) return undefined;
  const each = failing.map(
    ({ policy, failedSessions, sessions }) =>
      `${policy} in ${humanCount(failedSessions)} of ${humanCount(failedSessions + sessions)}`,
  );
  return `Fails, and has figures of the other sessions only: ${each.join(", ")}.`;
}

interface Shown {
  readonly section: Section;
  readonly policies: readonly PolicySummary[];
  readonly columns: number;
}

function sectionText({ section, policies, columns }: Shown): string {
  const rows = policies.map(section.cells);
  const text = table(
    section.columns.map((title, at): Column => ({ title, align: at === 0 ? "left" : "right" })),
    rows,
  );
  const fits = text.split("\n").every((line) => line.length <= columns);
  const note = section.note === undefined ? "" : `${filled(section.note, columns)}\n`;
  return `${filled(section.heading, columns)}\n${fits ? text : records(section, rows)}${note}`;
}

/** A name and its figures below it, one a line. */
const records = ({ columns }: Section, rows: readonly (readonly string[])[]): string =>
  rows
    .map(([name = "", ...cells]) =>
      [name, ...cells.map((cell, at) => `  ${columns[at + 1] ?? ""}: ${cell}`)].map((line) => `${line}\n`).join(""),
    )
    .join("");

function recordedText({ recorded, baseline }: PriceSummary, columns: number): string {
  if (recorded === undefined) return "";
  const { sessions, cost, baselineCost } = recorded;
  const text = `The usage that was recorded in ${counted(sessions, "session")} costs ${millions(cost)}; ${baseline} costs ${millions(baselineCost)} in the same.`;
  return `${filled(text, columns)}\n`;
}
