import { expect, test } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { forkRefusal, type MemoryCommandInput, refuseMemory } from "./memory-tool.ts";

function recorder() {
  const commands: MemoryCommandInput[] = [];
  const run = async (command: MemoryCommandInput) => {
    commands.push(command);
    return { text: "ok", isError: false };
  };
  return { commands, memory: { run } };
}

const create = { command: "create", path: "/memories/a.md", file_text: "a" };

test.each<[string, JsonObject, string]>([
  ["view without a path", { command: "view" }, "view needs path"],
  ["create without a text", { command: "create", path: "/memories/a.md" }, "create needs file_text"],
  ["str_replace without the old text", { command: "str_replace", path: "/memories/a.md" }, "needs old_str"],
  ["insert", { command: "insert", path: "/memories/a.md" }, "needs insert_line and insert_text"],
  ["rename", { command: "rename", path: "/memories/a.md" }, "needs old_path and new_path"],
  ["another command", { command: "append", path: "/memories/a.md" }, "command"],
])("%s is told what is missing, and nothing runs", async (_, input, words) => {
  const { commands, memory } = recorder();
  const called = await (await toolbox({ memory })).call("memory", input);
  expect(called.kind).toBe("wrong");
  expect(called.text).toContain(words);
  expect(commands).toEqual([]);
});

test.each(["default", "acceptEdits", "bypass"] as const)("in mode %s nobody is asked about memories", async (mode) => {
  const { commands, memory } = recorder();
  const called = await (await toolbox({ memory, mode })).call("memory", create);
  expect(called).toMatchObject({ kind: "ran", isError: false, outcome: { summary: "create /memories/a.md" } });
  expect(commands).toEqual([create]);
});

test("in plan mode memories are looked at and not changed", async () => {
  const { commands, memory } = recorder();
  const box = await toolbox({ memory, mode: "plan" });
  expect(await box.call("memory", create)).toMatchObject({ kind: "denied" });
  expect(await box.call("memory", { command: "view", path: "/memories" })).toMatchObject({ kind: "ran" });
  expect(commands).toHaveLength(1);
});

test.each(["memory", "Memory"])("the rule %s denies it, in any mode", async (rule) => {
  const { commands, memory } = recorder();
  const box = await toolbox({ memory, deny: [rule] });
  expect(await box.call("memory", create)).toMatchObject({ kind: "denied" });
  expect(commands).toEqual([]);
});

test.each<[string, JsonObject]>([
  ["write", { file_path: "memory/a.md", content: "x" }],
  ["bash", { command: "echo x > memory/a.md" }],
  ["bash", { command: "rm -r memory/a.md" }],
])("no mode and no rule lets %s change the folder of memories: %j", async (name, input) => {
  const box = await toolbox({ mode: "bypass", allow: ["Edit", "Bash"], closed: ["memory"] });
  const called = await box.call(name, input);
  expect(called.kind).toBe("denied");
  expect(called.text).toContain("tool memory");
});

test.each<[string, JsonObject]>([
  ["write", { file_path: "home/projects/other/memory/a.md", content: "x" }],
  ["bash", { command: "echo x > home/projects/other/memory/a.md" }],
  ["bash", { command: "cp -r evil/. home/projects/other/" }],
  ["bash", { command: "cp -r evil home/projects" }],
  ["bash", { command: "rm -r home/projects/other/.memory-sessions" }],
])("nor that of any project, also if the session has no memory: %s %j", async (name, input) => {
  const box = await toolbox({ mode: "bypass", allow: ["Edit", "Bash"], projects: ["home/projects"] });
  const called = await box.call(name, input);
  expect(called.kind).toBe("denied");
  expect(called.text).toContain("tool memory");
});

test("what else lies in a project's folder can be written", async () => {
  const box = await toolbox({ mode: "bypass", projects: ["home/projects"] });
  const called = await box.call("write", { file_path: "home/projects/other/plan.md", content: "x" });
  expect(called.kind).toBe("ran");
});

test("a fork keeps the definition and is refused", async () => {
  const { memory } = recorder();
  const [own, fork] = [await toolbox({ memory }), await toolbox({ memory: refuseMemory(forkRefusal) })];
  const definition = ({ tools }: typeof own) => JSON.stringify(tools.find(({ name }) => name === "memory"));
  expect(definition(fork)).toBe(definition(own));
  expect(await fork.call("memory", create)).toMatchObject({ kind: "ran", isError: true, text: forkRefusal });
});
