import { it } from "vitest";
import { expectNothingLeft } from "./support/many-agents.ts";

it("24 agents in one session (a thousand in the long run): no handle, lock, worktree or process is left", async () => {
  await expectNothingLeft(24, [8, 24]);
});
