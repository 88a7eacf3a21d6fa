import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { pendingApprovals } from "../../packages/cli/src/settings/defined-servers.ts";
import type { ApprovalPrompt, ServerDecision } from "../../packages/cli/src/tui/dialog/trust-dialog.ts";
import { connectTo, fakeServer, offered } from "../fixture/tool-servers.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const use = { type: "tool_use", name: "use_tool", input: { server: "a", tool: "go" } } as const;

async function project(): Promise<AgentWorld> {
  const world = await agentWorld({ responder: playing([use], says("Done.")) });
  await writeFile(join(world.work, ".mcp.json"), JSON.stringify({ mcpServers: { a: { command: "a-program" } } }));
  return world;
}

/** A chat whose person answers each server so. */
async function chatOf(world: AgentWorld, answer: ServerDecision) {
  const workspace = openWorkspace({ env: world.env, cwd: world.work });
  const server = fakeServer({ tools: [offered("go")] });
  const asked: ApprovalPrompt[] = [];
  const chat = await openChat(world, {
    agent: { connectServer: connectTo({ a: server }), tools: { allow: ["mcp__a"], deny: [] } },
    deps: {
      approvals: {
        pending: async () => pendingApprovals(await workspace.servers()),
        approve: (approvals) => workspace.approveServers(approvals),
        refuse: (approvals) => workspace.refuseServers(approvals),
      },
    },
    front: {
      approve: (ask) => {
        asked.push(ask);
        return Promise.resolve(ask.servers.map(() => answer));
      },
    },
  });
  return { chat, server, asked };
}

describe("servers of a project's .mcp.json in a chat", () => {
  it("are asked about with what would run; once allowed, their tools are there in the same chat and in the next", async () => {
    const world = await project();
    const { chat, server, asked } = await chatOf(world, "allow");
    expect(asked.map(({ servers }) => servers)).toMatchObject([
      [{ name: "a", runs: { kind: "program", command: "a-program", args: [] } }],
    ]);
    await expect.poll(() => itemsOf(chat.front.state).at(-1)).toContain("a: started, 1 tool");
    chat.chat.submit("Go.");
    await chat.chat.rest();
    expect(server.connected).toBe(1);
    expect(JSON.stringify(world.seen.at(-1)?.body)).toContain("did go");
    await chat.left();
    const next = await chatOf(world, "later");
    expect(next.asked).toEqual([]);
    expect(next.server.connected).toBe(1);
  });

  it("not now: nothing of them is started, the model has no tool for them, and the next chat asks again", async () => {
    const world = await project();
    const { chat, server } = await chatOf(world, "later");
    chat.chat.submit("Go.");
    await chat.chat.rest();
    expect(server.connected).toBe(0);
    expect(JSON.stringify(world.seen[0]?.body["tools"])).not.toContain("use_tool");
    expect(itemsOf(chat.front.state).join("\n")).toContain("MCP server a is not started");
    await chat.left();
    expect((await chatOf(world, "later")).asked).toHaveLength(1);
  });

  it("never: they are neither started nor asked about again, until their definition is another", async () => {
    const world = await project();
    const first = await chatOf(world, "never");
    expect(first.asked).toMatchObject([{ refusals: "kept" }]);
    const approval = first.asked[0]?.servers[0]?.approval ?? "no server was asked about";
    const told = itemsOf(first.chat.front.state).join("\n");
    expect(told).toContain(`a: refused, and not asked about again`);
    expect(told).toContain(`take ${approval.slice(0, 8)}… out of refusedMcpServers`);
    await first.chat.left();
    const second = await chatOf(world, "allow");
    expect([second.asked, second.server.connected]).toEqual([[], 0]);
    expect(itemsOf(second.chat.front.state).join("\n")).not.toContain("not started");
    await second.chat.left();
    const servers = await openWorkspace({ env: world.env, cwd: world.work }).servers();
    expect(servers.servers.map(({ leave }) => leave)).toEqual(["refused"]);
    await writeFile(join(world.work, ".mcp.json"), JSON.stringify({ mcpServers: { a: { command: "another" } } }));
    expect((await chatOf(world, "later")).asked).toHaveLength(1);
  });
});
