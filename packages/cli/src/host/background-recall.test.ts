import { millis } from "palimpsest/internal/schema/brand";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BackgroundRecall } from "./background-recall.ts";
import { recallIdleMs, recallIntervalMs } from "./limits.ts";

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

function watched() {
  const threads: { end: () => void; state: "runs" | "ended" | "stopped" }[] = [];
  const recall = new BackgroundRecall({
    now: () => millis(Date.now()),
    start: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const thread = {
        state: "runs" as "runs" | "ended" | "stopped",
        end: () => {
          thread.state = "ended";
          resolve();
        },
      };
      threads.push(thread);
      return {
        ended: promise,
        stop: async () => {
          thread.state = "stopped";
          resolve();
        },
      };
    },
  });
  return { recall, threads };
}

describe("the index of a chat, in the background", () => {
  it("runs some seconds after a reply, if the chat rests as long, and without a reply never", async () => {
    const { recall, threads } = watched();
    recall.rests();
    await vi.advanceTimersByTimeAsync(10 * recallIntervalMs);
    expect(threads).toHaveLength(0);
    recall.replied();
    recall.rests();
    await vi.advanceTimersByTimeAsync(recallIdleMs - 1);
    recall.busy();
    await vi.advanceTimersByTimeAsync(10 * recallIntervalMs);
    expect(threads).toHaveLength(0);
    recall.rests();
    await vi.advanceTimersByTimeAsync(recallIdleMs);
    expect(threads).toHaveLength(1);
    threads[0]?.end();
    await vi.advanceTimersByTimeAsync(10 * recallIntervalMs);
    expect(threads).toHaveLength(1);
  });

  it("runs once in some minutes, and what came meanwhile with the next run", async () => {
    const { recall, threads } = watched();
    recall.replied();
    recall.rests();
    await vi.advanceTimersByTimeAsync(recallIdleMs);
    recall.replied();
    recall.rests();
    await vi.advanceTimersByTimeAsync(recallIntervalMs);
    expect(threads).toHaveLength(1);
    threads[0]?.end();
    await vi.advanceTimersByTimeAsync(recallIntervalMs - 1);
    expect(threads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(threads).toHaveLength(2);
  });

  it("is ended with the chat, at once", async () => {
    const { recall, threads } = watched();
    recall.replied();
    recall.rests();
    await vi.advanceTimersByTimeAsync(recallIdleMs);
    recall.replied();
    await recall.close();
    expect(threads.map(({ state }) => state)).toEqual(["stopped"]);
    recall.rests();
    await vi.advanceTimersByTimeAsync(10 * recallIntervalMs);
    expect(threads).toHaveLength(1);
  });
});
