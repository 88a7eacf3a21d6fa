import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { parseCoverage } from "../../packages/palimpsest/src/layers/3-notes/notes-coverage.ts";
import { defaultTemplate } from "../../packages/palimpsest/src/layers/3-notes/notes.ts";
import { repairLog } from "../../packages/palimpsest/src/session/check-log.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { userDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { called } from "./support/called.ts";
import { palimpsest, type Said } from "./support/command-line.ts";
import { compactedIn, endOf, eventsOf, lastRequest, summaryRequests } from "./support/compaction-checks.ts";
import { asksForNotes, type CompactionWorld, compactionWorld, requestOf } from "./support/compaction-world.ts";
import { refused, type SeenRequest } from "./support/whole-agent.ts";

/** Without summaries that are prepared ahead: what is shown here is what notes do alone. */
const on = { PALIMPSEST_FLAG_NOTES: "1", PALIMPSEST_FLAG_COMPACT_BACKGROUND: "0" };
const windowTokens = 80_000;
const signal = new AbortController().signal;

const notesRequests = ({ seen }: Pick<CompactionWorld, "seen">): readonly SeenRequest[] =>
  seen.filter(({ body }) => asksForNotes(requestOf(body)));

/** Also those that were begun when others ended. */
async function settled({ context: { compacting } }: Agent): Promise<void> {
  while ((await compacting.notes?.settle(signal)) === "ended");
}
const coversOf = (agent: Agent) => parseCoverage(agent.session.fold.projection.settings);

/** Works turn by turn until something compacted the conversation. */
async function untilCompacted(world: CompactionWorld, agent: Agent) {
  for (let turns = 1; turns <= 30; turns += 1) {
    const events = await world.turn(agent, { text: `Do part ${turns}.`, rounds: 4 });
    expect(endOf(events)).toBe("answered");
    await settled(agent);
    const [compacted] = compactedIn(events);
    if (compacted !== undefined) return compacted;
  }
  return expect.unreachable("never compacted");
}

