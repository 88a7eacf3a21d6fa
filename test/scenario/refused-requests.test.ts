import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { checkLog } from "../../packages/palimpsest/src/session/check-log.ts";
import { pastReceipts } from "../../packages/palimpsest/src/session/past-receipts.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { SessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { memoryByteSource } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import type {
  Responder,
  MoveBlock,
  RespondInput,
  PlannedReply,
} from "../../packages/simulator/src/responder/responder.ts";
import { invalid } from "../../packages/simulator/src/refusal.ts";
import { append, text } from "../fixture/session.ts";
import { imagePart } from "../fixture/image.ts";
import { asksForSummary, summaryTake } from "./support/summary-answers.ts";
import { compact } from "./support/compaction-world.ts";
import { type AgentWorld, agentWorld, refused, turn } from "./support/whole-agent.ts";

const [free, bound] = ["claude-opus-5", "claude-opus-5-5"] as const;

/** Thinks before each reply, sums up when asked to, and refuses what a test wants refused. */
const thinker = (refuses: (request: RespondInput["request"]) => string | undefined = () => undefined): Responder => ({
  name: "thinker",
  respond: (input) => {
    const { request } = input;
    const refusal = refuses(request);
    if (refusal !== undefined) return { move: { kind: "refuse", refusal: invalid(refusal) } };
    if (asksForSummary(request)) return summaryTake("good", input);
    const last = JSON.stringify(request.messages.at(-1));
    const blocks: MoveBlock[] = [{ type: "thinking", thinking: "What now?" }];
    if (last.includes("look") && !last.includes("tool_result"))
      blocks.push({ type: "tool_use", name: "bash", input: { command: "seq 1 900" } });
    else blocks.push({ type: "text", text: "Fine." });
    return { move: { kind: "say", blocks } };
  },
});

async function logOf(world: AgentWorld, id: SessionId): Promise<string> {
  const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(id);
  if (found.kind !== "ours") throw new Error(found.kind);
  return found.path;
}

/** A session in whose log one byte of the first signature is another. */
async function spoiled(model: string): Promise<{ readonly world: AgentWorld; readonly id: SessionId }> {
  const world = await agentWorld({ responder: thinker() });
  const agent = await world.open({ kind: "new" }, model);
  await turn(agent, "look at it");
  await turn(agent, "and again: look");
  await agent.close();
  const path = await logOf(world, agent.session.id);
  const log = await readFile(path, "utf8");
  const at = log.indexOf('"signature":"') + '"signature":"'.length + 40;
  await writeFile(path, `${log.slice(0, at)}${log[at] === "A" ? "B" : "A"}${log.slice(at + 1)}`);
  return { world, id: agent.session.id };
}

const leftOutIn = (events: readonly LoopEvent[]) => events.filter((event) => event.kind === "left-out");
const thinkingIn = (agent: Agent): number =>
  agent.session.view().messages.flatMap(({ content }) => content.filter(({ type }) => type === "thinking")).length;

async function receiptsOf(world: AgentWorld, agent: Agent) {
  const source = memoryByteSource(await readFile(await logOf(world, agent.session.id)));
  expect((await checkLog(source)).damage).toEqual([]);
  return pastReceipts(agent.session.fold, source);
}

describe("a thinking signature that the provider refuses", () => {
  it.each([free, bound])("%s: the turn goes on without thinking, once and for all", async (model) => {
    const { world, id } = await spoiled(model);
    const agent = await world.open({ kind: "resume", id }, model);
    const events = await turn(agent, "plain");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(leftOutIn(events)).toMatchObject([{ part: "thinking", count: 4 }]);
    await turn(agent, "look once more");
    await agent.close();
    const again = await world.open({ kind: "resume", id }, model);
    const later = await turn(again, "plain");
    expect(later.at(-1)).toMatchObject({ reason: "answered" });
    expect(leftOutIn(later)).toEqual([]);
    expect(refused(world.seen)).toHaveLength(1);
    // What came since was signed for what stands before it now.
    expect(thinkingIn(again)).toBeGreaterThan(2);
    await again.close();
  });

  it("has a receipt that says why and what it costs, and its undo brings the thinking back", async () => {
    const { world, id } = await spoiled(free);
    const agent = await world.open({ kind: "resume", id }, free);
    await turn(agent, "plain");
    const edits = (await receiptsOf(world, agent)).filter(({ kind }) => kind === "leave-out");
    expect(edits).toMatchObject([
      {
        count: 4,
        cause: "refused",
        because: "messages.1.content.0: Invalid `signature` in `thinking` block",
        undoes: true,
        receipt: { entries: { dropped: 4 } },
      },
    ]);
    expect(edits[0]?.receipt?.price.now).toBeGreaterThan(0);
    expect(thinkingIn(agent)).toBe(1);
    const target = edits[0]?.id ?? expect.unreachable();
    const options = { target, mode: "path", blockingTokens: tokens(900_000), thinking: "free" } as const;
    expect(await undo(agent.session, options)).toMatchObject({ kind: "undone" });
    expect(thinkingIn(agent)).toBe(5);
    await agent.close();
  });

  it("does not keep the user from compacting: the fork leaves it out of its own request", async () => {
    const { world, id } = await spoiled(free);
    const agent = await world.open({ kind: "resume", id }, free);
    const { events, committed } = await compact(agent);
    expect(committed.kind).toBe("committed");
    expect(events.at(-1)).toMatchObject({ kind: "compacted", path: "fork" });
    expect((await turn(agent, "plain")).at(-1)).toMatchObject({ reason: "answered" });
    expect(refused(world.seen)).toHaveLength(1);
    await agent.close();
  });
});

