import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { toUsd } from "../../packages/palimpsest/src/cache/cost-ledger.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { pastReceipts } from "../../packages/palimpsest/src/session/past-receipts.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import type { Block } from "../../packages/palimpsest/src/schema/block.ts";
import { type EntryId, nanoUsd, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { Receipt } from "../../packages/palimpsest/src/schema/receipt.ts";
import { estimateBlock } from "../../packages/palimpsest/src/tokens/estimate-block.ts";
import {
  compactedIn,
  expectAccepted,
  expectRecoverable,
  lastRequest,
  saidIn,
  summaryRequests,
} from "./support/compaction-checks.ts";
import {
  commit,
  compact,
  type CompactionWorld,
  compactionWorld,
  type OpenWishes,
  propose,
  taskText,
} from "./support/compaction-world.ts";
import type { SummaryAnswer } from "./support/summary-answers.ts";

const shownTokens = ({ session }: Agent, count: (block: Block) => number): number =>
  session.fold
    .shown()
    .values()
    .reduce((sum, blocks) => sum + blocks.reduce((of, block) => of + count(block), 0), 0);

/** On the scale of the provider's count, as a reason is. */
function counterOf(agent: Agent): (block: Block) => number {
  const { size, fixedTokens } = agent.session.ledger;
  expect(size.source).toBe("usage");
  const estimated = shownTokens(agent, estimateBlock);
  return (block) => Math.round((estimateBlock(block) * (size.tokens - fixedTokens)) / estimated);
}

const bytesShown = ({ session }: Agent): string => JSON.stringify(session.view().messages);

const undoOptions = { mode: "path", blockingTokens: tokens(1e9), thinking: "free" } as const;

async function worked(
  rounds: number,
  flags: OpenWishes["flags"] = [],
): Promise<{ readonly world: CompactionWorld; readonly agent: Agent }> {
  const world = await compactionWorld();
  const agent = await world.open({ kind: "new" }, { flags });
  await world.turn(agent, { text: taskText(1), rounds });
  return { world, agent };
}

function expectExact(
  { lines, tokensBefore, tokensAfter }: Receipt,
  views: { readonly before: number; readonly after: number },
): void {
  expect(new Set(lines.map(({ entry }) => entry)).size).toBe(lines.length);
  expect({ before: tokensBefore, after: tokensAfter }).toEqual(views);
  expect(lines.reduce((sum, line) => sum + line.tokensBefore, 0)).toBe(tokensBefore);
  expect(lines.reduce((sum, line) => sum + line.tokensAfter, 0)).toBe(tokensAfter);
}

/** The message of this task. */
function entryOf({ session }: Agent, task: number): EntryId {
  const words = `Task ${task}, `;
  const said = session.fold.path.entries.findLast(
    (one) => one.kind === "user" && JSON.stringify(one.blocks).includes(words),
  );
  if (said?.id === undefined) throw new Error("the message is gone");
  return said.id;
}

describe("13. Receipts and undo: compactions that the engine plans and runs", () => {
  it.each<[string, readonly SummaryAnswer[]]>([
    ["fork", ["good"]],
    ["stream", ["tool-call", "good"]],
    ["extractive", ["nonsense"]],
  ])("by %s: the receipt has every entry in one class and sums equal to the two views", async (path, answers) => {
    const { world, agent } = await worked(8);
    world.summariser.answers = answers;
    const count = counterOf(agent);
    const before = shownTokens(agent, count);
    const { committed, events } = await compact(agent);
    if (committed.kind !== "committed") throw new Error(committed.message);
    expect(compactedIn(events)).toMatchObject([{ path }]);
    expectExact(committed.receipt, { before, after: shownTokens(agent, count) });
    await agent.close();
  });

  it("an automatic one has a receipt in the log, like every rewrite", async () => {
    const { world, agent } = await worked(8);
    const events = await world.turn(agent, { text: taskText(2), rounds: 30 });
    const [compacted] = compactedIn(events);
    expect(compacted?.price.readRate).toBeGreaterThan(0);
    await agent.close();
    const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(agent.session.id);
    if (found.kind !== "ours") throw new Error(found.kind);
    const source = await found.deps.transcripts.openForReading(agent.session.id);
    if (source === undefined) throw new Error("the log is gone");
    const recorded = await pastReceipts(agent.session.fold, source);
    expect(recorded.find(({ id }) => id === compacted?.entries[0])).toMatchObject({ kind: "boundary", cause: "auto" });
    for (const { receipt } of recorded) expect(receipt?.tokensAfter).toBeLessThan(receipt?.tokensBefore ?? 0);
    await source.close();
  });

  it("the preview's receipt is that of the commit, and a proposal that is cancelled leaves the view as it was", async () => {
    const { agent } = await worked(8);
    const before = bytesShown(agent);
    const first = await propose(agent);
    if (first.proposed.kind !== "proposed") throw new Error(first.proposed.message);
    await agent.context.compaction.cancel(first.proposed.proposal);
    expect(bytesShown(agent)).toBe(before);
    const { proposed } = await propose(agent);
    if (proposed.kind !== "proposed") throw new Error(proposed.message);
    const { committed } = await commit(agent, proposed.proposal);
    if (committed.kind !== "committed") throw new Error(committed.message);
    const { receipt } = proposed.proposal.preview;
    expect([committed.receipt.tokensBefore, committed.receipt.tokensAfter]).toEqual([
      receipt.tokensBefore,
      receipt.tokensAfter,
    ]);
    await agent.close();
  });

  it("the money of a compaction, and of the session with it, is the simulator's bill", async () => {
    const { world, agent } = await worked(8);
    world.summariser.answers = ["tool-call", "good"];
    const { events } = await compact(agent);
    const asked = summaryRequests(world);
    expect(asked).toHaveLength(2);
    const billed = asked.reduce((sum, { costUsd }) => sum + costUsd, 0);
    const [compacted] = compactedIn(events);
    expect(toUsd(compacted?.costNanos ?? nanoUsd(0))).toBeCloseTo(billed, 8);
    const all = world.seen.reduce((sum, { costUsd }) => sum + costUsd, 0);
    expect(toUsd(agent.context.conversation.costs.toJSON().session.totalNanos)).toBeCloseTo(all, 8);
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    expect(toUsd(again.context.conversation.costs.toJSON().session.totalNanos)).toBeCloseTo(all, 8);
    await again.close();
  });

  it("the audit's score is in the event and in the boundary: a good summary's is higher than a lie's", async () => {
    const scores: number[] = [];
    for (const answer of ["good", "lies"] as const) {
      const { world, agent } = await worked(8);
      world.summariser.answers = [answer];
      const { committed, events } = await compact(agent);
      if (committed.kind !== "committed") throw new Error(committed.message);
      expect(compactedIn(events)[0]?.auditScore).toBe(committed.audit.score);
      scores.push(committed.audit.score);
      await world.turn(agent, { text: taskText(2), rounds: 0 });
      expect(saidIn(lastRequest(world))).toEqual(world.said);
      await agent.close();
    }
    expect(scores[0]).toBeGreaterThan(scores[1] ?? 1);
  });

  it("undo gives the byte-identical view, three levels deep, and everything comes back by its id", async () => {
    const { world, agent } = await worked(6, [["off", "compact.auto"]]);
    for (const task of [2, 3]) await world.turn(agent, { text: taskText(task), rounds: 4 });
    const upTo = (task: number) => ({ kind: "up_to", entry: entryOf(agent, task) }) as const;
    const views: string[] = [];
    for (const part of [upTo(2), upTo(3), { kind: "all" } as const]) {
      views.push(bytesShown(agent));
      expect((await compact(agent, { part })).committed.kind).toBe("committed");
    }
    expect(await expectRecoverable(world, { id: agent.session.id })).toBeGreaterThan(40);
    for (const view of views.toReversed()) {
      expect((await undo(agent.session, undoOptions)).kind).toBe("undone");
      expect(bytesShown(agent)).toBe(view);
    }
    await agent.close();
  });

  it("after new turns the original comes back with the new turns behind it", async () => {
    const { world, agent } = await worked(6);
    const before = agent.session.view().messages;
    expect((await compact(agent)).committed.kind).toBe("committed");
    await world.turn(agent, { text: taskText(2), rounds: 2 });
    expect((await undo(agent.session, undoOptions)).kind).toBe("undone");
    const now = agent.session.view().messages;
    expect(JSON.stringify(now.slice(0, before.length - 1))).toBe(JSON.stringify(before.slice(0, -1)));
    expect(JSON.stringify(now)).toContain(taskText(2).replaceAll('"', String.raw`\"`));
    const events: readonly LoopEvent[] = await world.turn(agent, { text: taskText(3), rounds: 1 });
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expectAccepted(world, agent);
    await agent.close();
  });

  it.each(["from", "up_to"] as const)("a partial one (%s) leaves the other part byte for byte", async (kind) => {
    const { world, agent } = await worked(4);
    await world.turn(agent, { text: taskText(2), rounds: 4 });
    const entry = entryOf(agent, 2);
    const before = agent.session.view().messages;
    const at = before.findIndex(({ content }) => JSON.stringify(content).includes("Task 2, "));
    const { committed } = await compact(agent, { part: { kind, entry } });
    if (committed.kind !== "committed") throw new Error(committed.message);
    const now = agent.session.view().messages;
    const part = kind === "from" ? before.slice(0, at) : before.slice(at);
    const kept = part.map((message) => JSON.stringify(message.content).slice(1, -1));
    for (const content of kept) expect(JSON.stringify(now)).toContain(content);
    expect(now.length).toBeLessThan(before.length);
    await world.turn(agent, { text: taskText(3), rounds: 1 });
    expectAccepted(world, agent);
    await agent.close();
  });
});
