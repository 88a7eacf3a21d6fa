import { describe, expect, it } from "vitest";
import { type PoolOptions, type RunOutcome, runPool, type PoolThread, startWorkerThread } from "./run-pool.ts";

const module = new URL("../../../../test/fixture/replay/worker.ts", import.meta.url);
const worker = (): PoolThread<number | string, number> => startWorkerThread({ module, heapMb: 32 });

async function ranOf(
  options: Partial<PoolOptions<number | string, number>>,
): Promise<Map<number | string, RunOutcome<number>>> {
  const ran = new Map<number | string, RunOutcome<number>>();
  await runPool({
    jobs: [],
    threadsMax: 2,
    start: worker,
    signal: new AbortController().signal,
    onRan: (job, one) => void ran.set(job, one),
    ...options,
  });
  return ran;
}

describe("a pool of threads", () => {
  it("runs every job once", async () => {
    const ran = await ranOf({ jobs: [1, 2, 3, 4, 5] });
    expect([...ran].toSorted(([one], [other]) => Number(one) - Number(other))).toEqual(
      [1, 2, 3, 4, 5].map((job) => [job, { kind: "answered", answer: 2 * job }]),
    );
  });

  it.each([
    { job: "throw", message: /thrown on purpose/ },
    { job: "exit", message: /ended with code 3/ },
    { job: "memory", message: /memory/ },
  ])("tells of a thread that dies ($job) with its own job, and goes on with the others", async ({ job, message }) => {
    const ran = await ranOf({ jobs: [1, job, 2, 3], threadsMax: 1 });
    expect(ran.get(job)).toEqual({ kind: "crashed", message: expect.stringMatching(message) as string });
    expect([1, 2, 3].map((one) => ran.get(one)?.kind)).toEqual(["answered", "answered", "answered"]);
  });

  it("when stopped ends what runs, tells nothing of it, and begins nothing more", async () => {
    const stop = new AbortController();
    const ran = await ranOf({
      jobs: [1, "forever", 2],
      threadsMax: 1,
      signal: stop.signal,
      start: () => {
        const thread = worker();
        return {
          ...thread,
          run: (job) => {
            if (job === "forever") setTimeout(() => stop.abort(), 50);
            return thread.run(job);
          },
        };
      },
    });
    expect([...ran.keys()]).toEqual([1]);
  });

  it("starts no more threads than it may, and none without a job", async () => {
    let started = 0;
    const start = (): PoolThread<number | string, number> => {
      started += 1;
      return { run: async () => ({ kind: "answered", answer: 0 }), close: async () => undefined };
    };
    await ranOf({ start, threadsMax: 3, jobs: [1, 2, 3, 4, 5, 6] });
    expect(started).toBe(3);
    started = 0;
    await ranOf({ start, threadsMax: 3, jobs: [] });
    expect(started).toBe(0);
  });

  it("hands jobs out in their order, one at a time to a thread", async () => {
    const begun: (number | string)[] = [];
    let running = 0;
    let runningMost = 0;
    const start = (): PoolThread<number | string, number> => ({
      run: async (job) => {
        begun.push(job);
        runningMost = Math.max(runningMost, ++running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running -= 1;
        return { kind: "answered", answer: 0 };
      },
      close: async () => undefined,
    });
    await ranOf({ start, threadsMax: 2, jobs: [5, 4, 3, 2, 1] });
    expect(begun).toEqual([5, 4, 3, 2, 1]);
    expect(runningMost).toBe(2);
  });
});
