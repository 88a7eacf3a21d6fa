import { existsSync, globSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { goOnWith, wrongSizes } from "../scenario/support/going-on.ts";

const corpus = resolve(import.meta.dirname, "../..", process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus");
const agents = ["claude-code", "codex", "pi", "opencode", "copilot", "gemini", "swe-agent", "openhands"];
const files = existsSync(corpus)
  ? agents.flatMap((agent) => globSync(`${agent}*/**/*.{json,jsonl,traj}`, { cwd: corpus })).toSorted()
  : [];
const reason = files.length > 0 ? "" : " (left out: PALIMPSEST_CORPUS is not there)";

describe.skipIf(files.length === 0)(`going on with every recorded session${reason}`, () => {
  it.each(files)(
    "%s has one size, whoever is asked, and the next request is about as large as it says",
    async (file) => {
      const gone = await goOnWith(join(corpus, file));
      expect(wrongSizes(gone)).toEqual([]);
      const { next } = gone;
      if (next?.counted === undefined) return;
      expect(next.expected / next.counted).toBeGreaterThan(0.8);
      expect(next.expected / next.counted).toBeLessThan(1.25);
    },
  );
});
