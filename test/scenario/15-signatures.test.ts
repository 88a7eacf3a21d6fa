import { readFile, rm, writeFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";
import { type SessionId, sessionId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Responder, MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { expectAccepted, summaryRequests } from "./support/compaction-checks.ts";
import { compact, compactionWorld, taskText } from "./support/compaction-world.ts";
import { type AgentWorld, agentWorld, firstBreak, refused, type SeenRequest, turn } from "./support/whole-agent.ts";

const [free, bound, alsoBound] = ["claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5"] as const;

const thinks = (thinking: string): MoveBlock => ({ type: "thinking", thinking });
const hides = (thinking: string): MoveBlock => ({ type: "redacted_thinking", thinking });
const says = (text: string): MoveBlock => ({ type: "text", text });
const calls = (command: string): MoveBlock => ({ type: "tool_use", name: "bash", input: { command } });

/** By what is asked: an answer behind thinking, behind hidden thinking, a loop of calls, or one that is cut off. */
const thinker: Responder = {
  name: "thinker",
  respond: ({ request }) => {
    const { content } = request.messages.at(-1) ?? { content: "" };
    const blocks = typeof content === "string" ? [] : content;
    const asked = blocks.findLast(({ type }) => type === "text");
    const kind = asked?.type === "text" ? asked.text : "";
    const said = ((): MoveBlock[] => {
      if (kind === "loop") return [thinks("A call first."), says("Looking."), calls("echo one"), calls("echo two")];
      if (kind === "large") return [thinks("A large one."), calls("seq 1 20000")];
      if (kind === "hidden") return [hides("Nobody sees this."), says("Hidden.")];
      if (kind === "cut") return [thinks("Long."), says("First."), says("x".repeat(5000)), calls("echo never")];
      return [thinks("And now?"), hides("Hm."), says("Plain.")];
    })();
    return { move: { kind: "say", blocks: said } };
  },
};

const kinds = ["plain", "hidden", "loop", "cut"] as const;

/** Turns of every kind with one model, the last of them interrupted in its second text. */
async function talk(world: AgentWorld, model: string, id?: SessionId): Promise<SessionId> {
  const agent = await world.open(id === undefined ? { kind: "new" } : { kind: "resume", id }, model);
  for (const kind of kinds) {
    const abort = new AbortController();
    for await (const event of agent.turn(kind, abort.signal))
      if (kind === "cut" && event.kind === "text-delta" && event.text.startsWith("xx")) abort.abort();
  }
  await agent.close();
  return agent.session.id;
}

const messagesOf = ({ body }: SeenRequest): readonly Message[] => body["messages"] as unknown as Message[];

const signed = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ content }) =>
    content.filter(({ type }) => type.endsWith("thinking")).map((block) => JSON.stringify(block)),
  );

const pathOf = async (world: AgentWorld, id: SessionId): Promise<string> => {
  const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(id);
  if (found.kind !== "ours") throw new Error(found.kind);
  return found.path;
};

/** Signed blocks as the replies brought them: the log keeps a reply's blocks as they came. */
async function brought(world: AgentWorld, id: SessionId): Promise<ReadonlySet<string>> {
  const lines = (await readFile(await pathOf(world, id), "utf8")).trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as { type: string; message?: Message });
  return new Set(signed(entries.flatMap(({ type, message }) => (type === "assistant" && message ? [message] : []))));
}

const routes = [
  [free, bound],
  [bound, free],
  [bound, alsoBound],
  [free, "claude-sonnet-4-6"],
] as const;

