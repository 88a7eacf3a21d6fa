import { describe, expect, it } from "vitest";
import { getPreset } from "palimpsest/internal/policy/policy-catalogue";
import {
  headerTokensMade as header,
  type MadeRound,
  madeRecording,
} from "../../../../test/fixture/replay/made-recording.ts";
import { createReplayWorld } from "../replay-world.ts";
import { countCoverage, recordTurns, replayExtractions, type TurnRecord } from "./replay-extraction.ts";

/** The usual prices. */
const [read, output] = [0.1, 5];
const [directive, requests] = [2_000, 1.2];
const reply = 50;

const record = (rounds: readonly MadeRound[]) =>
  recordTurns(createReplayWorld(madeRecording(rounds)), { policy: getPreset("palimpsest"), lifetime: "5m" });

describe("the turns of a replay", () => {
  it("end with a reply without a call, and quote a fork that reads the cache and pays for the rest", async () => {
    const records = await record([{}, { said: 300 }, { results: [1_000] }, {}]);
    expect(
      records?.turns.map(({ round, ended, said, tokens }) => ({ round, ended, said: said.length, tokens })),
    ).toEqual([
      { round: 0, ended: "completely", said: 1, tokens: 100 + reply },
      { round: 2, ended: "completely", said: 1, tokens: 300 + reply + 30 + 1_000 + reply },
      { round: 3, ended: "completely", said: 1, tokens: 20 + reply },
    ]);
    expect(records?.turns[0]?.forkCost).toBeCloseTo(read * (header + 100) + reply + directive, 6);
  });

  it("cost the conversation nothing, however many forks are quoted", async () => {
    const records = await record([{}, { said: 300 }]);
    const [first, second] = [header + 100, header + 100 + reply + 300];
    expect(records?.cost).toBeCloseTo(1.25 * second + read * first, 6);
  });
});

const turn = (more: Partial<TurnRecord>): TurnRecord => ({
  round: 0,
  ended: "completely",
  said: ["carry on"],
  tokens: 3_000,
  forkCost: 5_000,
  ...more,
});
const correction = "No, use tabs.";
const session = (...turns: readonly Partial<TurnRecord>[]) => ({
  turns: turns.map((more, at) => turn({ round: 4 * at, ...more })),
  outputRate: output,
});

describe("extractions of a replay", () => {
  it("run when the engine's rule says so, and begin after the last one", () => {
    const talk = session({}, {}, { said: [correction] }, {}, {});
    const after = (rule: Parameters<typeof replayExtractions>[0]) =>
      replayExtractions(rule, talk).map(({ cause, from, after: last }) => `${cause} ${from}-${last}`);
    expect(after({ turnsMax: 5, everyTurns: 2 })).toEqual(["turns 0-1", "turns 2-3"]);
    expect(after({ turnsMax: 5, corrections: "at-once", atEnd: "while-warm" })).toEqual(["correction 0-2", "end 3-4"]);
    expect(after({ turnsMax: 5, growthTokens: 8_000 })).toEqual(["growth 0-2"]);
  });

  it("cost more if there is something to write", () => {
    const [found, nothing] = replayExtractions(
      { turnsMax: 5, everyTurns: 1 },
      session({ said: [correction] }, { said: ["go on"] }),
    );
    expect(found?.cost).toBeCloseTo(requests * 5_000 + output * 400, 6);
    expect(nothing?.cost).toBeCloseTo(requests * 5_000 + output * 20, 6);
  });

  it("do not run after a turn that the recording cuts off, except at its end", () => {
    const cut = session({}, { ended: "cut" });
    expect(replayExtractions({ turnsMax: 5, everyTurns: 2 }, cut)).toEqual([]);
    expect(replayExtractions({ turnsMax: 5, atEnd: "while-warm" }, cut)).toHaveLength(1);
  });

  it("cover what was said since the one before", () => {
    const talk = session({ said: ["x"] }, {}, { said: ["x", correction] }, {}, { said: ["x"] });
    const matters = (message: string): boolean => message === "x";
    const extractions = replayExtractions({ turnsMax: 5, corrections: "at-once", atEnd: "while-warm" }, talk);
    expect(countCoverage(talk, { extractions, matters })).toEqual({ messages: 3, soon: 3, beforeEnd: 2, ever: 3 });
    const late = { ...talk, turns: talk.turns.map((one, at) => ({ ...one, round: 20 * at })) };
    expect(countCoverage(late, { extractions, matters })).toEqual({ messages: 3, soon: 2, beforeEnd: 2, ever: 3 });
    expect(countCoverage(talk, { extractions: [], matters })).toEqual({ messages: 3, soon: 0, beforeEnd: 0, ever: 0 });
  });
});
