import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { announcedChangeCharsMax } from "../../packages/cli/src/agent/limits.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { eventsOf } from "./support/compaction-checks.ts";
import { compact } from "./support/compaction-world.ts";
import { type AgentWorld, agentWorld, blocksOf, firstBreak, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

interface Scene extends AgentWorld {
  /** What the model says next, a reply each; a word where none is left. */
  readonly says: MoveBlock[][];
  readonly put: (path: string, text: string) => Promise<void>;
}

async function scene(): Promise<Scene> {
  const says: MoveBlock[][] = [];
  const world = await agentWorld({
    responder: {
      name: "scripted",
      respond: () => ({ move: { kind: "say", blocks: says.shift() ?? [{ type: "text", text: "Done." }] } }),
    },
  });
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(world.work, path)), { recursive: true });
    await writeFile(join(world.work, path), text);
  };
  return { ...world, says, put };
}

const call = (name: string, input: Readonly<Record<string, string>>): MoveBlock => ({ type: "tool_use", name, input });
const read = (path: string): MoveBlock => call("read", { path });

/** The blocks of a request that hold a word; the newest if none is named. */
const holding = ({ seen }: AgentWorld, word: string, at = -1): readonly string[] =>
  seen
    .slice(at, at === -1 ? undefined : at + 1)
    .flatMap(blocksOf)
    .filter((block) => block.includes(word));

const again = async (world: Scene, agent: Agent): Promise<Agent> => {
  await agent.close();
  return await world.open({ kind: "resume", id: agent.session.id }, model);
};

/** What is sent is valid, and each request begins with the one before it. */
function expectStable({ seen }: AgentWorld): void {
  expect(refused(seen)).toEqual([]);
  expect(firstBreak(seen)).toBeUndefined();
}