describe("notes on a session", () => {
  it("are taken once the context has 10,000 tokens, beside the conversation, and booked as notes", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    await world.turn(agent, { text: "Do part 1.", rounds: 12 });
    await settled(agent);
    const costs = agent.context.conversation.costs.toJSON();
    const sizes = costs.requests
      .filter(({ source }) => source === "notes")
      .map(({ tokensByKind: { input, cacheRead } }) => input + cacheRead);
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(10_000);
    const { path = "" } = agent.context.conversation.compacting?.notes ?? {};
    expect(await readFile(path, "utf8")).toContain("Do part 1.");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(coversOf(agent)).toBeDefined();
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    expect(coversOf(again)).toEqual(coversOf(agent));
    await again.close();
  });

  it("cost what the server's bill says, also in a session that is opened again", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    for (const text of ["Do part 1.", "Do part 2."]) {
      await world.turn(agent, { text, rounds: 12 });
      await settled(agent);
    }
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    const billed = notesRequests(world);
    expect(billed.length).toBeGreaterThan(2);
    const bill = billed.reduce((sum, { costUsd }) => sum + costUsd, 0);
    for (const { conversation } of [agent.context, again.context]) {
      const { requests, totalNanos = 0 } = conversation.costs.toJSON().bySource.notes ?? {};
      expect(requests).toBe(billed.length);
      expect(totalNanos / 1e9).toBeCloseTo(bill, 9);
    }
    await again.close();
  });

  it("stay paid for on a branch that was left", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    await world.turn(agent, { text: "Do part 1.", rounds: 12 });
    await settled(agent);
    const paid = agent.context.conversation.costs.toJSON().bySource;
    const [first] = agent.session.fold.projection.items;
    await agent.session.append({ ...userDraft("Do part 2 instead."), parentUuid: first?.entry ?? null });
    expect(coversOf(agent)).toBeUndefined();
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    const { notes, main } = again.context.conversation.costs.toJSON().bySource;
    expect(notes?.requests).toBeGreaterThan(0);
    expect([notes?.requests, main?.requests]).toEqual([paid.notes?.requests, paid.main?.requests]);
    await again.close();
  });

  it("become the summary at the threshold without a call to a model, and the next request is valid", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    const compacted = await untilCompacted(world, agent);
    expect(compacted).toMatchObject({ path: "notes", costNanos: 0 });
    expect(compacted.tokensAfter).toBeLessThan(compacted.tokensBefore);
    expect(summaryRequests(world)).toEqual([]);
    expect(refused(world.seen)).toEqual([]);
    const { messages } = agent.session.view();
    expect(violations(messages, { end: "any" })).toEqual([]);
    expect(JSON.stringify(lastRequest(world).body)).toContain("# Worklog");
    expect(JSON.stringify(messages)).toContain("tool_result");
    const { path, projection } = agent.session.fold;
    const metadata = path.entries.flatMap((entry) =>
      entry.kind === "edit" && entry.edit.type === "boundary" ? [entry.edit.metadata] : [],
    );
    const at = projection.items.findIndex(({ summary }) => summary === true);
    expect(metadata.at(-1)?.preservedSegment).toMatchObject({
      headUuid: projection.items[at + 1]?.entry,
      anchorUuid: projection.items[at]?.entry,
    });
    await agent.close();
  });

  it("become the summary by hand too, but not where the user asks for something of it", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    await world.turn(agent, { text: "Do part 1.", rounds: 30 });
    await settled(agent);
    const paths: string[] = [];
    for (const ask of [{}, { instructions: "Keep the file names." }]) {
      const proposing = agent.context.compaction.propose({ part: { kind: "all" }, ...ask }, signal);
      let step = await proposing.next();
      while (step.done !== true) step = await proposing.next();
      if (step.value.kind === "failed") expect.unreachable(step.value.message);
      paths.push(step.value.proposal.path);
    }
    expect(paths).toEqual(["notes", "fork"]);
    await agent.close();
  });

  it.each([
    ["switched off", { flags: [["off", "notes"]] }],
    ["in plan mode", { tools: { mode: "plan" } }],
    ["where a rule denies the tool that edits", { tools: { deny: ["edit"] } }],
    ["where a rule denies changes of the file", { tools: { deny: ["Edit(//**/notes.md)"] } }],
  ] as const)("%s are not taken, and a model sums up", async (_, wishes) => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open({ kind: "new" }, wishes);
    expect((await untilCompacted(world, agent)).path).toBe("fork");
    expect(notesRequests(world)).toEqual([]);
    await agent.close();
  });

  it.each(["default", "acceptEdits"] as const)("in mode %s are taken without permission", async (mode) => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open({ kind: "new" }, { tools: { mode } });
    await world.turn(agent, { text: "Do part 1.", rounds: 12 });
    await settled(agent);
    expect(coversOf(agent)).toBeDefined();
    await agent.close();
  });

  it("by a template of the user's own that can't be used are taken by ours, which is told once", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    await mkdir(join(world.home, "prompts"), { recursive: true });
    await writeFile(join(world.home, "prompts", "notes-template.md"), "no headings here");
    const agent = await world.open();
    const events: LoopEvent[] = [];
    for (const text of ["Do part 1.", "Do part 2.", "Do part 3."]) {
      events.push(...(await world.turn(agent, { text, rounds: 12 })));
      await settled(agent);
    }
    const told = eventsOf(events, "warning").filter(({ code }) => code === "notes-wishes");
    expect(told.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Your template of notes was not taken/),
    ]);
    expect(notesRequests(world).length).toBeGreaterThan(1);
    expect(JSON.stringify(notesRequests(world).at(-1)?.body)).toContain("# Worklog");
    await agent.close();
  });

  it("are taken and not used where only their use is switched off", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open({ kind: "new" }, { flags: [["off", "notesCompact"]] });
    expect((await untilCompacted(world, agent)).path).toBe("fork");
    expect(notesRequests(world).length).toBeGreaterThan(0);
    await agent.close();
  });
});

describe("palimpsest notes", () => {
  it("prints the notes, and beside them where they are and what they cover", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    await world.turn(agent, { text: "Do part 1.", rounds: 12 });
    await settled(agent);
    const { path = "" } = agent.context.conversation.compacting?.notes ?? {};
    const covers = coversOf(agent);
    await agent.close();
    const notes = await readFile(path, "utf8");
    const calling = { home: world.home, cwd: world.work, env: {} };
    const plain = await called(calling, "notes", agent.session.id);
    expect(plain).toMatchObject({ code: 0, out: notes });
    expect(plain.err).toContain(`file    ${path}`);
    expect(plain.err).toContain(`covers  up to ${covers?.entry},`);
    expect(await called(calling, "notes", agent.session.id, "--path")).toMatchObject({
      code: 0,
      out: `${path}\n`,
      err: "",
    });
    const json = await called(calling, "notes", agent.session.id, "--json");
    expect(JSON.parse(json.out)).toEqual({ path, covers, notes, failed: null });
  });

  it("says that there are none, and why the newest update came to nothing", async () => {
    const world = await compactionWorld({ windowTokens, variables: on });
    const agent = await world.open();
    const { path = "" } = agent.context.conversation.compacting?.notes ?? {};
    await mkdir(path, { recursive: true });
    const calling = { home: world.home, cwd: world.work, env: {} };
    await world.turn(agent, { text: "Do part 1.", rounds: 12 });
    await settled(agent);
    await agent.close();
    const plain = await called(calling, "notes", agent.session.id);
    expect(plain).toMatchObject({ code: 1, out: "" });
    expect(plain.err).toMatch(/^No notes\.$/m);
    expect(plain.err).toMatch(/^failed {2}the newest update: .*notes\.md/m);
    const json = await called(calling, "notes", agent.session.id, "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ covers: null, notes: null, failed: { why: "unwritten" } });
    expect(notesRequests(world)).toEqual([]);
  });

  it("keeps none on another tool's file", async () => {
    const world = await compactionWorld();
    const file = join(world.work, "other.jsonl");
    const message = { role: "user", content: "Hello." };
    const line = { type: "user", uuid: "u", parentUuid: null, sessionId: "theirs", message };
    await writeFile(file, `${JSON.stringify(line)}\n`);
    const calling = { home: world.home, cwd: world.work, env: {} };
    for (const asked of [[], ["--path"], ["--json"]]) {
      const told = await called(calling, "notes", file, ...asked);
      expect(told).toMatchObject({ code: 1, out: "" });
      expect(told.err).toContain("no notes are kept on it");
    }
  });
});

