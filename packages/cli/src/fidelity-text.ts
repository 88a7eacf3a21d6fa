import { type FactKind, factKinds } from "@palimpsest/lab/internal/fidelity/fact";
import type { SummariserName } from "@palimpsest/lab/internal/fidelity/outcome";
import {
  type CompactionSummary,
  type FidelityFigures,
  type FidelitySummary,
  shownShare,
} from "@palimpsest/lab/internal/fidelity/tally";
import { counted, filled, humanCount } from "./human.ts";
import { type Column, table } from "./table.ts";

export interface MeasuredUnder {
  readonly window: number | "none";
  readonly summariser: SummariserName;
  /** Which were asked for. */
  readonly compactions: readonly number[];
}

const width = 80;

/** What each policy shows, recovers and loses after each compaction, and a bar of it. */
export function fidelityText({ compactions, runs }: FidelityFigures, under: MeasuredUnder): string {
  const sessions = Math.max(0, ...runs.map((run) => run.sessions));
  const window = under.window === "none" ? "no window" : `a window of ${humanCount(under.window)} tokens`;
  const head = `${counted(sessions, "session")} under ${window}. ${summariserText[under.summariser]}`;
  const without = runs.filter(({ compacted }) => compacted === 0).map(({ policy }) => policy);
  const failing = runs
    .filter(({ failed }) => failed > 0)
    .map(({ policy, failed }) => `${policy} in ${humanCount(failed)}`);
  const unreached = under.compactions.filter((n) => !compactions.some(({ compaction }) => compaction === n));
  const notes = [
    head,
    ...(without.length === 0 ? [] : [`No compaction, so no figures: ${without.join(", ")}.`]),
    ...(failing.length === 0 ? [] : [`Could send nothing that fits from some round on: ${failing.join(", ")}.`]),
    ...(unreached.length === 0 || sessions === 0
      ? []
      : [`No policy came to compaction ${unreached.join(", ")}: a smaller --window has more of them.`]),
  ];
  const top = notes.map((line) => `${filled(line, width)}\n`).join("");
  return [top, ...compactions.map(compactionText)].join("\n");
}

const summariserText: Readonly<Record<SummariserName, string>> = {
  rules: "Summaries by one set of rules for all policies, in place of a model.",
  extract: "Summaries extracted without a model, as the engine does where none answers.",
};

function compactionText({ compaction, policies }: CompactionSummary): string {
  const shown = table(
    ["policy", ...factKinds.map((kind) => kindHeads[kind])].map(column),
    policies.map((one) => [one.policy, ...factKinds.map((kind) => percent(shownShare(one.facts[kind])))]),
  );
  const rest = table(
    ["policy", "sessions", "by id", "back", "lost", "needed", "lost", "before", "after"].map(column),
    policies.map(restCells),
  );
  const bars = policies.map((one) => `${one.policy.padEnd(nameWidth(policies))}  ${barOf(one)}\n`).join("");
  return [
    `After compaction ${compaction}: shown verbatim, in % of all facts of a kind\n${shown}`,
    `Messages shown by id alone, in %; facts that come back, that are lost; needed\nlater: shown in %, lost; tokens of the context\n${rest}`,
    `All facts: █ shown, ▒ comes back, · lost\n${bars}`,
  ].join("\n");
}

const column = (title: string, at: number): Column => ({ title, align: at === 0 ? "left" : "right" });

const kindHeads: Readonly<Record<FactKind, string>> = {
  userMessages: "msgs",
  filesModified: "mod",
  filesRead: "read",
  commands: "cmds",
  errors: "errs",
  lastErrors: "last",
  details: "ids",
  decisions: "decs",
  openTodos: "todo",
};

const restCells = (one: FidelitySummary): readonly string[] => [
  one.policy,
  humanCount(one.sessions),
  percent(one.userMessages === 0 ? undefined : one.userMessagesByReference / one.userMessages),
  humanCount(one.all.recoverable),
  humanCount(one.all.lost),
  percent(shownShare(one.needed)),
  humanCount(one.needed.lost),
  humanCount(one.tokensBefore),
  humanCount(one.tokensAfter),
];

/** Rounded down: what is not whole must not look so. */
const percent = (share: number | undefined): string => (share === undefined ? "-" : String(Math.floor(share * 100)));

const nameWidth = (policies: readonly FidelitySummary[]): number =>
  Math.max(...policies.map(({ policy }) => policy.length));

const barWidth = 50;

function barOf({ all: { shown, recoverable, lost } }: FidelitySummary): string {
  const sum = Math.max(1, shown + recoverable + lost);
  const full = Math.floor((shown / sum) * barWidth);
  // A single fact that is lost can be seen.
  const gone = Math.ceil((lost / sum) * barWidth);
  return `${"█".repeat(full)}${"▒".repeat(Math.max(0, barWidth - full - gone))}${"·".repeat(gone)}`;
}
