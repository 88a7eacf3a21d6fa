import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { z } from "zod";
import { conditions, median } from "./measure.ts";

/**
 * `node bench/compare.ts <other checkout> [rounds]`: compares plain requests to the simulators of two checkouts, each in a
 * process of its own, in alternating order. Prints the median of the rounds' ratios and their interquartile range; exits with
 * 1 if a median is over the limit.
 */
const [other, rounds = "15"] = process.argv.slice(2);
if (other === undefined) throw new Error("usage: node bench/compare.ts <other checkout> [rounds]");
const ratioMax = 1.1;
const here = resolve(import.meta.dirname, "..");
for (const [name, value] of Object.entries(conditions())) console.log(`${name.padEnd(8)} ${value}`);

const ratiosByName = new Map<string, number[]>();
for (let round = 0; round < Number(rounds); round += 1) {
  const order = round % 2 === 0 ? [here, other] : [other, here];
  const costs = new Map(order.map((checkout) => [checkout, costsIn(checkout)]));
  for (const [name, cost] of Object.entries(costs.get(here) ?? {})) {
    const ratios = ratiosByName.get(name) ?? [];
    ratios.push(cost / (costs.get(other)?.[name] ?? NaN));
    ratiosByName.set(name, ratios);
  }
}
for (const [name, ratios] of ratiosByName) {
  const sorted = ratios.toSorted((one, two) => one - two);
  const [low, high] = [0.25, 0.75].map((share) => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN);
  const mark = median(ratios) <= ratioMax ? "✓" : "✗";
  console.log(
    `${mark} ${name}: ${median(ratios).toFixed(3)} × (middle half ${low?.toFixed(3)} to ${high?.toFixed(3)}, ${ratios.length} rounds)`,
  );
}
process.exitCode = [...ratiosByName.values()].some((ratios) => !(median(ratios) <= ratioMax)) ? 1 : 0;

function costsIn(checkout: string): Readonly<Record<string, number>> {
  const script = join(import.meta.dirname, "case/simulator-once.ts");
  const output = execFileSync(process.execPath, ["--conditions=@palimpsest/source", script, checkout], {
    encoding: "utf8",
  });
  return z.record(z.string(), z.number()).parse(JSON.parse(output));
}
