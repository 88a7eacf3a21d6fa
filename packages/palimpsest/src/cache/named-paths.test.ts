import { expect, it } from "vitest";
import { cpuMillis } from "../../../../test/fixture/cpu-millis.ts";
import { findPaths, isNamed } from "./named-paths.ts";

it.each([
  ["Look at src/cache/inventory.ts.", ["src/cache/inventory.ts"]],
  ["inventory.test.ts fails", ["inventory.test.ts"]],
  ["@./lib/a.ts, ~/b.ts and ../c.ts", ["lib/a.ts", "b.ts", "c.ts"]],
  ["what is in .env?", [".env"]],
  ["It stops. Why? 1.5 times...", ["1.5"]],
])("%s names %j", (text, expected) => {
  expect(findPaths(text)).toEqual(expected);
});

it("a path is named by its end, at a folder", () => {
  expect(isNamed("/tower/src/clock.ts", ["src/clock.ts"])).toBe(true);
  expect(isNamed("/tower/src/o-clock.ts", ["clock.ts"])).toBe(false);
  expect(isNamed(undefined, ["clock.ts"])).toBe(false);
});

it("a word as long as a message may be costs no more than reading it", () => {
  const started = cpuMillis();
  findPaths("a".repeat(20_000));
  findPaths("a/".repeat(10_000));
  expect(cpuMillis() - started).toBeLessThan(100);
});
