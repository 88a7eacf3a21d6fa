import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BenchCase, median } from "../measure.ts";

const repeats = 15;
const corpus = resolve(process.env["PALIMPSEST_CORPUS"] ?? join(import.meta.dirname, "../../../shared/corpus"), "claude-code");

/** The largest recorded session: bytes to view, against bytes to JSON.parse of each line; every run in a new process. */
export const viewCase: BenchCase = {
  name: "view",
  run: async () => {
    const file = largest();
    if (file === undefined) return [];
    const peer: number[] = [];
    const ours: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      peer.push(once("parse", file));
      ours.push(once("view", file));
    }
    const value = median(ours) / median(peer);
    const detail = `view ${median(ours).toFixed(1)} ms, parse ${median(peer).toFixed(1)} ms, ${(statSync(file).size / 2 ** 20).toFixed(1)} MB, ${repeats} processes each`;
    return [{ name: "view of the largest corpus file over JSON.parse of its lines", value, unit: "×", limit: 1.5, detail }];
  },
};

function largest(): string | undefined {
  try {
    const files = readdirSync(corpus).map((name) => join(corpus, name));
    return files.toSorted((one, other) => statSync(other).size - statSync(one).size)[0];
  } catch {
    // No corpus here: the case has nothing to say.
    return undefined;
  }
}

const once = (mode: "parse" | "view", file: string): number =>
  Number(execFileSync(process.execPath, [join(import.meta.dirname, "view-once.ts"), mode, file], { encoding: "utf8" }));
