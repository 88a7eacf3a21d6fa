import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { PermissionPrompt, UserPort } from "../../packages/palimpsest/src/ports/user-port.ts";
import { allSent, answering, call, callAgent, commitAll, defineType, openWith, when } from "./support/agents-world.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const start = (prompt: string, more = {}) => callAgent({ type: "general", description: "a part", prompt, ...more });

const write = call("write", { file_path: "b.js", content: "1" });

/** Allows what an agent asks for good, and denies the main conversation everything. */
const trustingAgents = (asked: PermissionPrompt[]): UserPort => ({
  permission: async (prompt) => {
    asked.push(prompt);
    return prompt.reason.startsWith("The agent ")
      ? { kind: "always", rules: prompt.suggestedRules ?? [], scope: "project" }
      : { kind: "denied" };
  },
  question: async () => ({ kind: "nobody" }),
});

describe("a rule that the user grants to an agent", () => {
  test.each([["WRITE"], ["NEST"]])(
    "in a worktree counts for it and its own agents, not for its parent: %s",
    async (how) => {
      const world = await agentWorld({
        responder: answering(
          when("WRITE", write, call("write", { file_path: "b.js", content: "2" })),
          when("NEST", start("WRITE")),
          when("Begin", start(how, { worktree: true })),
          when("Itself", write),
        ),
      });
      commitAll(world);
      const asked: PermissionPrompt[] = [];
      const agent = await openWith(world, {
        tools: { mode: "default", allow: [], deny: [] },
        user: trustingAgents(asked),
      });
      await turn(agent, "Begin");
      expect(asked).toMatchObject([{ suggestedRules: ["Edit(/b.js)"], ruleScope: "agent" }]);
      expect(await exists(join(agent.agents?.list()[0]?.worktree?.path ?? "", "b.js"))).toBe(true);
      await turn(agent, "Itself");
      expect(asked).toHaveLength(2);
      expect(await exists(join(world.work, "b.js"))).toBe(false);
      await agent.close();
    },
  );

  test("in the project's own folder counts for the session", async () => {
    const world = await agentWorld({
      responder: answering(when("WRITE", write), when("Begin", start("WRITE")), when("Itself", write)),
    });
    const asked: PermissionPrompt[] = [];
    const agent = await openWith(world, {
      tools: { mode: "default", allow: [], deny: [] },
      user: trustingAgents(asked),
    });
    await turn(agent, "Begin");
    expect(asked[0]?.ruleScope).toBeUndefined();
    await turn(agent, "Itself");
    expect(asked).toHaveLength(1);
    await agent.close();
  });
});

describe("a call that needs an answer where nobody can be asked", () => {
  test.each<[string, object]>([
    ["of an agent in the background", { background: true }],
    ["of an agent without a user", {}],
  ])("%s is denied in so many words, and counted", async (_, more) => {
    const world = await agentWorld({
      responder: answering(when("WRITE", write), when("Begin", start("WRITE", more))),
    });
    const user = "background" in more ? { user: trustingAgents([]) } : {};
    const agent = await openWith(world, { tools: { mode: "default", allow: [], deny: [] }, ...user });
    await turn(agent, "Begin");
    await vi.waitFor(() => expect(agent.agents?.list()[0]?.state.kind).toBe("ended"), 5_000);
    const [run] = agent.agents?.list() ?? [];
    const told = allSent(world.seen);
    expect(told).toMatch(
      /This call was denied, because it needs the user's approval: it would change \S+b\.js\. Nobody/,
    );
    expect(run?.usage).toMatchObject({ calls: 1, denied: 1 });
    expect(run?.denials).toMatchObject([{ tool: "write", input: { file_path: "b.js" } }]);
    expect(run?.state.kind === "ended" && run.state.report).toContain("\n1 call was denied:");
    await agent.close();
  });
});

describe("a type in plan mode with a memory", () => {
  test.each([
    ["default", true],
    ["plan", false],
  ] as const)("saves in it, but changes nothing of the project; its parent is in mode %s", async (mode, saved) => {
    const world = await agentWorld({
      responder: answering(
        when(
          "SAVE",
          call("memory", {
            command: "create",
            path: "/memories/a.md",
            file_text: "---\nname: a\ndescription: a\ntype: project\n---\n\na\n",
          }),
          write,
        ),
        when("Begin", callAgent({ type: "reviewer", description: "a part", prompt: "SAVE" })),
      ),
    });
    await defineType(world, "reviewer", "memory: project\npermissionMode: plan");
    const agent = await openWith(world, { tools: { mode, allow: [], deny: [] } });
    await turn(agent, "Begin");
    expect(agent.agents?.list()[0]?.usage).toMatchObject({ calls: 2, denied: saved ? 1 : 2 });
    expect(await exists(join(world.work, ".palimpsest/agent-memory/reviewer/a.md"))).toBe(saved);
    expect(await exists(join(world.work, "b.js"))).toBe(false);
    await agent.close();
  });
});
