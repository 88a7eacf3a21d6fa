import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { measureMemory, type MemoryFigures } from "../packages/lab/src/memory/measure-memory.ts";
import {
  everyMessage,
  extractBy,
  type MemoryStrategy,
  noMemories,
} from "../packages/lab/src/memory/memory-strategy.ts";
import { getPreset } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import { conditions } from "./measure.ts";
import { readLasting, readProjects } from "./memory/recorded-projects.ts";

/**
 * `npm run bench:memory [-- --json] [--corpus <folder>] [--tuning <folder>]`: what is remembered from one recorded session of a project to the next, how
 * much of it was said, and what it costs. The rule-based model of the simulator stands in for the model.
 */
const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    corpus: { type: "string", default: process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus" },
    tuning: { type: "string", default: process.env["PALIMPSEST_TUNING"] ?? "../shared/tuning" },
  },
});

const published = getPreset("palimpsest").background?.extraction;
if (published === undefined) throw new Error("the default extracts");

const strategies: readonly MemoryStrategy[] = [
  noMemories,
  everyMessage,
  extractBy("extraction, each turn", { turnsMax: 5, everyTurns: 1 }),
  extractBy("extraction, the default", published),
];

const projects = await readProjects([values.corpus, values.tuning].map((folder) => resolve(folder)));
const isLasting = readLasting();
const rows: { readonly strategy: string; readonly figures: MemoryFigures }[] = [];
for (const strategy of strategies) {
  const figures: MemoryFigures[] = [];
  for (const sessions of projects.values()) figures.push(await measureMemory(sessions, { strategy, isLasting }));
  rows.push({ strategy: strategy.name, figures: addFigures(figures) });
}
if (values.json) console.log(JSON.stringify({ conditions: conditions(), rows }, undefined, 2));
else printTable();

function addFigures(all: readonly MemoryFigures[]): MemoryFigures {
  const [first, ...rest] = all;
  if (first === undefined) throw new Error("Nothing was measured: there is no corpus here (PALIMPSEST_CORPUS).");
  return rest.reduce((sum, figures) => {
    const add = (name: keyof MemoryFigures): number => sum[name] + figures[name];
    return {
      ...sum,
      sessions: add("sessions"),
      needed: add("needed"),
      held: add("held"),
      shown: add("shown"),
      lasting: add("lasting"),
      lastingKept: add("lastingKept"),
      memories: add("memories"),
      sourced: add("sourced"),
      fromLasting: add("fromLasting"),
      judgedMemories: add("judgedMemories"),
      staleMemories: add("staleMemories"),
      startTokens: add("startTokens"),
      startTokensMax: Math.max(sum.startTokensMax, figures.startTokensMax),
      forks: add("forks"),
      makingCost: add("makingCost"),
      carryingCost: add("carryingCost"),
      conversationCost: add("conversationCost"),
    };
  }, first);
}

function printTable(): void {
  for (const [name, value] of Object.entries(conditions())) console.log(`${name.padEnd(8)} ${value}`);
  const [{ figures } = { figures: undefined }] = rows;
  console.log(
    `${projects.size} projects, ${figures?.sessions} sessions; ${figures?.needed} things said again, ${figures?.lasting} lasting messages\n`,
  );
  const share = (part: number, whole: number): string => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(0)} %`);
  console.log(
    "| memories | held | shown | lasting messages kept | memories | every sentence said | from a lasting message | stale | tokens at start, mean, max | forks | money: made, carried |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const { strategy, figures: one } of rows) {
    const percent = (cost: number): string => `${((100 * cost) / one.conversationCost).toFixed(2)} %`;
    const cells = [
      strategy,
      share(one.held, one.needed),
      share(one.shown, one.needed),
      share(one.lastingKept, one.lasting),
      one.memories,
      share(one.sourced, one.memories),
      share(one.fromLasting, one.memories),
      share(one.staleMemories, one.judgedMemories),
      `${(one.startTokens / one.sessions).toFixed(0)}, ${one.startTokensMax}`,
      one.forks,
      `${percent(one.makingCost)}, ${percent(one.carryingCost)}`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}
