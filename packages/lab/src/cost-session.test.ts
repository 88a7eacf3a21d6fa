import { describe, expect, it } from "vitest";
import {
  callTokens,
  madeRecording,
  type MadeOptions,
  type MadeRound,
  markerTokens,
} from "../../../test/fixture/replay/made-recording.ts";
import { usualRates } from "palimpsest/internal/cache/cache-rates";
import { type CostSessionInput, buildCostSession } from "./cost-session.ts";

const minute = 60_000;
interface Given extends MadeOptions, Partial<Pick<CostSessionInput, "lifetime" | "thinking" | "windowTokens">> {}

const sessionOf = (rounds: readonly MadeRound[], { lifetime = "5m", thinking = "kept", ...given }: Given = {}) =>
  buildCostSession({
    recording: madeRecording(rounds, given),
    lifetime,
    rates: usualRates[lifetime],
    markerTokens,
    thinking,
    ...(given.windowTokens === undefined ? {} : { windowTokens: given.windowTokens }),
  });

describe("a recording reduced to what money depends on", () => {
  it("has what is new in each request: what was said since, the reply before it among it", () => {
    expect(sessionOf([{ reply: 70 }, { said: 300 }]).rounds).toEqual([
      { cold: true, otherTokens: 100, resultTokens: [] },
      { cold: false, otherTokens: 70 + 300, resultTokens: [] },
    ]);
  });

  it("splits a result into what clearing it takes off and the marker that stays", () => {
    expect(sessionOf([{}, { results: [900, 500] }]).rounds[1]).toEqual({
      cold: false,
      otherTokens: 50 + 2 * callTokens + 2 * markerTokens,
      resultTokens: [900 - markerTokens, 500 - markerTokens],
    });
  });

  it.each<[string, readonly number[], MadeOptions]>([
    ["saves too little", [markerTokens + 99], {}],
    ["can't be had again", [5_000], { tool: "AskUserQuestion" }],
  ])("counts a result as other where it %s", (_, results, options) => {
    const { otherTokens, resultTokens } = sessionOf([{}, { results }], options).rounds[1] ?? {};
    expect(resultTokens).toEqual([]);
    expect(otherTokens).toBe(50 + callTokens + (results[0] ?? 0));
  });

  it.each([
    ["5m", 5 * minute, true],
    ["5m", 5 * minute - 1, false],
    ["1h", 5 * minute, false],
    ["1h", 60 * minute, true],
  ] as const)("is cold at %s after %i ms: %s", (lifetime, afterMillis, cold) => {
    expect(sessionOf([{}, { afterMillis }], { lifetime }).rounds[1]?.cold).toBe(cold);
  });

  it("has a shared header in cold rounds only: in warm ones all of it is cached", () => {
    const shared = { cacheEvents: ["header-shared"] } as const;
    const rounds = [shared, shared, { afterMillis: 5 * minute }, { ...shared, afterMillis: 5 * minute }];
    expect(sessionOf(rounds, { sharedTokens: 700 }).rounds.map(({ sharedTokens }) => sharedTokens)).toEqual([
      700,
      undefined,
      undefined,
      700,
    ]);
  });

  it("has thinking only where it is kept", () => {
    const rounds: readonly MadeRound[] = [{ thinking: 400 }, { said: 1 }];
    expect(sessionOf(rounds).rounds[1]?.otherTokens).toBe(451);
    expect(sessionOf(rounds, { thinking: "left-out" }).rounds[1]?.otherTokens).toBe(51);
  });

  it("has the stand-in compaction, the header and the window", () => {
    expect(sessionOf([{}], { windowTokens: 200_000, headerTokens: 7 })).toMatchObject({
      headerTokens: 7,
      windowTokens: 200_000,
      staleAfterRounds: 3,
      compaction: { leavesTokens: 11_000, outputTokens: 3_000 },
    });
    expect(sessionOf([{}]).windowTokens).toBeUndefined();
  });
});
