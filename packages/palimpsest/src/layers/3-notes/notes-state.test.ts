import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failuresMax } from "./limits.ts";
import { isDue, isWanted, type NotesMoment, notesIdle, type NotesState, onEnd, onMoment } from "./notes-state.ts";

const rule = { firstTokens: 10_000, growthTokens: 5_000, callsMin: 3 };
const at = (contextTokens: number, calls = 0, lastReply: NotesMoment["lastReply"] = "calls"): NotesMoment => ({
  contextTokens,
  calls,
  lastReply,
});
const last = at(12_000, 4);

describe("notes are due", () => {
  const cases: readonly (readonly [string, NotesMoment | undefined, NotesMoment, boolean])[] = [
    ["not below the first size", undefined, at(9_999, 50, "no-calls"), false],
    ["at the first size, whatever was called", undefined, at(10_000), true],
    ["again after growth with three calls", last, at(17_000, 7), true],
    ["again after growth and a reply without a call", last, at(17_000, 4, "no-calls"), true],
    ["not after growth with two calls, in the middle of work", last, at(17_000, 6), false],
    ["not without growth, however many calls", last, at(16_999, 40, "no-calls"), false],
  ];
  it.each(cases)("%s", (_, before, moment, due) => {
    expect(isDue(rule, { last: before, moment })).toBe(due);
  });
});

describe("one update at a time", () => {
  const running = (): NotesState => onMoment(notesIdle(), { moment: at(10_000), rule }).state;

  it("a moment while one runs starts nothing, and is looked at when that one ends", () => {
    const during = onMoment(running(), { moment: at(16_000, 3), rule });
    expect(during.starts).toBeUndefined();
    const ended = onEnd(during.state, { outcome: "taken", rule });
    expect(ended).toMatchObject({ starts: at(16_000, 3), state: { kind: "running" } });
  });

  it("of two moments while one runs the newer counts", () => {
    const first = onMoment(running(), { moment: at(16_000, 3), rule });
    const second = onMoment(first.state, { moment: at(14_000, 3), rule });
    expect(onEnd(second.state, { outcome: "taken", rule })).toMatchObject({ state: { kind: "idle" } });
  });

  it("a kept moment that is not due starts nothing", () => {
    const during = onMoment(running(), { moment: at(12_000, 9), rule });
    expect(onEnd(during.state, { outcome: "taken", rule }).starts).toBeUndefined();
  });

  it("a failure is not followed by a try in the next round, but by one after growth", () => {
    const { state } = onEnd(running(), { outcome: "failed", rule });
    expect(onMoment(state, { moment: at(10_100, 1, "no-calls"), rule }).starts).toBeUndefined();
    expect(onMoment(state, { moment: at(15_000, 1, "no-calls"), rule }).starts).toBeDefined();
  });

  it.each([
    ["all fail", Array.from({ length: failuresMax }, () => "failed" as const), "stopped"],
    ["one in between succeeds", ["failed", "failed", "taken", "failed", "failed"] as const, "idle"],
  ])("where %s in a row, it stops or goes on", (_, outcomes, kind) => {
    let state = notesIdle();
    for (const [nth, outcome] of outcomes.entries()) {
      const begun = onMoment(state, { moment: at(10_000 * (nth + 1), 9 * nth), rule });
      expect(begun.starts).toBeDefined();
      state = onEnd(begun.state, { outcome, rule }).state;
    }
    expect(state.kind).toBe(kind);
    if (kind === "stopped") expect(onMoment(state, { moment: at(900_000, 900), rule })).toEqual({ state });
  });

  it("growth counts from where the context fell to, as behind a boundary", () => {
    const { state } = onEnd(onMoment(notesIdle(), { moment: at(150_000), rule }).state, { outcome: "taken", rule });
    const fallen = onMoment(state, { moment: at(20_000, 9), rule });
    expect(fallen.starts).toBeUndefined();
    expect(onMoment(fallen.state, { moment: at(24_999, 9), rule }).starts).toBeUndefined();
    expect(onMoment(fallen.state, { moment: at(25_000, 9), rule }).starts).toBeDefined();
  });

  it("also where it falls while one runs", () => {
    const begun = onMoment(notesIdle(), { moment: at(150_000), rule });
    const fallen = onMoment(begun.state, { moment: at(20_000, 9), rule });
    const { state } = onEnd(fallen.state, { outcome: "taken", rule });
    expect(onMoment(state, { moment: at(25_000, 12), rule }).starts).toBeDefined();
  });

  it("whatever happens, the next starts only after the one before has ended, and none without growth or unannounced", () => {
    const moment = fc.record({
      contextTokens: fc.integer({ min: 0, max: 60_000 }),
      calls: fc.integer({ min: 0, max: 40 }),
      lastReply: fc.constantFrom("calls" as const, "no-calls" as const),
    });
    const step = fc.oneof(moment, fc.constantFrom("taken" as const, "failed" as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state = notesIdle();
        let lowest: number | undefined;
        let flying = 0;
        let wanted = false;
        for (const one of steps) {
          if (typeof one === "string" && state.kind !== "running") continue;
          if (typeof one !== "string" && lowest !== undefined) lowest = Math.min(lowest, one.contextTokens);
          if (typeof one !== "string") wanted = isWanted(state, { moment: one, rule });
          const startsAtOnce = typeof one !== "string" && state.kind === "idle" && wanted;
          const next =
            typeof one === "string" ? onEnd(state, { outcome: one, rule }) : onMoment(state, { moment: one, rule });
          if (typeof one === "string") flying -= 1;
          if (startsAtOnce) expect(next.starts).toBeDefined();
          if (next.starts !== undefined) {
            expect(wanted).toBe(true);
            flying += 1;
            const least = lowest === undefined ? rule.firstTokens : lowest + rule.growthTokens;
            expect(next.starts.contextTokens).toBeGreaterThanOrEqual(least);
            lowest = next.starts.contextTokens;
          }
          ({ state } = next);
          expect(flying).toBe(state.kind === "running" ? 1 : 0);
        }
      }),
    );
  });

  it("an end without a beginning is a bug", () => {
    expect(() => onEnd(notesIdle(), { outcome: "taken", rule })).toThrow("never began");
  });
});
