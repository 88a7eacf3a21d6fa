import { describe, expect, it } from "vitest";
import { millis } from "../../schema/brand.ts";
import { type DreamFacts, type DreamStep, isLongEnoughAgo, nextDreamStep } from "./plan.ts";

const now = millis(Date.UTC(2026, 10, 17));
const hours = (count: number) => millis(now - count * 60 * 60_000);
const minutes = (count: number) => millis(now - count * 60_000);
const rule = { hoursMin: 24, sessionsMin: 5 };
const facts: DreamFacts = { rule, now, scannedAt: undefined };
const closed = (gate: Extract<DreamStep, { kind: "closed" }>["gate"]): DreamStep => ({ kind: "closed", gate });

describe("the gates of a dream", () => {
  const rows: readonly (readonly [string, DreamFacts, DreamStep])[] = [
    ["off: nothing is looked up", { ...facts, rule: undefined }, closed("off")],
    ["first the time of the last one is looked up", facts, { kind: "look", up: "last" }],
    ["23 hours are too soon", { ...facts, lastAt: hours(23) }, closed("too-soon")],
    ["too soon counts before the sessions", { ...facts, lastAt: hours(23), sessions: 9 }, closed("too-soon")],
    ["24 hours are enough", { ...facts, lastAt: hours(24) }, { kind: "look", up: "sessions" }],
    ["none yet is long enough ago", { ...facts, lastAt: "never" }, { kind: "look", up: "sessions" }],
    [
      "sessions are not counted again after 9 minutes",
      { ...facts, lastAt: hours(30), scannedAt: minutes(9) },
      closed("scanned"),
    ],
    ["but after 10", { ...facts, lastAt: hours(30), scannedAt: minutes(10) }, { kind: "look", up: "sessions" }],
    ["four other sessions are too few", { ...facts, lastAt: "never", sessions: 4 }, closed("few-sessions")],
    ["five are enough", { ...facts, lastAt: "never", sessions: 5 }, { kind: "open" }],
    ["a count that was just made counts", { ...facts, lastAt: "never", scannedAt: now, sessions: 5 }, { kind: "open" }],
    [
      "a rule of its own",
      { ...facts, rule: { hoursMin: 1, sessionsMin: 1 }, lastAt: hours(1), sessions: 1 },
      { kind: "open" },
    ],
  ];
  it.each(rows)("%s", (_, given, step) => {
    expect(nextDreamStep(given)).toEqual(step);
  });

  it("don't wait for a time that a clock left far in the future", () => {
    expect(isLongEnoughAgo(hours(-500), { now, rule })).toBe(true);
    expect(isLongEnoughAgo(hours(-1), { now, rule })).toBe(false);
  });
});
