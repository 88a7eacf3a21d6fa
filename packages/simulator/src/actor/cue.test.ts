import { expect, it } from "vitest";
import { Cue } from "./cue.ts";

const counted = (): { cue: Cue<number>; next: () => number } => {
  let at = 0;
  return { cue: new Cue(), next: () => ++at };
};

it("deals the next slot to whoever asks while one is under way", () => {
  const { cue, next } = counted();
  expect([cue.deal(next).slot, cue.deal(next).slot]).toEqual([1, 2]);
});

it("deals a lost slot again before any new one, in order", () => {
  const { cue, next } = counted();
  const [one, two] = [cue.deal(next), cue.deal(next)];
  two.lost();
  one.lost();
  expect([cue.deal(next).slot, cue.deal(next).slot, cue.deal(next).slot]).toEqual([1, 2, 3]);
});

it("counts only the first of delivered and lost", () => {
  const { cue, next } = counted();
  const [one, two] = [cue.deal(next), cue.deal(next)];
  one.delivered();
  one.lost();
  two.lost();
  two.lost();
  expect([cue.deal(next).slot, cue.deal(next).slot]).toEqual([2, 3]);
});