const preload = pathToFileURL(resolve(import.meta.dirname, "child/kill-at.ts")).href;

interface Running {
  readonly prompt?: string;
  readonly rounds?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** One turn on the command line, in which notes are taken. */
function run(world: CompactionWorld, { prompt = "Do part 1.", rounds = 20, env }: Running): Promise<Said> {
  Object.assign(world.worker, { left: rounds, rounds: 0 });
  const { home, work, url, model } = world;
  const own = {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "any",
    PALIMPSEST_CONTEXT_TOKENS: String(windowTokens),
    ...on,
  };
  const args = ["-p", prompt, "--model", model, "--permission-mode", "bypassPermissions"];
  return palimpsest({ home, cwd: work, env: { ...own, NODE_OPTIONS: `--import=${preload}`, ...env } }, ...args);
}

it("the last reply of a one-shot run begins no notes, and earlier rounds do", async () => {
  const long = `Look: ${"one two three four five ".repeat(3_000)}`;
  const begun = async ({ home }: CompactionWorld): Promise<boolean> =>
    (await readdir(home, { recursive: true })).some((path) => path.endsWith("notes.md"));
  const short = await compactionWorld({ windowTokens });
  expect(await run(short, { prompt: long, rounds: 0 })).toMatchObject({ code: 0 });
  expect([short.conversation().length, await begun(short)]).toEqual([1, false]);
  const longer = await compactionWorld({ windowTokens });
  expect(await run(longer, { prompt: long, rounds: 8 })).toMatchObject({ code: 0 });
  expect(await begun(longer)).toBe(true);
});

/** Killed in the middle of this change; earlier where the run had fewer: how many updates there is time for is not the same each time. */
async function killedAt(change: number): Promise<CompactionWorld> {
  const world = await compactionWorld({ windowTokens, variables: on });
  const { signal: by } = await run(world, { env: { KILL_AT: `${change} half` } });
  if (by === "SIGKILL") return world;
  expect(change).toBeGreaterThan(1);
  return killedAt(Math.floor(change * 0.8));
}

it("a kill while notes are taken leaves log and notes whole, and the session goes on", async () => {
  const whole = await compactionWorld({ windowTokens });
  const report = `${whole.home}.json`;
  expect(await run(whole, { env: { KILL_REPORT: report } })).toMatchObject({ code: 0 });
  const changes = JSON.parse(await readFile(report, "utf8")) as string[];
  let begun = 0;
  for (const share of [0.5, 0.7, 0.9]) {
    const world = await killedAt(Math.floor(share * changes.length));
    begun += notesRequests(world).length;
    const project = await openWorkspace({ env: world.env, cwd: world.work }).project();
    if (project.kind === "failed") return expect.unreachable(project.message);
    const [listed] = await project.deps.sessions.list();
    if (listed === undefined) return expect.unreachable("no session");
    const repair = await repairLog(project.deps, {
      id: listed.sessionId,
      circumstances: { cwd: "/project", version: "0.0.0" },
    });
    expect(repair).toMatchObject({ kind: "repaired", left: { damage: [], accepted: [] } });
    const agent = await world.open({ kind: "resume", id: listed.sessionId });
    expect(endOf(await world.turn(agent, { text: "Do part 2.", rounds: 6 }))).toBe("answered");
    await settled(agent);
    const headings = (await readFile(agent.context.conversation.compacting?.notes?.path ?? "", "utf8")).match(
      /^# .+$/gm,
    );
    expect(headings).toEqual(defaultTemplate.sections.map(({ heading }) => heading));
    expect(refused(world.seen)).toEqual([]);
    await agent.close();
  }
  expect(begun).toBeGreaterThan(0);
});
