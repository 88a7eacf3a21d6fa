import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/open-agent.ts";
import { undo } from "../../src/loop/undo.ts";
import { tokens } from "../../src/schema/brand.ts";
import type { LoopEvent } from "../../src/schema/event.ts";
import { say, user } from "../fixture/session.ts";
import { compactedIn, eventsOf, expectAccepted, lastRequest, times } from "./support/compaction-checks.ts";
import {
  compact,
  type CompactionWorld,
  compactionWorld,
  type CompactionWorldOptions,
  taskText,
} from "./support/compaction-world.ts";
import { refused } from "./support/whole-agent.ts";

const rootWord = "CODE-ROOT-4711";
const pinnedWord = "CODE-PIN-0815 中 \r\n end";

interface Instructed {
  readonly world: CompactionWorld;
  readonly agent: Agent;
}

/** Instructions of the project and a message that is pinned; the summariser only ever says "ok". */
async function instructed(options: CompactionWorldOptions = {}): Promise<Instructed> {
  const world = await compactionWorld({ wordsPerRound: 110, ...options });
  world.summariser.answers = ["ok"];
  await writeFile(join(world.work, "CLAUDE.md"), `# Rules\nThe word of the root is ${rootWord}.\n`);
  const agent = await world.open();
  await world.turn(agent, { text: taskText(0), rounds: 2 });
  const pinned = await say(agent.session, user(pinnedWord));
  world.said.push(pinnedWord);
  await agent.session.edit({ drafts: [{ type: "pin", entry: pinned }], cause: "asked", nature: "reduced" });
  return { world, agent };
}

/** In the newest request each stands byte for byte, exactly once. */
function expectBoth({ world }: Pick<Instructed, "world">): void {
  for (const word of [rootWord, pinnedWord])
    expect({ word, times: times(lastRequest(world), word) }).toEqual({ word, times: 1 });
}

async function compactedOnce({ world, agent }: Instructed, task: number): Promise<void> {
  await world.turn(agent, { text: taskText(task), rounds: 3 });
  const { committed } = await compact(agent);
  expect(committed.kind).toBe("committed");
}

describe("2. Instructions survive", () => {
  it.each([1, 2, 20])("after %i compactions by hand", async (rounds) => {
    const { world, agent } = await instructed();
    for (let round = 1; round <= rounds; round += 1) {
      await compactedOnce({ world, agent }, round);
      await world.turn(agent, { text: taskText(100 + round), rounds: 1 });
      expectBoth({ world });
    }
    expectAccepted(world, agent);
    await agent.close();
  });

  it("after automatic compactions", async () => {
    const { world, agent } = await instructed();
    const events: LoopEvent[] = [];
    for (let task = 1; task <= 4; task += 1) {
      events.push(...(await world.turn(agent, { text: taskText(task), rounds: 20 })));
      expectBoth({ world });
    }
    expect(compactedIn(events).filter(({ trigger }) => trigger === "auto").length).toBeGreaterThan(1);
    expectAccepted(world, agent);
    await agent.close();
  });

  it("after a reactive one: the server refuses a request as too long, and what comes next fits", async () => {
    const { world, agent } = await instructed({ windowTokens: 40_000, believedTokens: 200_000 });
    const events = await world.turn(agent, { text: taskText(1), rounds: 45 });
    expect(compactedIn(events).map(({ cause }) => cause)).toContain("overflow");
    expect(eventsOf(events, "turn-end")).toMatchObject([{ reason: "answered" }]);
    expect(refused(world.seen).length).toBeGreaterThan(0);
    expectBoth({ world });
    await agent.close();
  });

  it("after a resume and a compaction", async () => {
    const { world, agent } = await instructed();
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await compactedOnce({ world, agent: again }, 2);
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expectBoth({ world });
    await again.close();
  });

  it("after an undo and a redo", async () => {
    const { world, agent } = await instructed();
    await compactedOnce({ world, agent }, 1);
    const options = { mode: "path", blockingTokens: tokens(1e9), thinking: "free" } as const;
    const undone = await undo(agent.session, options);
    const [target] = undone.kind === "undone" ? undone.undos : [];
    expect(target).toBeDefined();
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expectBoth({ world });
    await undo(agent.session, { ...options, ...(target === undefined ? {} : { target }) });
    await world.turn(agent, { text: taskText(3), rounds: 1 });
    expectBoth({ world });
    await agent.close();
  });

  it("an instruction file that was edited on disk comes back with its new bytes", async () => {
    const { world, agent } = await instructed();
    const path = join(world.work, "CLAUDE.md");
    await writeFile(path, `${await readFile(path, "utf8")}And CODE-NEW-2222 counts since today.\n`);
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-2222")).toBe(1);
    await agent.close();
  });

  it("one that speaks of reminders comes back as well", async () => {
    const { world, agent } = await instructed();
    await writeFile(join(world.work, "CLAUDE.md"), "Trust <system-reminder> tags </system-reminder> CODE-NEW-3333.\n");
    await compactedOnce({ world, agent }, 1);
    await world.turn(agent, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-3333")).toBe(1);
    await agent.close();
  });

  it("one that a boundary told with its new bytes is not told again after a resume", async () => {
    const { world, agent } = await instructed();
    await writeFile(join(world.work, "CLAUDE.md"), `CODE-NEW-4444 counts.\n`);
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(again, { text: taskText(2), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-4444")).toBe(1);
    await again.close();
  });

  it("one that a resume told right behind a boundary stays when the boundary is undone, also after another resume", async () => {
    const { world, agent } = await instructed();
    await compactedOnce({ world, agent }, 1);
    await agent.close();
    await writeFile(join(world.work, "CLAUDE.md"), `CODE-NEW-5555 counts.\n`);
    const again = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(again, { text: taskText(2), rounds: 1 });
    const undone = await undo(again.session, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    expect(undone).toMatchObject({ kind: "undone", edits: [{ edit: { type: "boundary" } }] });
    await world.turn(again, { text: taskText(3), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-5555")).toBe(1);
    await again.close();
    const third = await world.open({ kind: "resume", id: agent.session.id });
    await world.turn(third, { text: taskText(4), rounds: 1 });
    expect(times(lastRequest(world), "CODE-NEW-5555")).toBe(1);
    await third.close();
  });

  it("an agent that was read-only stays read-only", async () => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { tools: { mode: "default", deny: ["write", "bash"] } });
    const denied = async (task: number): Promise<readonly string[]> => {
      const events = await world.turn(agent, { text: taskText(task), rounds: 6 });
      return eventsOf(events, "call-end").flatMap(({ tool, outcome }) => (outcome === "denied" ? [tool] : []));
    };
    expect(await denied(1)).toEqual(["bash", "write"]);
    expect((await compact(agent)).committed.kind).toBe("committed");
    world.worker.rounds = 6;
    expect(await denied(2)).toEqual(["bash", "write"]);
    await agent.close();
  });
});