describe("images that the provider refuses", () => {
  const tooMany = "messages: too many images in this request: the limit is 2";
  const images = (request: RespondInput["request"]): number =>
    JSON.stringify(request).split('"type":"image"').length - 1;

  async function withImages(count: number, refuses: (request: RespondInput["request"]) => string | undefined) {
    const world = await agentWorld({ responder: thinker(refuses) });
    const agent = await world.open({ kind: "new" }, free);
    await turn(agent, "plain");
    const content = [...Array.from({ length: count }, () => imagePart()), text("These.")];
    await append(agent.session, { type: "user", message: { role: "user", content } });
    return { world, agent };
  }

  it("are left out, thinking stays, and each is named with the id by which it comes back", async () => {
    const { world, agent } = await withImages(3, (request) => (images(request) > 2 ? tooMany : undefined));
    const events = await turn(agent, "plain");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(leftOutIn(events)).toMatchObject([{ part: "media", count: 1, because: tooMany }]);
    const sent = JSON.stringify(world.seen.at(-1)?.body["messages"]);
    expect(sent).toContain('"type":"thinking"');
    const id = /The original is kept: recall ([\w-]+)\]/.exec(sent)?.[1];
    expect(agent.session.fold.path.entries.some((entry) => entry.id === id)).toBe(true);
    expect(refused(world.seen)).toHaveLength(1);
    await agent.close();
  });

  it("in words that name nothing cost a try for each part that comes before them", async () => {
    const { world, agent } = await withImages(1, (request) => (images(request) > 0 ? "Bad request." : undefined));
    const events = await turn(agent, "plain");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(leftOutIn(events).map(({ part }) => part)).toEqual(["thinking", "media"]);
    expect(refused(world.seen)).toHaveLength(2);
    await agent.close();
  });
});

describe("an image that the provider refuses wherever it stands", () => {
  /** Recalls what the request says is not shown, as often as it says so. */
  const insisting: Responder = {
    name: "insisting",
    respond: ({ request }) => {
      const sent = JSON.stringify(request.messages);
      if (sent.includes('"type":"image"'))
        return { move: { kind: "refuse", refusal: invalid("messages.0.content.0.image: Could not process image") } };
      const id = /The original is kept: recall ([\w-]+)\]/.exec(JSON.stringify(request.messages.at(-1)) + sent)?.[1];
      const isDescribed = sent.includes("not shown: the provider refused it when it was recalled before");
      return id === undefined || isDescribed
        ? { move: { kind: "say", blocks: [{ type: "text", text: "I can't see it." }] } }
        : { move: { kind: "say", blocks: [{ type: "tool_use", name: "recall", input: { id } }] } };
    },
  };

  it("is recalled once more at most: from then on it is described in words", async () => {
    const world = await agentWorld({ responder: insisting });
    const agent = await world.open({ kind: "new" }, free);
    await turn(agent, "plain");
    await append(agent.session, { type: "user", message: { role: "user", content: [imagePart(), text("This.")] } });
    const events = await turn(agent, "What is on it?");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(leftOutIn(events).filter(({ part }) => part === "media")).toHaveLength(2);
    expect(refused(world.seen)).toHaveLength(2);
    await agent.close();
  });
});

describe("a provider that refuses everything for a while", () => {
  /** Reads a file, then changes it, one call a turn. */
  const editor = (path: () => string, state: { isRefusing: boolean }): Responder => ({
    name: "editor",
    respond: ({ request }) => {
      if (state.isRefusing) return { move: { kind: "refuse", refusal: invalid("Bad request.") } };
      const last = JSON.stringify(request.messages.at(-1));
      const said = (blocks: readonly MoveBlock[]): PlannedReply => ({ move: { kind: "say", blocks } });
      if (last.includes("tool_result")) return said([{ type: "text", text: "Done." }]);
      if (last.includes("change it"))
        return said([
          { type: "tool_use", name: "edit", input: { file_path: path(), old_string: "one", new_string: "two" } },
        ]);
      return said([{ type: "tool_use", name: "read", input: { file_path: path() } }]);
    },
  });

  it("leaves what the agent has read as read: the file stands in the view, and may be changed", async () => {
    const state = { isRefusing: false };
    const world: AgentWorld = await agentWorld({ responder: editor(() => join(world.work, "a.txt"), state) });
    const file = join(world.work, "a.txt");
    await writeFile(file, "one\n");
    const agent = await world.open({ kind: "new" }, free);
    await turn(agent, "read it");
    const { fixedTokens } = agent.context.conversation.line;
    state.isRefusing = true;
    const failed = await turn(agent, "and now?");
    expect(failed.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["compacted", "edit"]));
    expect(agent.context.conversation.line.fixedTokens).toBe(fixedTokens);
    state.isRefusing = false;
    const events = await turn(agent, "change it");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(await readFile(file, "utf8")).toBe("two\n");
    expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
    await agent.close();
  });
});
