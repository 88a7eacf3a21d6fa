import { globSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { model, resultsOf } from "./support/memory-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const calls = (name: string, input: JsonObject): readonly MoveBlock[] => [{ type: "tool_use", name, input }];

/** The model reads a file, searches all sessions or not, and then searches this one. */
async function recalled(...between: readonly (readonly MoveBlock[])[]): Promise<string> {
  const moves = [calls("read", { path: "lion.md" }), ...between, calls("recall", { query: "lion" })];
  const world = await agentWorld({ responder: playing(...moves, says("Done.")) });
  await writeFile(join(world.work, "lion.md"), "Lives in Leipzig.\n");
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "Where does it live?");
  await agent.close();
  const isBuilt = globSync("projects/*/recall.db", { cwd: world.home }).length > 0;
  expect(isBuilt).toBe(between.length > 0);
  return resultsOf(world.seen.at(-1) ?? expect.unreachable()).at(-1) ?? "";
}

it("a search of this session is ranked by the index if there is one, and names no session", async () => {
  const hits = await recalled(calls("recall", { query: "Leipzig", scope: "project" }));
  expect(hits).toMatch(/result toolu_\w+, of read lion\.md/);
  expect(hits).toContain("Lives in Leipzig.");
  expect(hits).not.toMatch(/\/toolu_/);
});

it("without an index it is ranked in the same way, and none is built", async () => {
  const hits = await recalled();
  expect(hits).toMatch(/result toolu_\w+, of read lion\.md/);
  expect(hits).toContain("Lives in Leipzig.");
});
