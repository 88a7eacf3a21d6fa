import { expect, it } from "vitest";
import { RetryQueue } from "./responder.ts";

const counted = (): { cue: RetryQueue<number>; next: () => number } => {
  let at = 0;
  return { cue: new RetryQueue(), next: () => ++at };
};

it("deals the next slot to whoever asks while one is under way", () => {
  const { cue, next } = counted();
  expect([cue.issue(next).slot, cue.issue(next).slot]).toEqual([1, 2]);
});

it("deals a lost slot again before any new one, in order", () => {
  const { cue, next } = counted();
  const [one, two] = [cue.issue(next), cue.issue(next)];
  two.lost();
  one.lost();
  expect([cue.issue(next).slot, cue.issue(next).slot, cue.issue(next).slot]).toEqual([1, 2, 3]);
});

it("counts only the first of delivered and lost", () => {
  const { cue, next } = counted();
  const [one, two] = [cue.issue(next), cue.issue(next)];
  one.delivered();
  one.lost();
  two.lost();
  two.lost();
  expect([cue.issue(next).slot, cue.issue(next).slot]).toEqual([2, 3]);
});
