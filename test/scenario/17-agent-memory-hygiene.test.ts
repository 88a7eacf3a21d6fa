import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Memories } from "../../packages/palimpsest/src/ports/memories.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { fakeSecrets } from "../fixture/secrets.ts";
import {
  filesBelow,
  memoriesOf,
  memoryCall,
  memoryText,
  model,
  resultsOf,
  saves,
  systemOf,
  userTextsOf,
} from "./support/memory-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, type AgentWorld, type SeenRequest, turn } from "./support/whole-agent.ts";

/** A session in which the user says this and the agent makes these moves. */
async function live(world: AgentWorld, said: string): Promise<SeenRequest> {
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, said);
  await agent.close();
  const last = world.seen.at(-1);
  if (last === undefined) throw new Error("nothing was asked");
  return last;
}

async function told(said: string, ...moves: readonly (readonly MoveBlock[])[]) {
  const world = await agentWorld({ responder: playing(...moves, says("Done.")) });
  const last = await live(world, said);
  return { world, last, memories: await memoriesOf(world) };
}

const tabs = "We indent with tabs, never with spaces.";

describe("17. Memory hygiene, in the agent", () => {
  it("a duplicate makes no new record: the agent is told which memory says it", async () => {
    const { last, memories } = await told(
      tabs,
      [saves("tabs.md", memoryText("Tabs, never spaces", tabs))],
      [saves("indentation.md", memoryText("Indentation", "We indent  with TABS, never with spaces!"))],
    );
    expect((await memories.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "tabs.md"]);
    expect(await memories.history()).toHaveLength(1);
    expect(resultsOf(last).at(-1)).toContain("/memories/tabs.md says this already");
  });

  it("a new value supersedes the old one, which stays in the history with its session and messages", async () => {
    const change: JsonObject = {
      command: "str_replace",
      path: "/memories/release.md",
      old_str: "on Friday.",
      new_str: "on Monday.",
    };
    const { memories } = await told(
      "We release on Friday. No: on Monday.",
      [saves("release.md", memoryText("Release day", "We release on Friday."))],
      [memoryCall(change)],
    );
    expect((await memories.read("release.md"))?.text).toContain("on Monday.");
    const history = await memories.history("release.md");
    expect(history).toMatchObject([{ author: "agent" }, { author: "agent" }]);
    const [newest] = history;
    const { before } = newest?.changes.find(({ path }) => path === "release.md") ?? {};
    expect(before && (await memories.text(before))).toContain("on Friday.");
    expect(newest?.provenance.session).toBeDefined();
    expect(newest?.provenance.messages?.length).toBeGreaterThan(1);
  });

  it("a stale precondition is a conflict, and nothing is written", async () => {
    const { memories } = await told(tabs, [saves("tabs.md", memoryText("Tabs", tabs))]);
    const seen = await memories.read("tabs.md");
    const write = (text: string) =>
      memories.commit({
        author: "user",
        provenance: { at: millis(1), trust: "trusted" },
        message: "edit",
        changes: [{ path: "tabs.md", expected: seen?.hash ?? "any", text }],
      });
    expect(await write("Two tabs.\n")).toMatchObject({ kind: "committed" });
    expect(await write("Three tabs.\n")).toEqual({ kind: "conflict", paths: ["tabs.md"] });
    expect((await memories.read("tabs.md"))?.text).toBe("Two tabs.\n");
  });

  it("a memory that names a missing path is flagged in the index and where it is shown, and not asserted", async () => {
    const rule = "The parser lives in src/parser.ts, ask Ada about it.";
    const { world } = await told(rule, [saves("parser.md", memoryText("Where the parser lives: src/parser.ts", rule))]);
    await mkdir(join(world.work, "src"));
    await writeFile(join(world.work, "src/parser.ts"), "export {};\n");
    const there = await live(world, "Who knows about the parser?");
    expect(systemOf(there)).toContain("[Where the parser](parser.md)");
    expect(systemOf(there)).not.toContain("not found now");
    await rm(join(world.work, "src/parser.ts"));
    const gone = await live(world, "Who knows about the parser?");
    expect(systemOf(gone)).toContain("not found now: file src/parser.ts");
    expect(userTextsOf(gone).join("\n")).toMatch(
      /Memory parser\.md \(feedback; .*not found now: file src\/parser\.ts\)/,
    );
  });

  it("no new input, no model calls and no file: an agent that is only opened leaves memory as it was", async () => {
    const { world, memories } = await told(tabs, [saves("tabs.md", memoryText("Tabs", tabs))]);
    const folder = memoryFolder(memories);
    const [asked, before] = [world.seen.length, await filesBelow(folder)];
    const agent = await world.open({ kind: "new" }, model);
    await new Promise((waited) => setTimeout(waited, 200));
    await agent.close();
    expect(world.seen).toHaveLength(asked);
    expect(await filesBelow(folder)).toEqual(before);
    const empty = await agentWorld({ responder: playing(says("Hi.")) });
    await (await empty.open({ kind: "new" }, model)).close();
    expect((await filesBelow(memoryFolder(await memoriesOf(empty)))).size).toBe(0);
  });

  it(`a key of each of ${fakeSecrets.length} shapes is refused: none is on disk, in a revision or in the index`, async () => {
    const moves = fakeSecrets.map(({ text }, at) => [saves(`key-${at}.md`, memoryText(`Key ${at}`, text))]);
    const { last, memories } = await told("Remember these keys for me.", ...moves);
    expect(resultsOf(last)).toHaveLength(fakeSecrets.length);
    const saved = fakeSecrets.filter((_, at) => !resultsOf(last)[at]?.includes("Not saved"));
    expect(saved.map(({ kind }) => kind)).toEqual([]);
    expect((await memories.list()).map(({ path }) => path)).toEqual([]);
    const disk = [...(await filesBelow(memoryFolder(memories)))].join("\n");
    for (const { secret } of fakeSecrets) expect(disk).not.toContain(secret);
  });
});

function memoryFolder(memories: Memories): string {
  return join(memories.linkTo?.("MEMORY.md") ?? "", "..");
}
