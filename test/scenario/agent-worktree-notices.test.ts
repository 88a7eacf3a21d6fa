import { expect, it, vi } from "vitest";
import { answering, call, callAgent, commitAll, newestInput, when } from "./support/agents-world.ts";
import { called } from "./support/called.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { agentWorld } from "./support/whole-agent.ts";

const start = (prompt: string, more = {}) =>
  callAgent({ type: "general", description: "a part", prompt, worktree: true, ...more });

const plays = [
  when("WRITE", call("write", { file_path: "b.js", content: "1" })),
  when("Begin", start("WRITE")),
  when("Behind", start("WRITE", { background: true })),
  when("Idle", start("do nothing")),
] as const;

const changesText = /its changes are in \S+palimpsest-worktrees\/agent-\w+ \(branch palimpsest\/agent-\w+\)/;

it("-p says where an agent has left its changes, and names the agent whose call was denied", async () => {
  const world = await agentWorld({ responder: answering(...plays) });
  commitAll(world);
  const env = { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: world.url, PALIMPSEST_MODEL: "claude-sonnet-5-5" };
  const print = (...args: readonly string[]) =>
    called({ home: world.home, cwd: world.work, env }, "-p", "Begin", "--output-format", "json", ...args);
  const written = await print("--permission-mode", "acceptEdits");
  expect(written.err).toMatch(changesText);
  const result: unknown = JSON.parse(written.out);
  expect(result).toMatchObject({ permission_denials: [], agent_worktrees: [{ agent: "general" }] });
  expect(written.out).toMatch(/"branch": ?"palimpsest\/agent-/);
  const denied = await print();
  const deniedResult: unknown = JSON.parse(denied.out);
  expect(deniedResult).toMatchObject({
    permission_denials: [{ tool_name: "write", tool_input: { file_path: "b.js" }, agent: "general" }],
    agent_worktrees: [],
  });
});

it.each(["Begin", "Behind"])("the chat says where an agent has left its changes: %s", async (how) => {
  const world = await agentWorld({ responder: answering(...plays) });
  commitAll(world);
  const opened = await openChat(world, { agent: { tools: { mode: "acceptEdits", allow: [], deny: [] } } });
  opened.chat.submit(how);
  await opened.chat.rest();
  await vi.waitFor(() => expect(itemsOf(opened.front.state).join("\n")).toMatch(changesText), 5_000);
});

it("an agent that changed nothing in its worktree says so to the model", async () => {
  const world = await agentWorld({ responder: answering(...plays) });
  commitAll(world);
  const opened = await openChat(world, { agent: { tools: { mode: "acceptEdits", allow: [], deny: [] } } });
  opened.chat.submit("Idle");
  await opened.chat.rest();
  expect(newestInput(world.seen.at(-1)?.body as never)).toContain("changed nothing in it");
});
