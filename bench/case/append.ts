import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Fold } from "../../packages/palimpsest/src/transcript/fold.ts";
import { GeneratedLog } from "../generated-log.ts";
import { type BenchCase, median } from "../measure.ts";
import { parsed } from "../parsed-line.ts";

const small = 1_000;
const large = 100_000;
const sample = 4_000;
const repeats = 7;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * The same appends to a short and to a long live view: the cost of one must not depend on the size of the view. An append is
 * what a session does with a line after writing it: parse, check, fold. The fold alone is reported too; at about a
 * microsecond it measures the processor's caches, as does the bare Map of the same size.
 */
export const appendCase: BenchCase = {
  name: "append",
  run: async () => {
    const lines = generateLines(large + sample);
    const whole = compareSizes(lines, () => new Whole());
    const bare = compareSizes(lines, () => new Bare());
    const map = compareSizes(lines, () => new BareMap());
    const detail = `medians of ${sample} appends, ${repeats} pairs`;
    return [
      { name: "append at 100,000 entries over 1,000", value: whole.ratio, unit: "×", limit: 1.25, detail },
      { name: "append at 100,000 entries", value: whole.costUs, unit: "µs", limit: 50, detail },
      {
        name: "the fold alone, 100,000 over 1,000",
        value: bare.ratio,
        unit: "×",
        detail: `${bare.costUs.toFixed(2)} µs; a bare Map.set: ${map.ratio.toFixed(2)} ×, ${map.costUs.toFixed(2)} µs`,
      },
    ];
  },
};

interface Subject {
  prepare(line: string): () => void;
}

class Whole implements Subject {
  readonly #fold = new Fold();
  prepare = (line: string) => () => void this.#fold.append(parsed(line));
}

class Bare implements Subject {
  readonly #fold = new Fold();
  prepare = (line: string) => {
    const logged = parsed(line);
    return () => void this.#fold.append(logged);
  };
}

class BareMap implements Subject {
  readonly #map = new Map<string, number>();
  prepare = (line: string) => {
    const id = String(parsed(line).entry.id);
    return () => void this.#map.set(id, 1);
  };
}

function compareSizes(lines: readonly string[], subject: () => Subject): { ratio: number; costUs: number } {
  timeAppends(lines, subject(), small);
  const pairs = Array.from({ length: repeats }, () => ({
    atSmall: timeAppends(lines, subject(), small),
    atLarge: timeAppends(lines, subject(), large),
  }));
  return {
    ratio: median(pairs.map((pair) => pair.atLarge / pair.atSmall)),
    costUs: median(pairs.map((pair) => pair.atLarge)),
  };
}

function generateLines(count: number): string[] {
  const log = new GeneratedLog();
  const lines: string[] = [];
  while (lines.length < count) lines.push(...log.round(312));
  return lines;
}

function timeAppends(lines: readonly string[], subject: Subject, size: number): number {
  for (const line of lines.slice(0, size)) subject.prepare(line)();
  // In a real session the view is in the old generation, at either size.
  collect();
  collect();
  const appends = lines.slice(size, size + sample).map((line) => subject.prepare(line));
  const times: number[] = [];
  for (const append of appends) {
    const start = process.hrtime.bigint();
    append();
    times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return median(times);
}
