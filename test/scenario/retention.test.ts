import { existsSync } from "node:fs";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { called } from "./support/called.ts";
import { fileDeps, openedSession } from "./support/project.ts";
import { says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

const day = 24 * 60 * 60 * 1000;

interface Written {
  readonly folder: string;
  readonly id: string;
  /** Of its last entry, and of the file unless `fileDays` says otherwise. */
  readonly days: number;
  readonly fileDays?: number;
  readonly title?: "by-user" | "generated";
}

async function writeSession({ folder, id, days, fileDays = days, title }: Written): Promise<void> {
  const at = (age: number): Date => new Date(Date.now() - age * day);
  const lines: object[] = [
    {
      type: "user",
      uuid: `${id}-u1`,
      parentUuid: null,
      sessionId: id,
      timestamp: at(days).toISOString(),
      message: { role: "user", content: 'what is {"type":"custom-title"}?' },
    },
  ];
  if (title === "by-user") lines.push({ type: "custom-title", customTitle: "mine", sessionId: id });
  if (title === "generated") lines.push({ type: "ai-title", aiTitle: "some", sessionId: id });
  const path = join(folder, `${id}.jsonl`);
  await mkdir(folder, { recursive: true });
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await utimes(path, at(fileDays), at(fileDays));
}

async function open(world: AgentWorld, env: Readonly<Record<string, string>>): Promise<Agent> {
  const opened = await openAgent({
    env: { ...world.env, ...env },
    cwd: world.work,
    version: "0.0.0",
    flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
    session: { kind: "new" },
    model: { kind: "provider" },
    tools: { mode: "bypass", allow: [], deny: [] },
    retention: "on",
  });
  if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
  return opened;
}

async function filledWorld(): Promise<{ readonly world: AgentWorld; readonly folder: string; readonly other: string }> {
  const world = await agentWorld({
    responder: { name: "ok", respond: () => ({ move: { kind: "say", blocks: says("ok") } }) },
  });
  const located = await openWorkspace({ env: world.env, cwd: world.work }).project();
  if (located.kind !== "located") throw new Error(located.message);
  const { folder } = located;
  const other = join(dirname(folder), "other");
  for (const one of [
    { folder, id: "old", days: 31 },
    { folder, id: "old-generated", days: 400, title: "generated" },
    { folder, id: "young", days: 29 },
    { folder, id: "named", days: 400, title: "by-user" },
    { folder, id: "imported", days: 400, fileDays: 1 },
    { folder, id: "in-use", days: 400 },
    { folder: other, id: "elsewhere", days: 31 },
  ] as const)
    await writeSession(one);
  return { world, folder, other };
}

const sessionsIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith(".jsonl")).toSorted();

/** A deletion in the background would be over by then. */
async function turnWithTime(agent: Agent): Promise<void> {
  await turn(agent, "hi");
  await wait(300);
}

describe("sessions that were not used for retentionDays are deleted when the next one starts", () => {
  it("in every project, but not what is open, titled by the user, or was imported since; one line says so", async () => {
    const { world, folder, other } = await filledWorld();
    const inUse = await openedSession(fileDeps(folder), "in-use", "resume");
    const agent = await open(world, { PALIMPSEST_RETENTION_DAYS: "30" });
    const news: string[] = [];
    await vi.waitFor(async () => {
      for (const event of await turn(agent, "hi"))
        if (event.kind === "warning" && event.code === "retention") news.push(event.message);
      expect(news).toHaveLength(1);
    }, 20_000);
    expect(news).toEqual([expect.stringMatching(/^Deleted 3 sessions not used for 30 days \(retentionDays\), .+\.$/)]);
    expect(await sessionsIn(folder)).toEqual(
      [`${agent.session.id}.jsonl`, "imported.jsonl", "in-use.jsonl", "named.jsonl", "young.jsonl"].toSorted(),
    );
    expect(await sessionsIn(other)).toEqual([]);
    await agent.close();
    await inUse.close();
  });

  it("a deletion that was interrupted is finished, also when no session is old", async () => {
    const { world, folder } = await filledWorld();
    const { deletion } = fileDeps(folder);
    expect(await deletion.detach(sessionId("young"))).toEqual({ kind: "detached" });
    const agent = await open(world, { PALIMPSEST_RETENTION_DAYS: "3000" });
    await vi.waitFor(async () => expect(await deletion.detached()).toEqual([]), 20_000);
    expect(await sessionsIn(folder)).toContain("old.jsonl");
    await agent.close();
  });

  it("by default all sessions are kept", async () => {
    const { world, folder } = await filledWorld();
    const before = await sessionsIn(folder);
    const agent = await open(world, {});
    await turnWithTime(agent);
    await agent.discard();
    expect((await sessionsIn(folder)).filter((name) => !name.startsWith(agent.session.id))).toEqual(before);
  });

  it("0 is refused, with what to write instead, and deletes nothing; a project has no say in it", async () => {
    const { world, folder } = await filledWorld();
    const own = join(world.home, "settings.json");
    await writeFile(own, JSON.stringify({ retentionDays: 0, trustedProjects: [world.work] }));
    await mkdir(join(world.work, ".palimpsest"));
    await writeFile(join(world.work, ".palimpsest", "settings.json"), JSON.stringify({ retentionDays: 1 }));
    const explained = await called({ home: world.home, cwd: world.work }, "explain");
    expect(explained.code).toBe(1);
    expect(`${explained.out}${explained.err}`).toMatch(
      /retentionDays.*expected a whole number of days from 1 to 36,500, or nothing to keep sessions forever/,
    );
    const agent = await open(world, {});
    await turnWithTime(agent);
    await agent.close();
    expect(existsSync(join(folder, "old.jsonl"))).toBe(true);
  });
});
