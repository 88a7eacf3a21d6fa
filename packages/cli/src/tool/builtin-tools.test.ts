import { builtInDefinitions } from "palimpsest/internal/layers/7-agents/built-in-definitions";
import { forkAgents } from "palimpsest/internal/ports/agents";
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";
import { refusedCompactionRequests, type CompactionRequests } from "palimpsest/internal/ports/compaction-requests";
import { forkJobs } from "palimpsest/internal/ports/jobs";
import { noUser } from "palimpsest/internal/ports/user-port";
import { forkPlanMode } from "palimpsest/internal/ports/plan-mode";
import { isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { countToolTokens } from "@palimpsest/simulator/internal/prompt/count-tokens";
import { compactNoteCharsMax, definitionsTokensMax, recallCharsMax, shellTimeoutMsMax } from "./limits.ts";
import { refuseMemory } from "./memory-tool.ts";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import { refuseMessages } from "./send-message-tool.ts";
import { refuseTasks } from "./task-tool.ts";
import { refuseTeam } from "./team-tool.ts";
import { ToolServers } from "./mcp/tool-servers.ts";
import { toolNames } from "./builtin-tools.ts";
import { openNet, PageCache } from "./web/get-page.ts";

const web = { net: openNet, pages: new PageCache() };
const noServers = new ToolServers(
  { connect: async () => ({ kind: "failed", why: "" }), env: {}, hash: (text) => text, wait: async () => undefined },
  { definitions: [], shownAnnouncement: () => undefined },
);
const noSkills = { find: async () => ({ skills: [], problems: [] }), mayRead: () => true };

/** With every tool there can be. */
const fullBox = () =>
  toolbox({
    compactionRequests: refusedCompactionRequests,
    memory: refuseMemory("off"),
    skills: noSkills,
    planning: forkPlanMode,
    web,
    answering: noUser,
    jobs: forkJobs,
    servers: noServers,
    agents: { agents: forkAgents, types: builtInDefinitions, places: "both" },
    teamwork: {
      messages: refuseMessages("no"),
      teamTasks: refuseTasks("no", teammateAddress("ann", "docs")),
      team: refuseTeam("no"),
    },
  });

const wireTools = async (): Promise<readonly WireTool[]> =>
  (await fullBox()).tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));

test("the tools stand in a fixed order and their definitions are the same bytes each time", async () => {
  const [once, again] = [await wireTools(), await wireTools()];
  expect(once.map(({ name }) => name)).toEqual(toolNames);
  expect(toolNames.join(" ")).toBe(
    "read write edit bash grep glob todo recall memory compact skill plan web_fetch ask_user bash_output bash_kill tool_search use_tool agent send_message task team",
  );
  expect(JSON.stringify(again)).toBe(JSON.stringify(once));
  expect(JSON.stringify(once)).not.toMatch(/\$schema|\/tmp|\/home/);
});

test("a session without what some tools need has the others' definitions alone, to the byte", async () => {
  const { tools } = await toolbox();
  const always = ["read", "write", "edit", "bash", "grep", "glob", "todo", "recall"];
  expect(tools.map(({ name }) => name)).toEqual(always);
  const full = await wireTools();
  const bytes = tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
  // One of them has a word more where commands may run in the background.
  const others = (some: readonly WireTool[]): string => JSON.stringify(some.filter(({ name }) => name !== "bash"));
  expect(others(full.slice(0, always.length))).toBe(others(bytes));
  const isSaid = (some: readonly WireTool[]): boolean => JSON.stringify(some).includes('"background"');
  expect([isSaid(full), isSaid(bytes)]).toEqual([true, false]);
});

test("all definitions together stay small", async () => {
  const tokens = (await wireTools()).reduce((sum, tool) => sum + countToolTokens(tool), 0);
  expect(tokens).toBeGreaterThan(500);
  expect(tokens).toBeLessThanOrEqual(definitionsTokensMax);
});

test("no schema shows bounds of texts and numbers, or keys of an open object", async () => {
  const definitions = JSON.stringify(await wireTools());
  expect(definitions).not.toMatch(/"(minLength|maxLength|minimum|maximum)":|"(properties|additionalProperties)":\{\}/);
});

test.each<[string, JsonObject, string]>([
  ["bash", { command: "true", timeout_ms: shellTimeoutMsMax + 1 }, `<=${shellTimeoutMsMax}`],
  ["bash", { command: "" }, ">=1"],
  ["read", { file_path: "a", offset: 0 }, ">=1"],
  ["recall", { query: "a", limit: recallCharsMax + 1 }, `<=${recallCharsMax}`],
])("a call of %s that is out of bounds is told the bound: %j", async (name, input, bound) => {
  const called = await (await toolbox()).call(name, input);
  expect(called.kind).toBe("wrong");
  expect(called.text).toContain(bound);
});

