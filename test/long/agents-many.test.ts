import { expect, it } from "vitest";
import { expectNothingLeft } from "../scenario/support/many-agents.ts";

/** Of what ended agents leave in memory: a name, what it cost, lines of the session's log. */
const bytesPerAgentMax = 4_096;

it("a thousand agents in one session: memory stays flat, no handle, lock, worktree or process is left", async () => {
  const { at } = await expectNothingLeft(1_000, [100, 500, 1_000]);
  const grown = (at["1000"]?.heapBytes ?? 0) - (at["100"]?.heapBytes ?? 0);
  expect(grown, JSON.stringify(at)).toBeLessThan(900 * bytesPerAgentMax);
});
