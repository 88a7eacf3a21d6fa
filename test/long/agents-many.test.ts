import { expect, it } from "vitest";
import { expectNothingLeft } from "../scenario/support/many-agents.ts";

/**
 * An ended agent leaves a name, what it cost, and three lines of its session's log, each with the agents that ran then. Its own
 * session would be several times as much.
 */
const bytesPerAgentMax = 4_096;

it("a thousand agents in one session: memory stays flat, no handle, lock, worktree or process is left", async () => {
  const { at } = await expectNothingLeft(1_000, [100, 500, 1_000]);
  const grown = (at["1000"]?.heapBytes ?? 0) - (at["100"]?.heapBytes ?? 0);
  expect(grown, JSON.stringify(at)).toBeLessThan(900 * bytesPerAgentMax);
});