test("every schema is an object that says what must be given", async () => {
  const required = Object.fromEntries(
    (await fullBox()).tools.map(({ name, inputSchema }) => [name, [inputSchema["type"], inputSchema["required"]]]),
  );
  expect(required).toEqual({
    read: ["object", undefined],
    write: ["object", ["file_path", "content"]],
    edit: ["object", ["file_path", "old_string", "new_string"]],
    bash: ["object", ["command"]],
    grep: ["object", ["pattern"]],
    glob: ["object", ["pattern"]],
    todo: ["object", ["todos"]],
    recall: ["object", undefined],
    memory: ["object", ["command"]],
    compact: ["object", ["note"]],
    skill: ["object", ["name"]],
    plan: ["object", undefined],
    web_fetch: ["object", ["url"]],
    ask_user: ["object", ["questions"]],
    bash_output: ["object", ["job"]],
    bash_kill: ["object", ["job"]],
    send_message: ["object", ["to", "message"]],
    task: ["object", ["do"]],
    team: ["object", ["do"]],
    tool_search: ["object", ["query"]],
    use_tool: ["object", ["server", "tool"]],
    agent: ["object", ["type", "description", "prompt"]],
  });
});

test("no object in an input takes a key that its schema does not name", async () => {
  const open = (at: Json | undefined): readonly Json[] => {
    if (isArray(at)) return at.flatMap(open);
    if (!isObject(at)) return [];
    const here = at["type"] === "object" && at["additionalProperties"] !== false ? [at] : [];
    return [...here, ...Object.values(at).flatMap(open)];
  };
  const { tools } = await fullBox();
  // What a server's tool takes only that server knows.
  const own = tools.filter(({ name }) => name !== "use_tool");
  expect(own.map(({ name, inputSchema }) => [name, open(inputSchema)])).toEqual(own.map(({ name }) => [name, []]));
});

test.each<[string, JsonObject, string]>([
  [
    "grep",
    { pattern: "x", output_mode: "content" },
    'grep: input: there is no "output_mode" here; it takes pattern, path,',
  ],
  [
    "bash",
    { command: "touch ran", timeout: 5 },
    'bash: input: there is no "timeout" here; it takes command, timeout_ms,',
  ],
  ["edit", { path: "a", old_string: "b", new_string: "c" }, "file_path, old_string, new_string, replace_all"],
  [
    "todo",
    { todos: [{ content: "a", status: "pending", id: "1" }] },
    'todos.0: there is no "id" here; it takes content, status, activeForm',
  ],
])("a key that %s does not know is told with those it knows, and nothing runs", async (name, input, words) => {
  const box = await toolbox();
  const called = await box.call(name, input);
  expect(called.kind).toBe("wrong");
  expect(called.text).toContain(words);
  expect(box.todos.list).toEqual([]);
  expect(await readdir(box.project)).toEqual([]);
});

test("what reads back is never offloaded, and only what changes nothing may run beside others", async () => {
  const { tools } = await fullBox();
  expect(tools.filter((tool) => tool.offload === "never").map(({ name }) => name)).toEqual([
    "read",
    "recall",
    "skill",
    "agent",
  ]);
  expect(tools.filter((tool) => tool.effect === "read").map(({ name }) => name)).toEqual([
    "read",
    "grep",
    "glob",
    "recall",
    "skill",
    "web_fetch",
    "bash_output",
    "tool_search",
    "agent",
  ]);
});

function asked() {
  const notes: string[] = [];
  const compactionRequests: CompactionRequests = {
    request: (note) => {
      notes.push(note);
      return { kind: "taken" };
    },
    take: () => undefined,
  };
  return { notes, compactionRequests };
}

test.each(["plan", "default"] as const)(
  "in mode %s the note waits, nobody is asked, and the answer is one line",
  async (mode) => {
    const { notes, compactionRequests } = asked();
    const box = await toolbox({ mode, compactionRequests });
    const called = await box.call("compact", { note: "  the parser is done, the tests come next\n" });
    expect(notes).toEqual(["the parser is done, the tests come next"]);
    expect(called).toMatchObject({ kind: "ran", isError: false });
    expect(called.text).toMatch(/^Compaction comes before the next request; .* behind the summary\.$/);
  },
);

test("a fork is refused in one line", async () => {
  const box = await toolbox({ compactionRequests: refusedCompactionRequests });
  expect(await box.call("compact", { note: "now" })).toMatchObject({ kind: "ran", isError: true });
  expect((await box.call("compact", { note: "now" })).text).toMatch(/^.*only the main conversation.*$/);
});

test.each([
  ["none", {}],
  ["one of blanks", { note: " \n" }],
  ["one over the limit", { note: "x".repeat(compactNoteCharsMax + 1) }],
])("a note is needed, and not %s", async (_, input) => {
  const { notes, compactionRequests } = asked();
  const box = await toolbox({ compactionRequests });
  expect(await box.call("compact", input)).toMatchObject({ kind: "wrong" });
  expect(notes).toEqual([]);
});

test("a rule can forbid it", async () => {
  const { notes, compactionRequests } = asked();
  const box = await toolbox({ compactionRequests, deny: ["compact"] });
  expect(await box.call("compact", { note: "now" })).toMatchObject({ kind: "denied" });
  expect(notes).toEqual([]);
});
