import { describe, expect, it, test } from "vitest";
import {
  type AgentDefinition,
  forkTypeName,
  mayUseTool,
  ownToolName,
  parseAgentDefinition,
  toolsForAgent,
} from "./agent-definition.ts";
import { builtInDefinitions } from "./built-in-definitions.ts";
import { definitionDescriptionCharsMax, definitionFrontCharsMax } from "./limits.ts";
import { resolveAgentModel } from "./resolve-agent-model.ts";

const source = { kind: "user", path: "/home/u/.claude/agents/reviewer.md" } as const;
const file = (head: string, body = "Review it."): string => `---\n${head}\n---\n\n${body}\n`;
const base = "name: reviewer\ndescription: Reviews changes.";

function read(text: string): { readonly definition: AgentDefinition; readonly warnings: readonly string[] } {
  const parsed = parseAgentDefinition(text, source);
  if (parsed.kind === "refused") throw new Error(parsed.why);
  return parsed;
}

describe("a definition's file", () => {
  it("has a name, a description and a prompt; everything else is its parent's", () => {
    const { definition, warnings } = read(file(base, "Review it.\n\nBe brief."));
    expect(definition).toEqual({
      name: "reviewer",
      description: "Reviews changes.",
      prompt: "Review it.\n\nBe brief.",
      source,
    });
    expect(warnings).toEqual([]);
  });

  test.each<[string, string, Partial<AgentDefinition>]>([
    [
      "tools of another agent",
      "tools: Read, Grep, TodoWrite, WebFetch",
      { tools: ["read", "grep", "todo", "web_fetch"] },
    ],
    ["tools in brackets", 'tools: ["Read", Bash]', { tools: ["read", "bash"] }],
    [
      "tools with one a line",
      "tools:\n  - Read\n  - mcp__github__get_issue",
      { tools: ["read", "mcp__github__get_issue"] },
    ],
    ["tools over several lines", "tools: [Read,\n  Glob]", { tools: ["read", "glob"] }],
    ["tools with spaces between them", "tools: Read Glob", { tools: ["read", "glob"] }],
    ["all tools", "tools: '*'", {}],
    ["tools that it may not have", "disallowedTools: Task, Write", { disallowedTools: ["agent", "write"] }],
    [
      "rules that deny",
      "disallowedTools: Bash(git push:*), Edit",
      { denyRules: ["Bash(git push:*)"], disallowedTools: ["edit"] },
    ],
    ["a model", "model: opus", { model: "opus" }],
    ["its parent's model", "model: inherit", {}],
    ["a memory", "memory: project", { memory: "project" }],
    ["a mode", "permissionMode: acceptEdits", { permissionMode: "acceptEdits" }],
    ["a colour, which is nobody's business here", "color: cyan", {}],
  ])("may name %s", (_, line, expected) => {
    const { definition, warnings } = read(file(`${base}\n${line}`));
    expect(definition).toEqual({ ...read(file(base)).definition, ...expected });
    expect(warnings).toEqual([]);
  });

  test.each<[string, string, RegExp, Partial<AgentDefinition>]>([
    ["a key that nobody knows", "colour: red", /^colour is unknown/, {}],
    ["a key of another agent", "maxTurns: 3", /^maxTurns has no effect/, {}],
    ["a key twice", "model: opus\nmodel: haiku", /^model stands in it twice/, { model: "opus" }],
    [
      "an unknown mode, which widens nothing",
      "permissionMode: dontAsk",
      /default counts/,
      { permissionMode: "default" },
    ],
    ["an unknown memory", "memory: team", /user, project or local/, {}],
    [
      "a part of a tool, which is not given as a whole",
      "tools: Read, Bash(git diff:*)",
      /^Bash\(git diff:\*\) is left out/,
      { tools: ["read"] },
    ],
    ["no tool", "tools:", /leave the line out/, { tools: [] }],
  ])("with %s is used, and that is said", (_, line, warning, expected) => {
    const { definition, warnings } = read(file(`${base}\n${line}`));
    expect(definition).toMatchObject(expected);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  test.each<[string, string, RegExp]>([
    ["front matter", "# Reviewer", /name and description between two lines of ---/],
    ["a name", file("description: x"), /add a line like `name: reviewer`/],
    ["a name that can be a folder", file("name: ../x\ndescription: x"), /letters, digits/],
    ["a name of its own", file(`name: ${forkTypeName}\ndescription: x`), /taken/],
    ["a description", file("name: x"), /says when to use it/],
    ["a prompt", file(base, " "), /what the agent is to do/],
    ["a short front matter", file(`${base}\nx: ${"y".repeat(definitionFrontCharsMax)}`), /longer than/],
  ])("without %s is refused, with what to do", (_, text, why) => {
    expect(parseAgentDefinition(text, source)).toEqual({ kind: "refused", why: expect.stringMatching(why) as unknown });
  });

  it("a description is one line of bounded length, also as programs generate it", () => {
    const { definition } = read(
      file(
        String.raw`name: a` +
          "\n" +
          String.raw`description: Use it when: asked.\n\n<example>x</example> ` +
          "y".repeat(2_000),
      ),
    );
    expect(definition.description).toMatch(/^Use it when: asked\. <example>x<\/example> y+$/);
    expect(definition.description).toHaveLength(definitionDescriptionCharsMax);
  });
});

test.each([
  ["Read", "read"],
  ["MultiEdit", "edit"],
  ["LS", "glob"],
  ["BashOutput", "bash_output"],
  ["KillShell", "bash_kill"],
  ["SendMessage", "send_message"],
  ["TaskCreate", "task_create"],
  ["Agent", "agent"],
  ["web_fetch", "web_fetch"],
  ["mcp__Linear__getIssue", "mcp__Linear__getIssue"],
])("the tool %s is %s here", (theirs, ours) => {
  expect(ownToolName(theirs)).toBe(ours);
});

describe("the tools of an agent", () => {
  const names = ["read", "write", "bash", "recall", "memory", "agent", "tool_search", "use_tool"];
  const given = (limits: Partial<AgentDefinition>): readonly string[] =>
    toolsForAgent(
      limits,
      names.map((name) => ({ name })),
    ).map(({ name }) => name);

  it("are its parent's, in the same order, if it names none", () => {
    expect(given({})).toEqual(names);
  });

  it("are those that it names and its parent has, and recall, with which cleared results come back", () => {
    expect(given({ tools: ["bash", "read", "web_fetch"] })).toEqual(["read", "bash", "recall"]);
  });

  it("are never those that it may not have", () => {
    expect(given({ tools: ["read", "bash"], disallowedTools: ["bash", "recall"] })).toEqual(["read"]);
  });

  it("have memory if it keeps one", () => {
    expect(given({ tools: ["read"], memory: "user" })).toEqual(["read", "recall", "memory"]);
  });

  it("of servers are reached through two tools, and only the named ones may be called", () => {
    const limits = {
      tools: ["read", "mcp__github__get_*", "mcp__my_docs"],
      disallowedTools: ["mcp__github__get_secret"],
    };
    expect(given(limits)).toEqual(["read", "recall", "tool_search", "use_tool"]);
    const may = (name: string): boolean => mayUseTool(limits, name);
    expect(["mcp__github__get_issue", "mcp__my_docs__find", "mcp__my_docs__a__b"].map(may)).toEqual([true, true, true]);
    expect(
      ["mcp__github__create_issue", "mcp__github__get_secret", "mcp__my_docs_2__find", "mcp__other__get_x"].map(may),
    ).toEqual([false, false, false, false]);
  });
});

describe("built-in types", () => {
  it("explore and plan have only tools that read, and plan mode; general is limited by its parent alone", () => {
    const limits = builtInDefinitions.map(({ name, tools, permissionMode }) => [
      name,
      tools?.join(" "),
      permissionMode,
    ]);
    expect(limits).toEqual([
      ["explore", "read grep glob bash recall compact", "plan"],
      ["plan", "read grep glob bash recall compact", "plan"],
      ["general", undefined, undefined],
    ]);
  });
});

test.each([
  [undefined, "claude-opus-5", "claude-opus-5"],
  ["haiku", "claude-opus-5", "claude-haiku-5-5"],
  ["Sonnet", "claude-opus-5", "claude-sonnet-5-5"],
  ["opus", "gpt-5", "gpt-5"],
  ["claude-sonnet-5", "claude-opus-5", "claude-sonnet-5"],
  ["my-own-model", "claude-opus-5", "my-own-model"],
])("the model %s of a child of %s is %s", (named, parent, expected) => {
  expect(resolveAgentModel(named, parent)).toBe(expected);
});