describe("instructions of a folder", () => {
  it("stand behind the result that brought them in, at the next request of the same turn, broad before narrow, once", async () => {
    const world = await scene();
    await world.put("pkg/AGENTS.md", "WORD-OUTER\n");
    await world.put("pkg/deep/CLAUDE.md", "WORD-INNER, see @../notes/more.md\n");
    await world.put("pkg/deep/CLAUDE.local.md", "WORD-LOCAL\n");
    await world.put("pkg/notes/more.md", "WORD-IMPORTED\n");
    await world.put("pkg/deep/a.ts", "1\n");
    await world.put("pkg/deep/b.ts", "2\n");
    await world.put("other/CLAUDE.md", "WORD-OTHER\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push([read("pkg/deep/a.ts")], [read("pkg/deep/b.ts")]);
    await turn(agent, "Go.");
    expect(world.seen).toHaveLength(3);
    const order = ["WORD-OUTER", "WORD-INNER", "WORD-IMPORTED", "WORD-LOCAL"];
    for (const word of order) {
      expect({ word, blocks: holding(world, word, 0) }).toEqual({ word, blocks: [] });
      expect(holding(world, word, 1)).toHaveLength(1);
      expect(holding(world, word)).toHaveLength(1);
    }
    const places = world.seen
      .slice(1, 2)
      .flatMap(blocksOf)
      .map((block) => order.findIndex((word) => block.includes(word)));
    expect(places.filter((place) => place !== -1)).toEqual([0, 1, 2, 3]);
    expect(holding(world, "WORD-INNER")[0]).toContain(
      `(for everybody in this project; for what is in ${join(world.work, "pkg", "deep")})`,
    );
    expect(holding(world, "WORD-OTHER")).toEqual([]);
    const resumed = await again(world, agent);
    world.says.push([read("pkg/deep/a.ts")]);
    await turn(resumed, "And again.");
    for (const word of order) expect(holding(world, word)).toHaveLength(1);
    expectStable(world);
    await resumed.close();
  });

  it("count as read: the agent may change such a file at once, and is not told of its own change twice", async () => {
    const world = await scene();
    await world.put("pkg/CLAUDE.md", "Use tabs.\n");
    await world.put("pkg/a.ts", "1\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push(
      [read("pkg/a.ts")],
      [call("edit", { file_path: "pkg/CLAUDE.md", old_string: "tabs", new_string: "spaces" })],
    );
    const events = await turn(agent, "Go.");
    expect(eventsOf(events, "call-end").map(({ outcome }) => outcome)).toEqual(["done", "done"]);
    expect(await readFile(join(world.work, "pkg", "CLAUDE.md"), "utf8")).toBe("Use spaces.\n");
    await turn(agent, "On.");
    expect(holding(world, "have changed")).toHaveLength(1);
    expect(holding(world, "no longer as you last saw")).toEqual([]);
    expectStable(world);
    await agent.close();
  });

  it("of which the model sees less than the file holds must be read before a change", async () => {
    const world = await scene();
    await world.put("pkg/CLAUDE.md", "<!-- for people -->\nUse tabs.\n");
    await world.put("pkg/a.ts", "1\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push(
      [read("pkg/a.ts")],
      [call("edit", { file_path: "pkg/CLAUDE.md", old_string: "tabs", new_string: "spaces" })],
    );
    const events = await turn(agent, "Go.");
    expect(eventsOf(events, "call-end").map(({ outcome }) => outcome)).toEqual(["done", "failed"]);
    await agent.close();
  });

  it("that the model has read itself are not attached, nor what a rule forbids to read, nor what others installed", async () => {
    const world = await scene();
    await writeFile(join(world.work, "..", "key.md"), "WORD-OUTSIDE\n");
    await world.put("own/CLAUDE.md", "WORD-OWN\n");
    await world.put("own/a.ts", "1\n");
    await world.put("secret/CLAUDE.md", "WORD-DENIED\n");
    await world.put("secret/a.ts", "1\n");
    await world.put("node_modules/x/CLAUDE.md", "WORD-INSTALLED\n");
    await world.put("node_modules/x/a.js", "1\n");
    await world.put("out/CLAUDE.md", "WORD-HERE, see @../../key.md\n");
    await world.put("out/a.ts", "1\n");
    await world.put("linked/a.ts", "1\n");
    await writeFile(join(world.work, "..", "other.md"), "WORD-LINKED\n");
    await symlink(join(world.work, "..", "other.md"), join(world.work, "linked", "CLAUDE.md"));
    await mkdir(world.home, { recursive: true });
    const deny = { permissions: { deny: ["Read(secret/CLAUDE.md)"] } };
    await writeFile(join(world.home, "settings.json"), JSON.stringify(deny));
    const agent = await world.open({ kind: "new" }, model);
    world.says.push([
      read("own/CLAUDE.md"),
      read("secret/a.ts"),
      read("node_modules/x/a.js"),
      read("out/a.ts"),
      read("linked/a.ts"),
    ]);
    const events = await turn(agent, "Go.");
    expect(eventsOf(events, "call-end").every(({ outcome }) => outcome === "done")).toBe(true);
    expect(holding(world, "WORD-OWN")).toHaveLength(1);
    expect(holding(world, "WORD-HERE")).toHaveLength(1);
    for (const word of ["WORD-DENIED", "WORD-INSTALLED", "WORD-OUTSIDE", "WORD-LINKED"])
      expect(holding(world, word)).toEqual([]);
    const later = [...(await turn(agent, "On.")), ...(await turn(agent, "And on."))];
    const told = [...events, ...later].flatMap((event) =>
      event.kind === "warning" && event.code === "instructions" ? [event.message] : [],
    );
    expect(told.filter((line) => line.includes("key.md"))).toHaveLength(1);
    expect(told.filter((line) => line.includes("linked"))).toHaveLength(1);
    await agent.close();
  });

  it("come with rules whose pattern names the file, and with no other rule", async () => {
    const world = await scene();
    await world.put(".claude/rules/ts.md", `---\npaths: "src/**/*.ts"\n---\nWORD-TS\n`);
    await world.put(".claude/rules/py.md", `---\npaths: "**/*.py"\n---\nWORD-PY\n`);
    await world.put("src/.claude/rules/inner.md", `---\npaths: "*.ts"\n---\nWORD-INNER-RULE\n`);
    await world.put("src/a.ts", "1\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push([read("src/a.ts")]);
    await turn(agent, "Go.");
    expect(holding(world, "WORD-TS")[0]).toContain("for files that match src/**/*.ts");
    expect(holding(world, "WORD-INNER-RULE")).toHaveLength(1);
    expect(holding(world, "WORD-PY")).toEqual([]);
    expect(agent.context.view.report().categories.find(({ name }) => name === "instructions")).toMatchObject({
      blocks: 2,
    });
    expectStable(world);
    await agent.close();
  });
});

describe("changes of instruction files", () => {
  it("are announced once with what changed, in the middle of a turn and between runs, and the header stays", async () => {
    const world = await scene();
    const lines = Array.from({ length: 40 }, (_, at) => `Rule ${at} stays.`);
    await world.put("CLAUDE.md", `${lines.join("\n")}\n`);
    let agent = await world.open({ kind: "new" }, model);
    await turn(agent, "One.");
    world.says.push([call("bash", { command: "sed -i 's/Rule 7 stays/Rule 7 is WORD-NEW/' CLAUDE.md" })]);
    await turn(agent, "Two.");
    const told = holding(world, "WORD-NEW").find((block) => block.includes("have changed"));
    expect(told).toContain("-Rule 7 stays.\\n+Rule 7 is WORD-NEW.");
    expect(told).not.toContain("Rule 8");
    await turn(agent, "Three.");
    agent = await again(world, agent);
    await turn(agent, "Four.");
    expect(holding(world, "have changed")).toHaveLength(1);
    await agent.close();
    await world.put("CLAUDE.md", `${lines.join("\n")}\nWORD-LAST\n`);
    agent = await again(world, agent);
    await turn(agent, "Five.");
    const [, last = ""] = holding(world, "have changed");
    expect(last).toContain("-Rule 7 is WORD-NEW.\\n+Rule 7 stays.");
    expect(last).toContain("+WORD-LAST");
    expectStable(world);
    await agent.close();
  });

  it("one that appears and one that disappears are said, also in a folder that was touched", async () => {
    const world = await scene();
    await world.put("CLAUDE.md", "WORD-ROOT\n");
    await world.put("pkg/a.ts", "1\n");
    await world.put("old/CLAUDE.md", "WORD-OLD\n");
    await world.put("old/a.ts", "1\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push([read("pkg/a.ts"), read("old/a.ts")]);
    await turn(agent, "One.");
    expect(holding(world, "WORD-OLD")).toHaveLength(1);
    await world.put("CLAUDE.local.md", "WORD-COMES\n");
    await world.put("pkg/CLAUDE.md", "WORD-NESTED-COMES\n");
    await rm(join(world.work, "CLAUDE.md"));
    await rm(join(world.work, "old", "CLAUDE.md"));
    await turn(agent, "Two.");
    await turn(agent, "Three.");
    expect(holding(world, "WORD-COMES")[0]).toContain("These instructions are new and count from here on.");
    expect(holding(world, "WORD-NESTED-COMES")).toHaveLength(1);
    const gone = holding(world, "are no longer there").join("\n");
    expect(gone).toContain(`The instructions from ${join(world.work, "CLAUDE.md")} are no longer there.`);
    expect(gone).toContain(`The instructions from ${join(world.work, "old", "CLAUDE.md")} are no longer there.`);
    expect(holding(world, "are no longer there")).toHaveLength(2);
    expectStable(world);
    await agent.close();
  });

  it("a long one is not shown: the model is told to read the file", async () => {
    const world = await scene();
    const long = (word: string): string => `${word} ${"x".repeat(99)}\n`.repeat(announcedChangeCharsMax / 50);
    await world.put("CLAUDE.md", long("one"));
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "One.");
    await world.put("CLAUDE.md", long("two"));
    await turn(agent, "Two.");
    const [told = ""] = holding(world, "have changed");
    expect(told).toContain(`read ${join(world.work, "CLAUDE.md")} before you go on`);
    expect(told.length).toBeLessThan(500);
    await agent.close();
  });

  it("of a nested file are announced with what changed, also after a resume, once", async () => {
    const world = await scene();
    const lines = Array.from({ length: 20 }, (_, at) => `Rule ${at} stays.`);
    await world.put("pkg/CLAUDE.md", `${lines.join("\n")}\n`);
    await world.put("pkg/a.ts", "1\n");
    let agent = await world.open({ kind: "new" }, model);
    world.says.push([read("pkg/a.ts")]);
    await turn(agent, "One.");
    await world.put("pkg/CLAUDE.md", `${lines.join("\n")}\nWORD-ADDED\n`);
    agent = await again(world, agent);
    await turn(agent, "Two.");
    await turn(agent, "Three.");
    const [told = "", ...others] = holding(world, "WORD-ADDED");
    expect(others).toEqual([]);
    expect(told).toContain("+WORD-ADDED");
    expect(told).not.toContain("Rule 3 stays");
    expectStable(world);
    await agent.close();
  });
});

describe("InstructionsLoaded", () => {
  it("is fired with Claude Code's reasons, for each file when it counts", async () => {
    const world = await scene();
    const heard = join(world.work, "..", "heard.jsonl");
    await mkdir(world.home, { recursive: true });
    const hook = { hooks: [{ type: "command", command: `cat >> '${heard}'; echo >> '${heard}'` }] };
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks: { InstructionsLoaded: [hook] } }));
    await world.put("CLAUDE.md", "Root.\n");
    await world.put("pkg/CLAUDE.md", "Nested, see @./more.md\n");
    await world.put("pkg/more.md", "More.\n");
    await world.put(".claude/rules/ts.md", `---\npaths: "**/*.ts"\n---\nRule.\n`);
    await world.put("pkg/a.ts", "1\n");
    const agent = await world.open({ kind: "new" }, model);
    world.says.push([read("pkg/a.ts")]);
    await turn(agent, `Go. ${"Much is said here. ".repeat(20_000)}`);
    const events = async (): Promise<readonly unknown[]> =>
      (await readFile(heard, "utf8"))
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => JSON.parse(line) as unknown);
    const path = (name: string): string => join(world.work, name);
    const trigger_file_path = path("pkg/a.ts");
    expect(await events()).toMatchObject([
      { file_path: path("CLAUDE.md"), load_reason: "session_start", memory_type: "Project" },
      { file_path: path("pkg/CLAUDE.md"), load_reason: "nested_traversal", trigger_file_path },
      {
        file_path: path("pkg/more.md"),
        load_reason: "include",
        parent_file_path: path("pkg/CLAUDE.md"),
        trigger_file_path,
      },
      { file_path: path(".claude/rules/ts.md"), load_reason: "path_glob_match", globs: ["**/*.ts"], trigger_file_path },
    ]);
    expect((await compact(agent)).events.at(-1)).toMatchObject({ kind: "compacted" });
    const after = (await events()).slice(4);
    expect(after).toMatchObject([
      { file_path: path("CLAUDE.md"), load_reason: "compact" },
      { file_path: path("pkg/CLAUDE.md"), load_reason: "compact" },
      { file_path: path("pkg/more.md"), load_reason: "include" },
      { file_path: path(".claude/rules/ts.md"), load_reason: "compact" },
    ]);
    await agent.close();
  });
});
