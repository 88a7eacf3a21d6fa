import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { titleDraft } from "../../packages/palimpsest/src/session/session-title.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { type JsonObject, isObject, parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { compactedIn, lastRequest } from "./support/compaction-checks.ts";
import { compact, type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";

async function logOf({ home }: CompactionWorld, { session }: Agent): Promise<readonly JsonObject[]> {
  const [project = ""] = await readdir(join(home, "projects"));
  const lines = (await readFile(join(home, "projects", project, `${session.id}.jsonl`), "utf8")).trimEnd().split("\n");
  return lines.map((line) => parseJson(line)).filter(isObject);
}

const checkOut = async ({ work }: CompactionWorld, branch: string): Promise<void> => {
  await mkdir(join(work, ".git"), { recursive: true });
  await writeFile(join(work, ".git", "HEAD"), `ref: refs/heads/${branch}\n`);
};

describe("10. Working state: title and branch", () => {
  it("each entry names the branch that was checked out when its turn began", async () => {
    const world = await compactionWorld();
    await checkOut(world, "main");
    const agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 1 });
    const before = (await logOf(world, agent)).length;
    await checkOut(world, "topic");
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    const log = await logOf(world, agent);
    await agent.close();
    expect(new Set(log.slice(0, before).map(({ gitBranch }) => gitBranch))).toEqual(new Set(["main"]));
    expect(new Set(log.slice(before).map(({ gitBranch }) => gitBranch))).toEqual(new Set(["topic"]));
  });

  it("stand behind a boundary, for lists and for the model: the first message names a session that nobody named", async () => {
    const world = await compactionWorld();
    await checkOut(world, "topic");
    const agent = await world.open();
    await world.turn(agent, { text: `Mend the\nclock. ${taskText(1)}`, rounds: 8 });
    await compact(agent);
    const last = (await logOf(world, agent)).at(-1);
    expect(last).toMatchObject({ type: "ai-title", gitBranch: "topic" });
    expect(last?.["aiTitle"]).toMatch(/^Mend the clock\. .{1,70}…$/);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    await agent.close();
    const shown = JSON.stringify(lastRequest(world).body);
    expect(shown).toContain("Git branch now: topic\\nTitle of this session: Mend the clock.");
  });

  it("a title that the user gave stays the title through every boundary, also where the log is read from one", async () => {
    const world = await compactionWorld();
    let agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 8 });
    await agent.session.append(titleDraft({ text: "The clock", by: "user" }));
    await compact(agent);
    await world.turn(agent, { text: taskText(2), rounds: 8 });
    const { id } = agent.session;
    await agent.close();
    agent = await world.open({ kind: "resume", id });
    await compact(agent);
    const log = await logOf(world, agent);
    await agent.close();
    const boundaries = log.filter(({ subtype }) => subtype === "compact_boundary").length;
    expect(boundaries).toBeGreaterThan(1);
    expect(log.filter(({ customTitle }) => customTitle === "The clock")).toHaveLength(boundaries + 1);
    expect(log.filter(({ type }) => type === "ai-title")).toEqual([]);
  });

  it.each([
    { turns: "one", expected: "You work on your own, and this is not a first start" },
    { turns: "many", expected: "Carry on directly with the work as it stood" },
  ] as const)("the words behind an automatic compaction of an agent for $turns turns", async ({ turns, expected }) => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { beside: { turns } });
    const events = await world.turn(agent, { text: taskText(1), rounds: 30 });
    await agent.close();
    expect(compactedIn(events).length).toBeGreaterThan(0);
    expect(JSON.stringify(lastRequest(world).body)).toContain(expected);
  });
});
