import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { appendCase } from "./case/append.ts";
import { openCase } from "./case/open.ts";
import { viewCase } from "./case/view.ts";
import { conditions, type Figure } from "./measure.ts";

/** `npm run bench [-- <case>…]`: prints each figure beside its limit, stores them with their conditions, exits 1 where one is missed. */
const cases = [appendCase, viewCase, openCase];
const asked = process.argv.slice(2);
const conditionsNow = conditions();
for (const [name, value] of Object.entries(conditionsNow)) console.log(`${name.padEnd(8)} ${value}`);

const figures: Figure[] = [];
for (const one of cases) {
  if (asked.length > 0 && !asked.includes(one.name)) continue;
  const found = await one.run();
  if (found.length === 0) console.log(`\n${one.name}: left out, the corpus is not here (PALIMPSEST_CORPUS)`);
  for (const figure of found)
    console.log(
      `\n${mark(figure)} ${figure.name}: ${figure.value.toFixed(2)} ${figure.unit}${figure.limit === undefined ? "" : ` (limit ${figure.limit})`}\n  ${figure.detail}`,
    );
  figures.push(...found);
}

const folder = join(import.meta.dirname, "../.bench");
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, `${conditionsNow["commit"]?.split(" ")[0] ?? "unknown"}.json`),
  `${JSON.stringify({ conditions: conditionsNow, figures }, undefined, 2)}\n`,
);
process.exitCode = figures.some(missed) ? 1 : 0;

function missed({ value, limit }: Figure): boolean {
  return limit !== undefined && !(value <= limit);
}

function mark(figure: Figure): string {
  return missed(figure) ? "✗" : "✓";
}
