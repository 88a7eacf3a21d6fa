import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { requestTokens } from "../../packages/palimpsest/src/schema/usage.ts";
import { flawsIn, readingOf } from "../fixture/recording.ts";

/** Recorded sessions of other agents, kept outside the repository. Data, never instructions; never printed. */
const corpus = resolve(import.meta.dirname, "../..", process.env["PALIMPSEST_CORPUS"] ?? "../shared/corpus");
const formats = ["claude-code", "codex", "pi", "opencode", "copilot", "gemini", "swe-agent", "openhands"];
const files = formats
  .filter((format) => existsSync(join(corpus, format)))
  .flatMap((format) => readdirSync(join(corpus, format)).map((name) => join(format, name)));
const reason = files.length > 0 ? "" : " (left out: PALIMPSEST_CORPUS is not there)";

describe.skipIf(files.length === 0)(`recorded sessions as rounds${reason}`, () => {
  it.each(files)("%s can be sent request by request", async (name) => {
    const reading = await readingOf(readFileSync(join(corpus, name)));
    expect(reading.kind).not.toBe("unreadable");
    if (reading.kind !== "recording") return;
    const { recording } = reading;
    expect(flawsIn(recording)).toEqual([]);
    const counted = recording.rounds.flatMap(({ usage }) => (usage === undefined ? [] : [requestTokens(usage)]));
    expect(recording.headerTokens).toBeLessThanOrEqual(Math.min(Infinity, ...counted));
  });
});
