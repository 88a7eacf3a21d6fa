import { expect, it } from "vitest";
import { raceAbort } from "./race-abort.ts";

const never = new Promise<never>(() => {});
const late = (): never => {
  throw new Error("too late");
};

it("an answer that comes in time is the answer, and so is its failure", async () => {
  const { signal } = new AbortController();
  expect(await raceAbort(Promise.resolve(1), { signal, instead: late })).toBe(1);
  await expect(raceAbort(Promise.reject(new Error("no")), { signal, instead: late })).rejects.toThrow("no");
});

it("does not wait for a task that ignores the abort, also if the signal was aborted before", async () => {
  const abort = new AbortController();
  const waiting = raceAbort(never, { signal: abort.signal, instead: () => "left" });
  abort.abort();
  expect(await waiting).toBe("left");
  expect(await raceAbort(never, { signal: abort.signal, instead: () => "left" })).toBe("left");
  await expect(raceAbort(never, { signal: abort.signal, instead: late })).rejects.toThrow("too late");
});
