import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { conditions } from "./measure.ts";
import { codingTables } from "./recall/coding-table.ts";
import {
  type Finder,
  indexFinder,
  locomoTable,
  longMemEvalTable,
  memoryFinder,
  partsTable,
} from "./recall/conversation-tables.ts";
import { formatTable, type Table } from "./recall/measures.ts";

/**
 * `npm run bench:recall [-- --only locomo|longmemeval|coding|parts] [--through memory|index] [--json]`: how well passages are found and ranked without
 * a model. `--corpus` names another folder of the same form.
 */
const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: ["locomo", "longmemeval", "coding"] },
    through: { type: "string", default: "memory" },
    corpus: {
      type: "string",
      default: process.env["PALIMPSEST_CORPUS"] ?? resolve(import.meta.dirname, "../../shared/corpus"),
    },
  },
});

/** Where candidates come from. */
const finders: ReadonlyMap<string, Finder> = new Map([
  ["memory", memoryFinder],
  ["index", indexFinder],
]);

const finder = finders.get(values.through);
if (finder === undefined) throw new TypeError(`--through is one of ${[...finders.keys()].join(", ")}`);

const measured = { ...conditions(), through: values.through };
const print = (text: string): void => {
  if (!values.json) console.log(text);
};
for (const [name, value] of Object.entries(measured)) print(`${name.padEnd(8)} ${value}`);

const tables: Table[] = [];
const add = (...added: readonly Table[]): void => {
  for (const table of added) {
    tables.push(table);
    print(`\n${formatTable(table)}`);
  }
};

const locomo = `${values.corpus}/locomo/locomo10.json`;
for (const name of values.only) {
  if (name === "locomo" && existsSync(locomo)) add(await locomoTable(locomo, finder));
  if (name === "parts" && existsSync(locomo)) add(await partsTable(locomo));
  if (name === "longmemeval")
    for (const [title, folder] of [
      ["LongMemEval-S", "s"],
      ["LongMemEval, oracle sessions", "oracle"],
    ] as const)
      if (existsSync(`${values.corpus}/longmemeval/${folder}`))
        add(await longMemEvalTable({ title, folder: `${values.corpus}/longmemeval/${folder}` }, finder));
  if (name === "coding" && existsSync(`${values.corpus}/claude-code`))
    add(...(await codingTables(values.corpus, finder)));
}
if (tables.length === 0) print(`\nNothing was measured: there is no corpus at ${values.corpus} (PALIMPSEST_CORPUS).`);
if (values.json) console.log(JSON.stringify({ conditions: measured, tables }, undefined, 2));
