import { it } from "vitest";
import { expectNothingLeft } from "./support/many-agents.ts";

it("40 agents in one session (a thousand in the long run): no handle, lock, worktree or process is left", async () => {
  await expectNothingLeft(40, [16, 40]);
});
