import { type FileHandle, open } from "node:fs/promises";
import { expect, it, vi } from "vitest";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

/** How often one turn has the disk sync a file. */
async function syncsInTurn(asked: { readonly flag?: string; readonly variable?: string }): Promise<number> {
  const variables = asked.variable === undefined ? {} : { PALIMPSEST_DURABILITY: asked.variable };
  const { env, work } = await agentWorld({ responder: playing(says("Hello.")) }, variables);
  const agent = await openAgent({
    env,
    cwd: work,
    version: "0.0.0",
    flags: asked.flag === undefined ? [] : [{ flag: "durability", text: asked.flag }],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: { mode: "bypass", allow: [], deny: [] },
  });
  if (agent.kind !== "agent") throw new Error(JSON.stringify(agent));
  const file = await open(process.execPath, "r");
  await file.close();
  const synced = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, "datasync");
  try {
    expect((await turn(agent, "Hello?")).at(-1)).toMatchObject({ reason: "answered" });
    return synced.mock.calls.length;
  } finally {
    synced.mockRestore();
    await agent.close();
  }
}

it("--durability says when the agent's transcript is synced, over the environment", async () => {
  expect(await syncsInTurn({ flag: "never" })).toBe(0);
  expect(await syncsInTurn({ flag: "turn" })).toBe(1);
  expect(await syncsInTurn({ flag: "always" })).toBeGreaterThan(1);
  expect(await syncsInTurn({ flag: "never", variable: "always" })).toBe(0);
  expect(await syncsInTurn({ variable: "always" })).toBeGreaterThan(1);
});
