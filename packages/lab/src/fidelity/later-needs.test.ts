import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../../test/fixture/replay/made-recording.ts";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { says, text, user } from "../../../../test/fixture/raw.ts";
import { recordingOf } from "../../../../test/fixture/recording.ts";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { LaterNeeds } from "./judged-fact.ts";

const none: ReadonlySet<never> = new Set();

describe("what is needed behind a compaction", () => {
  it("is what stands in a result that a later round needs", () => {
    const recording = madeRecording([{}, { results: [9] }, {}, {}], { needed: { t1_0: [2] } });
    const needs = new LaterNeeds(recording);
    const fact = { calls: new Set([toolUseId("t1_0")]), said: undefined };
    expect([1, 2, 3].map((from) => needs.isNeeded(fact, from))).toEqual([true, true, false]);
    expect(needs.isNeeded({ calls: new Set([toolUseId("t2_0")]), said: undefined }, 0)).toBe(false);
  });

  it("is what the user said, where a later reply repeats a long line or three identifiers of it at once", async () => {
    const line = "The hands of the tower clock must be of copper, all of them.";
    const names = ["turnTheHands", "windTheSpring", "ringTheBells"];
    const raws = [
      user("u1", "Go."),
      says("a1", "m1", text(`As you said:\n${line}`)),
      user("u2", "On."),
      says("a2", "m2", text(names.slice(0, 2).join(" "))),
      user("u3", "On."),
      says("a3", "m3", text(names.join(" "))),
    ];
    const lines = raws.map((raw, at) =>
      JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw }),
    );
    const needs = new LaterNeeds(await recordingOf(bytesOf(lines)));
    const neededFrom = (said: string) => [0, 1, 2, 3].map((from) => needs.isNeeded({ calls: none, said }, from));
    expect(neededFrom(line)).toEqual([true, false, false, false]);
    expect(neededFrom(names.join(", "))).toEqual([true, true, true, false]);
    expect(neededFrom(names.slice(0, 2).join(", "))).toEqual([false, false, false, false]);
  });
});
