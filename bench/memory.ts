import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { addFigures, measureMemory, type MemoryFigures } from "../packages/lab/src/memory/measure-memory.ts";
import {
  everyMessage,
  extractBy,
  type MeasuredSession,
  type MemoryStrategy,
  noMemories,
} from "../packages/lab/src/memory/memory-strategy.ts";
import type { DreamRule } from "../packages/palimpsest/src/layers/6-dream/plan.ts";
import { getPreset } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import { madeProject, rulesThatChange } from "../test/fixture/replay/made-project.ts";
import { conditions } from "./measure.ts";
import { readLasting, readProjects } from "./memory/recorded-projects.ts";

/**
 * `npm run bench:memory [-- --json] [--corpus <folder>] [--tuning <folder>]`: what is remembered from one recorded session of
 * a project to the next, how much of it was said, and what it costs. The simulator's rule-based model stands in for a model.
 */
const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    corpus: { type: "string", default: process.env["PALIMPSEST_CORPUS"] ?? sharedFolder("corpus") },
    tuning: { type: "string", default: process.env["PALIMPSEST_TUNING"] ?? sharedFolder("tuning") },
  },
});

function sharedFolder(name: string): string {
  return resolve(import.meta.dirname, "../../shared", name);
}

interface Row {
  readonly strategy: MemoryStrategy;
  readonly dream?: DreamRule | undefined;
}

/** `chooses`: a reader's judgement of what lasts. */
function describeRows(chooses: (message: string) => boolean): readonly Row[] {
  const { extraction: rule, dream } = getPreset("palimpsest").background ?? {};
  if (rule === undefined) throw new Error("the default extracts");
  return [
    { strategy: noMemories },
    { strategy: everyMessage },
    { strategy: extractBy("extraction after each turn", { rule: { turnsMax: 5, everyTurns: 1 } }) },
    { strategy: extractBy("extraction", { rule }) },
    { strategy: extractBy("extraction and dreams", { rule }), dream },
    { strategy: { ...everyMessage, name: "every message, and dreams" }, dream },
    { strategy: extractBy("extraction, if a reader chose", { rule, chooses }) },
  ];
}

type Projects = readonly (readonly MeasuredSession[])[];

interface MeasuredRow {
  readonly name: string;
  readonly figures: MemoryFigures;
}

async function measureRows(
  projects: Projects,
  isLasting: (message: string) => boolean,
): Promise<readonly MeasuredRow[]> {
  const measured: MeasuredRow[] = [];
  for (const { strategy, dream } of describeRows(isLasting)) {
    const figures: MemoryFigures[] = [];
    for (const sessions of projects) figures.push(await measureMemory(sessions, { strategy, dream, isLasting }));
    const [first, ...rest] = figures;
    if (first !== undefined) measured.push({ name: strategy.name, figures: rest.reduce(addFigures, first) });
  }
  return measured;
}

const share = (part: number, whole: number): string => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(0)} %`);
const exactShare = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;

type Column = readonly [title: string, cell: (figures: MemoryFigures) => string];

const qualityColumns: readonly Column[] = [
  ["held", ({ held, needed }) => share(held, needed)],
  ["shown", ({ shown, needed }) => share(shown, needed)],
  ["lasting messages kept", ({ lastingKept, lasting }) => share(lastingKept, lasting)],
  ["memories", ({ memories }) => String(memories)],
  ["every sentence said", ({ sourced, memories }) => share(sourced, memories)],
  ["of lasting messages", ({ fromLasting, memories }) => share(fromLasting, memories)],
  ["stale", ({ stale, judged }) => exactShare(stale, judged)],
  ["said twice", ({ repeated, judged }) => exactShare(repeated, judged)],
  ["tokens at start", ({ startTokens, sessions }) => (startTokens / sessions).toFixed(0)],
];

const moneyColumns: readonly Column[] = [
  ["extractions", ({ forks }) => String(forks)],
  ["their money", ({ extractionCost, conversationCost }) => exactShare(extractionCost, conversationCost)],
  ["dreams", ({ dreamCost, conversationCost }) => exactShare(dreamCost, conversationCost)],
  ["carrying the index", ({ carryingCost, conversationCost }) => exactShare(carryingCost, conversationCost)],
];

const dreamColumns: readonly Column[] = [
  ["dreams", ({ dreams }) => String(dreams)],
  ["refused", ({ dreamsRefused }) => String(dreamsRefused)],
  ["memories before, after", ({ judgedBeforeDream, judgedAfterDream }) => `${judgedBeforeDream}, ${judgedAfterDream}`],
  ["stale before, after", (one) => `${one.staleBeforeDream}, ${one.staleAfterDream}`],
  ["said twice before, after", (one) => `${one.repeatedBeforeDream}, ${one.repeatedAfterDream}`],
];

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function formatRows(columns: readonly Column[], shown: readonly MeasuredRow[]): string {
  return [
    line(["memories", ...columns.map(([title]) => title)]),
    line(["memories", ...columns].map(() => "---")),
    ...shown.map(({ name, figures }) => line([name, ...columns.map(([, cell]) => cell(figures))])),
  ].join("\n");
}

function print(title: string, measured: readonly MeasuredRow[]): void {
  const [first] = measured;
  if (first === undefined) return;
  const { sessions, needed, lasting } = first.figures;
  const dreamt = measured.filter(({ figures }) => figures.dreams > 0);
  console.log(`\n${title}: ${sessions} sessions; ${needed} things said again, ${lasting} lasting messages`);
  console.log(`\n${formatRows(qualityColumns, measured)}\n\n${formatRows(dreamColumns, dreamt)}`);
}

/** In per cent of what the conversations cost. */
const printMoney = (measured: readonly MeasuredRow[]): void => console.log(`\n${formatRows(moneyColumns, measured)}`);

const recordedProjects = await readProjects([values.corpus, values.tuning]);
const recorded = await measureRows([...recordedProjects.values()], readLasting());
const made = await measureRows([await madeProject(rulesThatChange)], (message) =>
  /\b(?:always|never)\b/i.test(message),
);
if (values.json) console.log(JSON.stringify({ conditions: conditions(), recorded, made }, undefined, 2));
else {
  for (const [name, value] of Object.entries(conditions())) console.log(`${name.padEnd(8)} ${value}`);
  if (recorded.length === 0)
    console.log("\nThere are no recorded projects here (PALIMPSEST_CORPUS, PALIMPSEST_TUNING).");
  else {
    print(`${recordedProjects.size} recorded projects`, recorded);
    printMoney(recorded);
  }
  print("A made-up project whose rules change", made);
}
