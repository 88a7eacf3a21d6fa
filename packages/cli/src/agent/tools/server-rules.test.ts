import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { connectTo, fakeServer } from "../../../../../test/fixture/tool-servers.ts";
import { playing } from "../../../../../test/scenario/support/simulated.ts";
import { agentWorld } from "../../../../../test/scenario/support/whole-agent.ts";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { ServerStart } from "palimpsest/internal/ports/tool-server";
import { openWorkspace } from "../../host/workspace.ts";
import { pendingApprovals } from "../../settings/defined-servers.ts";
import { openAgent } from "../open-agent.ts";

test("a project's server that starts again gets added deny rules, and keeps those removed meanwhile", async () => {
  const { home, work, env } = await agentWorld({ responder: playing() });
  const [first, second] = [join(work, "first"), join(work, "second")];
  await mkdir(home);
  await Promise.all([first, second].map((path) => writeFile(path, "secret")));
  await writeFile(join(work, ".mcp.json"), JSON.stringify({ mcpServers: { a: { command: "a" } } }));
  const pending = pendingApprovals(await openWorkspace({ env, cwd: work }).servers());
  const approvedMcpServers = pending.map(({ approval }) => approval);
  const denyInSettings = (rule: string) =>
    writeFile(join(home, "settings.json"), JSON.stringify({ approvedMcpServers, permissions: { deny: [rule] } }));
  await denyInSettings("Read(first)");

  let hidden: readonly string[] = [];
  const sandbox: SandboxSearchOutcome = {
    kind: "found",
    sandbox: {
      system: "bubblewrap",
      enter: async (start, limits) => {
        hidden = limits.hidden;
        return { kind: "ready", start, leave: async () => undefined };
      },
    },
  };
  let enter: ServerStart["enter"];
  const agent = await openAgent({
    env,
    cwd: work,
    version: "0.0.0",
    flags: [],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: { allow: [], deny: [] },
    sandbox,
    connectServer: (start) => {
      enter = start.enter;
      return connectTo({ a: fakeServer() })(start);
    },
  });
  if (agent.kind !== "agent") throw new Error(JSON.stringify(agent));
  onTestFinished(() => agent.close());
  await agent.serversSettled();
  const start = async () => await enter?.({ program: "a", args: [], cwd: work, env: {} });
  await start();
  expect(hidden).toContain(first);

  await denyInSettings("Read(second)");
  await vi.waitFor(async () => {
    await start();
    expect(hidden).toContain(second);
  }, 5_000);
  expect(hidden).toContain(first);
});
