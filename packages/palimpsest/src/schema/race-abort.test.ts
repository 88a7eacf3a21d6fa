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

it("an abort right after the answer is ignored, also if it would fail: nobody could catch that", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const abort = new AbortController();
  const answer = Promise.resolve(1);
  const raced = raceAbort(answer, { signal: abort.signal, instead: late });
  await answer;
  abort.abort();
  expect(await raced).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
