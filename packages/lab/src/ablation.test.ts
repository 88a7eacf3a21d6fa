import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../test/fixture/log.ts";
import { type Raw, result, says, text, user } from "../../../test/fixture/raw.ts";
import { recordingOf } from "../../../test/fixture/recording.ts";
import { madeRecording, type MadeRound } from "../../../test/fixture/replay/made-recording.ts";
import { replayed, type Replayed } from "../../../test/fixture/replay/replayed.ts";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import { prefixCache } from "./replay-cache.ts";
import { thresholdsFor } from "./replay-file.ts";
import { createReplayWorld } from "./replay-world.ts";
import { PolicyRun } from "./policy-run.ts";

const rounds = (count: number, round: MadeRound): readonly MadeRound[] => Array.from({ length: count }, () => round);

describe("a layer that is taken away", () => {
  const long = madeRecording([{}, ...rounds(60, { results: [6_000] }), {}], { resultChars: 20_000 });
  const paused = madeRecording([{}, ...rounds(20, { results: [6_000] }), { afterMillis: 400_000 }], {
    resultChars: 20_000,
  });
  const slow = madeRecording(rounds(80, { said: 2_500 }));
  const large = madeRecording([{}, { results: [15_000] }, {}], { resultChars: 60_000 });

  it.each<[string, Parameters<typeof replayed>[0], (outcome: Replayed) => number]>([
    ["offload", large, ({ peakContext }) => -peakContext],
    ["clear", paused, ({ edits }) => edits],
    ["compact", long, ({ compactions }) => compactions],
    ["early", slow, ({ peakContext }) => -peakContext],
  ])("does nothing any more: %s", async (part, recording, worth) => {
    const whole = await replayed(recording, "palimpsest");
    const without = await replayed(recording, `palimpsest-without-${part}`);
    expect(worth(without)).toBeLessThan(worth(whole));
  });

  it("that costs only where it is there: notes", async () => {
    const without = await replayed(long, "palimpsest");
    const whole = await replayed(long, "palimpsest-with-notes-5k");
    expect([without.notesTaken, without.notesCost]).toEqual([0, 0]);
    expect(whole.notesTaken).toBeGreaterThan(10);
    expect(whole.notesCost).toBeGreaterThan(0);
  });
});

const asked = (n: number): string => `Number ${n}: ${"wind the spring of this clock, and oil it. ".repeat(12)}`.trim();
const talk: readonly Raw[] = Array.from({ length: 60 }, (_, n): readonly Raw[] => [
  user(`u${n}`, asked(n)),
  says(`a${n}`, `m${n}`, { type: "tool_use", id: `t${n}`, name: "Edit", input: { file_path: `/tower/clock-${n}.ts` } }),
  result(`r${n}`, `t${n}`, "done"),
  says(`c${n}`, `mc${n}`, { type: "tool_use", id: `d${n}`, name: "Read", input: { file_path: "/tower/face.ts" } }),
  result(`s${n}`, `d${n}`, "The face has figures and hands."),
  says(`b${n}`, `n${n}`, text("It is wound and oiled now.\n".repeat(200))),
]).flat();

/** What is shown behind the first compaction, where the summary itself says nothing. */
async function shownUnder(name: string): Promise<string> {
  const lines = talk.map((raw, at) =>
    JSON.stringify({ parentUuid: talk[at - 1]?.uuid ?? null, sessionId: "s", ...raw }),
  );
  const world = createReplayWorld(await recordingOf(bytesOf(lines)));
  const policy = findPolicy(name);
  if (policy === undefined) throw new Error(`no policy is called ${name}`);
  const views: string[] = [];
  const run = new PolicyRun({
    world,
    policy,
    lifetime: "5m",
    thresholds: thresholdsFor(policy, { world, request: { windowTokens: 60_000 } }),
    cache: prefixCache(),
    refetch: "charged",
    compaction: "extract",
    summarise: () => "Work went on.",
    onCompacted: ({ messages }) => views.push(JSON.stringify(messages)),
  });
  await run.run();
  const [first = ""] = views;
  expect(first).toContain("Work went on.");
  return first;
}

describe("a part of compaction that is taken away", () => {
  it.each([
    ["without-audit", "File changed: /tower/clock-0.ts"],
    // Some messages the audit carries on where there is no ledger.
    ["without-ledger", asked(0)],
    ["without-restoration", "The face has figures and hands."],
    ["summary-alone", "/tower/clock-0.ts"],
    ["summary-alone", "Number 0"],
  ])("shows no more what it is there for: %s, %s", async (name, words) => {
    expect(await shownUnder("palimpsest")).toContain(words);
    expect(await shownUnder(`palimpsest-${name}`)).not.toContain(words);
  });
});