describe("15. Signatures", () => {
  it.each(routes)("%s → %s → back: nothing is refused, kept signed blocks are those that came", async (one, other) => {
    const world = await agentWorld({ responder: thinker });
    const id = await talk(world, one);
    await writeFile(join(world.work, "CLAUDE.md"), "Rules that came later.\n");
    await talk(world, other, id);
    await talk(world, one, id);
    expect(refused(world.seen)).toEqual([]);
    for (const model of [one, other])
      expect(firstBreak(world.seen.filter(({ body }) => body["model"] === model))).toBeUndefined();
    const came = await brought(world, id);
    for (const request of world.seen) {
      expect(violations(messagesOf(request))).toEqual([]);
      for (const block of signed(messagesOf(request))) expect(came).toContain(block);
    }
    expect(came.size).toBeGreaterThan(15);
  });

  it("an interrupted reply keeps the blocks that came whole, its thinking with them", async () => {
    const world = await agentWorld({ responder: thinker });
    const id = await talk(world, bound);
    const agent = await world.open({ kind: "resume", id }, bound);
    await turn(agent, "plain");
    await agent.close();
    const sent = JSON.stringify(world.seen.at(-1)?.body);
    expect(sent).toContain('"thinking":"Long."');
    expect(sent).toContain("First.");
    expect(sent).not.toContain("xxx");
    expect(refused(world.seen)).toEqual([]);
  });

  it.each([free, bound])("a log of %s that was cut behind any entry can be gone on with", async (model) => {
    const world = await agentWorld({ responder: thinker });
    const id = await talk(world, model);
    const path = await pathOf(world, id);
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    for (let kept = 1; kept <= lines.length; kept += 1) {
      const copy = sessionId(randomUUID());
      await writeFile(join(dirname(path), `${copy}.jsonl`), `${lines.slice(0, kept).join("\n")}\n`);
      const agent = await world.open({ kind: "resume", id: copy }, model);
      expect({ kept, end: (await turn(agent, "plain")).at(-1) }).toMatchObject({ kept, end: { reason: "answered" } });
      await agent.close();
    }
    expect(lines.length).toBeGreaterThan(12);
    expect(refused(world.seen)).toEqual([]);
  });

  it("thinking behind an undone edit is not sent, and the rewriting is told before it is", async () => {
    const world = await agentWorld({ responder: thinker });
    const agent = await world.open({ kind: "new" }, bound);
    const events = [...(await turn(agent, "large")), ...(await turn(agent, "loop"))];
    expect(events).toContainEqual(expect.objectContaining({ kind: "edit", what: "offload" }));
    const options = { mode: "path", blockingTokens: tokens(900_000), thinking: "bound" } as const;
    expect(await undo(agent.session, options)).toMatchObject({ kind: "undone" });
    const after = await turn(agent, "plain");
    await agent.close();
    expect(refused(world.seen)).toEqual([]);
    expect(after.at(-1)).toMatchObject({ reason: "answered" });
    const told = after.filter(({ kind }) => kind === "cache-break" || kind === "request-start");
    const cause = "message 2 changed at its block 0";
    expect(told).toMatchObject([{ kind: "cache-break", cause }, { kind: "request-start" }]);
  });

  it("thinking whose prefix is lost is left to the server to drop, and the rewriting is told before it is sent", async () => {
    const world = await agentWorld({ responder: thinker });
    const id = await talk(world, bound);
    await rm(join(dirname(await pathOf(world, id)), "blobs"), { recursive: true });
    await writeFile(join(world.work, "CLAUDE.md"), "Rules that came later.\n");
    const agent = await world.open({ kind: "resume", id }, bound);
    const events = await turn(agent, "plain");
    await agent.close();
    expect(refused(world.seen)).toEqual([]);
    const told = events.filter(({ kind }) => kind === "cache-break" || kind === "request-start");
    const cause = "block 0 of the system prompt changed";
    expect(told).toMatchObject([{ kind: "cache-break", cause }, { kind: "request-start" }]);
  });

  /** Thinks before each call; `read 9` makes nine of them, one a round. */
  const reading: Responder = {
    name: "reading",
    respond: ({ request }) => {
      const blocks = request.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
      const asked = blocks.findLastIndex(({ type }) => type === "text");
      const words = blocks[asked];
      const rounds = Number(/read (\d+)/.exec(words?.type === "text" ? words.text : "")?.[1] ?? 0);
      const done = blocks.slice(asked).filter(({ type }) => type === "tool_result").length;
      const nth = blocks.filter(({ type }) => type === "tool_result").length;
      const said =
        done < rounds
          ? [thinks(`Round ${nth}.`), calls(`echo ${nth}; seq 1 800`)]
          : [thinks(`At ${nth}.`), says("Done.")];
      return { move: { kind: "say", blocks: said } };
    },
  };

  it.each([bound, free])(
    "%s: thinking behind a clear that the engine plans is dropped where it is bound, and nothing is refused",
    async (model) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 15, 9) });
      onTestFinished(() => void vi.useRealTimers());
      const world = await agentWorld({ responder: reading });
      const agent = await world.open({ kind: "new" }, model);
      expect((await turn(agent, "Hello.")).at(-1)).toMatchObject({ reason: "answered" });
      await turn(agent, "read 8");
      const before = signed(messagesOf(world.seen.at(-1) ?? noRequest));
      vi.setSystemTime(Date.now() + 86_400_000);
      const events = await turn(agent, "And now?");
      expect(events).toContainEqual(expect.objectContaining({ kind: "cleared", what: "clear" }));
      const after = signed(messagesOf(world.seen.at(-1) ?? noRequest));
      expect(before).toHaveLength(9);
      // The first turn's, and that of the call whose result is the first to go.
      expect(after).toEqual(model === bound ? before.slice(0, 2) : [...before, ...after.slice(before.length)]);
      expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
      await turn(agent, "read 2");
      await agent.close();
      expect(refused(world.seen)).toEqual([]);
    },
  );

  it("a clear within a tool loop leaves the loop its thinking: what does not fit any more is the server's to drop", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 15, 9) });
    onTestFinished(() => void vi.useRealTimers());
    const world = await agentWorld({ responder: reading });
    const agent = await world.open({ kind: "new" }, bound);
    const cleared: number[] = [];
    for await (const event of agent.turn("read 12", new AbortController().signal)) {
      // A tool that takes an hour: the cache is cold in the middle of the loop.
      if (event.kind === "call-end" && world.seen.length === 9) vi.setSystemTime(Date.now() + 3_600_000);
      if (event.kind === "cleared") cleared.push(world.seen.length);
    }
    await agent.close();
    expect(cleared).toEqual([9]);
    expect(signed(messagesOf(world.seen.at(-1) ?? noRequest))).toHaveLength(12);
    expect(refused(world.seen)).toEqual([]);
  });
});

