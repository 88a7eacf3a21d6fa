import { refuseMemory } from "../../packages/cli/src/tool/memory-tool.ts";
import { expect, it } from "vitest";
import { createCompactionRequests } from "../../packages/cli/src/agent/tools/equip-session.ts";
import { foregroundOnlyJobs } from "../../packages/palimpsest/src/ports/jobs.ts";
import { forkAgents } from "../../packages/palimpsest/src/ports/agents.ts";
import { noUser } from "../../packages/palimpsest/src/ports/user-port.ts";
import { unattendedPlanMode } from "../../packages/palimpsest/src/ports/plan-mode.ts";
import type { Tool } from "../../packages/palimpsest/src/ports/tool.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { PageCache } from "../../packages/cli/src/tool/web/get-page.ts";
import { ToolServers } from "../../packages/cli/src/tool/mcp/tool-servers.ts";
import { toolNames } from "../../packages/cli/src/tool/builtin-tools.ts";
import { refuseMessages } from "../../packages/cli/src/tool/send-message-tool.ts";
import { refuseTasks } from "../../packages/cli/src/tool/task-tool.ts";
import { refuseTeam } from "../../packages/cli/src/tool/team-tool.ts";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { toolbox } from "../fixture/toolbox.ts";
import { connectTo, fakeServer, offered, serverNamed } from "../fixture/tool-servers.ts";
import { toolContract } from "./tool.ts";

const skill = {
  name: "release",
  description: "How to release.",
  allowedTools: [],
  callers: "all",
  folder: "/skills/release",
  path: "/skills/release/SKILL.md",
  body: "Tag it.",
} as const;

async function everyTool(): Promise<readonly Tool[]> {
  const servers = new ToolServers(
    {
      connect: connectTo({ a: fakeServer({ tools: [offered("echo")] }) }),
      env: {},
      hash: (text) => text,
      wait: async () => undefined,
    },
    { definitions: [serverNamed("a")], shownAnnouncement: () => "" },
  );
  await servers.settled();
  const { tools } = await toolbox({
    compactionRequests: createCompactionRequests(() => true),
    skills: { find: async () => ({ skills: [skill], problems: [] }), mayRead: () => true },
    memory: refuseMemory("off"),
    planning: unattendedPlanMode,
    jobs: foregroundOnlyJobs,
    user: "no",
    answering: noUser,
    servers,
    agents: { agents: forkAgents, types: [], places: "both" },
    teamwork: {
      messages: refuseMessages("no"),
      teamTasks: refuseTasks("no", teammateAddress("ann", "docs")),
      team: refuseTeam("no"),
    },
    web: { net: { resolve: async () => [], mayConnect: () => false }, pages: new PageCache() },
  });
  return tools;
}

const inputByTool: Readonly<Record<(typeof toolNames)[number], JsonObject>> = {
  read: { file_path: "a.txt" },
  write: { file_path: "a.txt", content: "a" },
  edit: { file_path: "a.txt", old_string: "a", new_string: "b" },
  bash: { command: "true" },
  grep: { pattern: "a" },
  glob: { pattern: "*.ts" },
  todo: { todos: [] },
  recall: { id: "toolu_0" },
  memory: { command: "view", path: "/memories" },
  compact: { note: "Go on." },
  skill: { name: "release" },
  plan: { plan: "1. Look." },
  web_fetch: { url: "https://example.com/" },
  ask_user: { questions: [{ question: "Which?", options: [{ label: "a" }, { label: "b" }] }] },
  bash_output: { job: "job_1" },
  bash_kill: { job: "job_1" },
  tool_search: { query: "echo" },
  use_tool: { server: "a", tool: "echo", input: {} },
  agent: { type: "explore", description: "find a thing", prompt: "Find it." },
  send_message: { to: "ann", message: "Hello." },
  task: { do: "list" },
  team: { do: "list" },
};

it("has every tool that there is", async () => {
  expect((await everyTool()).map(({ name }) => name)).toEqual([...toolNames]);
});

for (const name of toolNames) {
  toolContract({
    name,
    input: inputByTool[name],
    make: async () => {
      const tool = (await everyTool()).find((one) => one.name === name);
      if (tool === undefined) throw new Error(`there is no ${name}`);
      return tool;
    },
  });
}
