import { parseJson } from "../../src/schema/json.ts";
import { readEntry } from "../../src/schema/entry.ts";
import { Fold } from "../../src/transcript/fold.ts";
import type { Logged } from "../../src/transcript/lines.ts";
import { GeneratedLog } from "../generated-log.ts";
import { type BenchCase, median } from "../measure.ts";

const small = 1_000;
const large = 100_000;
const sample = 4_000;

/** The same appends to a short and to a long live view: what one costs must not depend on what is there. */
export const appendCase: BenchCase = {
  name: "append",
  run: async () => {
    const entries = generated(large + sample);
    timeAppends(entries, small);
    const ratios: number[] = [];
    const costs: number[] = [];
    for (let repeat = 0; repeat < 7; repeat += 1) {
      const atSmall = timeAppends(entries, small);
      const atLarge = timeAppends(entries, large);
      ratios.push(atLarge / atSmall);
      costs.push(atLarge);
    }
    return [
      { name: "append at 100,000 entries over 1,000", value: median(ratios), unit: "×", limit: 1.25, detail: `medians of ${sample} appends, 7 pairs` },
      { name: "append at 100,000 entries", value: median(costs), unit: "µs", limit: 50, detail: "median, entry parsed beforehand" },
    ];
  },
};

function generated(count: number): Logged[] {
  const log = new GeneratedLog();
  const entries: Logged[] = [];
  while (entries.length < count) {
    for (const line of log.round(300)) {
      const reading = readEntry(parseJson(line));
      if (reading.kind === "entry") entries.push({ entry: reading.entry, start: 0, end: line.length });
    }
  }
  return entries;
}

function timeAppends(entries: readonly Logged[], size: number): number {
  const fold = new Fold();
  fold.appendAll(entries.slice(0, size));
  const times: number[] = [];
  for (const logged of entries.slice(size, size + sample)) {
    const start = process.hrtime.bigint();
    fold.append(logged);
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return median(times);
}