const noRequest: SeenRequest = { body: { messages: [] }, answer: "accepted", costUsd: 0 };

describe("15. Signatures: compactions that the engine plans and runs", () => {
  it.each([free, bound, alsoBound])(
    "%s: thinking behind one passes, by itself and by hand, and a resume",
    async (model) => {
      const world = await compactionWorld({ model, thinking: "signed" });
      const agent = await world.open();
      await world.turn(agent, { text: taskText(1), rounds: 8 });
      expect((await compact(agent)).committed.kind).toBe("committed");
      const before = world.seen.length;
      for (let task = 2; task <= 4; task += 1) await world.turn(agent, { text: taskText(task), rounds: 10 });
      expect(world.summariser.asked.length).toBeGreaterThan(1);
      expect(
        world.seen.slice(before).filter((request) => signed(messagesOf(request)).length > 0).length,
      ).toBeGreaterThan(10);
      expectAccepted(world, agent);
      await agent.close();
      const again = await world.open({ kind: "resume", id: agent.session.id });
      await world.turn(again, { text: taskText(5), rounds: 2 });
      expectAccepted(world, again);
      await again.close();
    },
  );

  it.each([free, bound])("%s: the plain summariser's input has no thinking", async (model) => {
    const world = await compactionWorld({ model, thinking: "signed" });
    world.summariser.answers = ["tool-call", "good"];
    const agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 8 });
    expect((await compact(agent)).events.at(-1)).toMatchObject({ kind: "compacted", path: "stream" });
    const [fork, plain] = summaryRequests(world);
    expect(JSON.stringify(fork?.body["messages"])).toContain("signature");
    expect(JSON.stringify(plain?.body["messages"])).not.toContain("signature");
    await agent.close();
  });
});
