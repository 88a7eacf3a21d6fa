import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { draftSaveMillis, idleNotificationMillis, jobsPollMillis } from "./limits.ts";
import { ChatTimers } from "./chat-timers.ts";

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

function watched() {
  const did: string[] = [];
  const jobs = { left: 0 };
  const watches = new ChatTimers({
    idle: () => void did.push("idle"),
    typed: () => void did.push("typed"),
    jobs: () => {
      did.push("jobs");
      return (jobs.left -= 1) > 0 ? "some-run" : "none";
    },
  });
  return { did, jobs, watches };
}

describe("what a chat does by the clock", () => {
  test("the user is called once the prompt has been idle for long, not when work came meanwhile", () => {
    const { did, watches } = watched();
    watches.idle();
    vi.advanceTimersByTime(idleNotificationMillis - 1);
    watches.busy();
    vi.advanceTimersByTime(2 * idleNotificationMillis);
    expect(did).toEqual([]);
    watches.idle();
    vi.advanceTimersByTime(2 * idleNotificationMillis);
    expect(did).toEqual(["idle"]);
  });

  test("what is typed is kept at most once a second", () => {
    const { did, watches } = watched();
    for (let key = 0; key < 100; key += 1) watches.typed();
    vi.advanceTimersByTime(draftSaveMillis);
    expect(did).toEqual(["typed"]);
    watches.typed();
    vi.advanceTimersByTime(draftSaveMillis);
    expect(did).toEqual(["typed", "typed"]);
  });

  test("jobs are looked at while some run, and never again", () => {
    const { did, jobs, watches } = watched();
    jobs.left = 3;
    watches.jobs();
    watches.jobs();
    vi.advanceTimersByTime(10 * jobsPollMillis);
    expect(did).toEqual(["jobs", "jobs", "jobs"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("nothing is left when it is closed", () => {
    const { watches } = watched();
    watches.idle();
    watches.typed();
    watches.jobs();
    watches.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
