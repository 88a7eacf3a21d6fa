import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { lastRequest, times } from "./support/compaction-checks.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

const long = { type: "tool_use", name: "bash", input: { command: "seq 10000 18000" } } as const;
/** In the middle of the result: a preview has its beginning and its end. */
const middle = "14002";

async function middlesSent(world: CompactionWorld, agent: Agent): Promise<number> {
  world.worker.instead.push([long]);
  await world.turn(agent, { text: taskText(1), rounds: 1 });
  return times(lastRequest(world), middle);
}

it("9. a switch that is changed in the file stops its layer in the running session, and is in the transcript", async () => {
  const world = await compactionWorld({ windowTokens: 200_000 });
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ trustedProjects: [world.work] }));
  const agent = await world.open();
  expect(await middlesSent(world, agent)).toBe(0);
  await mkdir(join(world.work, ".palimpsest"), { recursive: true });
  await writeFile(join(world.work, ".palimpsest", "settings.json"), JSON.stringify({ flags: { offload: false } }));
  await vi.waitFor(
    () =>
      expect(
        agent.session.fold.path.entries.flatMap((entry) =>
          entry.kind === "edit" && entry.edit.type === "setting" && entry.edit.name === "flags.offload"
            ? [entry.edit.value]
            : [],
        ),
      ).toEqual([false]),
    { timeout: 10_000 },
  );
  expect(await middlesSent(world, agent)).toBe(1);
  await agent.close();
});
