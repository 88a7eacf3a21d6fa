import { describe, expect, it } from "vitest";
import { canServerCompact } from "../../packages/palimpsest/src/layers/4-compact/compact-when-due.ts";
import { appendBoundary, type BoundaryInput } from "../../packages/palimpsest/src/session/append-boundary.ts";
import {
  type ServerCall,
  askServerSummary,
  type ServerSummaryOutcome,
} from "../../packages/palimpsest/src/context/compact/server-call.ts";
import { serverSummaryDraft } from "../../packages/palimpsest/src/context/compact/boundary-draft.ts";
import { ConversationForks } from "../../packages/palimpsest/src/loop/conversation-forks.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { makeBaseline } from "../../packages/palimpsest/src/cache/baseline.ts";
import { parseSpent } from "../../packages/palimpsest/src/cache/usage-split.ts";
import { type EntryId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import {
  type ClearingAgent,
  type ClearingWorld,
  clearingWorld,
  reader,
  type WorldAgent,
} from "./support/clearing-world.ts";
import { refused, type SeenRequest } from "./support/whole-agent.ts";

const summary = "They read files, one after the other.";
const flags = [["on", "compact.server"]] as const;
const free = "claude-opus-5";
const bound = "claude-opus-5-5";

/** Works as the reader does, and sums up where it is asked to. */
const summing: Responder = {
  name: "summing",
  respond: (input) =>
    input.purpose === "compaction"
      ? { move: { kind: "say", blocks: [{ type: "text", text: `<summary>${summary}</summary>` }] } }
      : reader.respond(input),
};

const world = (options: SimulatorOptions = {}): ClearingWorld => clearingWorld({ responder: summing, ...options });

interface Worked {
  readonly world: ClearingWorld;
  readonly agent: ClearingAgent;
}

async function worked(options: WorldAgent = {}, simulated: SimulatorOptions = {}): Promise<Worked> {
  const one = world(simulated);
  const agent = await one.agent("create", { flags, ...options });
  await agent.turn("read 6 × 150");
  return { world: one, agent };
}

const mayCompact = ({ conversation, deps }: ClearingAgent): boolean => {
  const { policy, switches } = deps.settings();
  return canServerCompact({ policy, isOn: (name) => switches[name].value, offers: conversation.cache?.server.offers });
};

const asked = (agent: ClearingAgent, call: Partial<ServerCall> = {}): Promise<ServerSummaryOutcome> =>
  askServerSummary(agent.deps, {
    conversation: agent.conversation,
    instructions: "Sum up.",
    signal: new AbortController().signal,
    ...call,
  });

type Block = Extract<ServerSummaryOutcome, { kind: "block" }>;

async function summed(agent: ClearingAgent, call: Partial<ServerCall> = {}): Promise<Block> {
  const outcome = await asked(agent, call);
  if (outcome.kind !== "block") throw new Error(outcome.message);
  return outcome;
}

const beside = "The person said: read.";

async function compact(
  { world: { deps }, agent }: Worked,
  { summarised, ...more }: { readonly summarised?: Block } & Partial<Pick<BoundaryInput, "kept">> = {},
): Promise<EntryId> {
  const draft = serverSummaryDraft({
    summarised: summarised ?? (await summed(agent)),
    carried: "",
    ledger: beside,
    trigger: "auto",
  });
  const edited = await appendBoundary(deps, agent.session, { ...draft, trigger: "auto", ...more });
  if (edited.kind !== "edited") throw new Error(edited.message);
  agent.conversation.breaks.expect("compaction");
  return edited.entries[0] ?? expect.unreachable();
}

const lastOf = ({ seen }: ClearingWorld): SeenRequest => seen.at(-1) ?? expect.unreachable();
const messagesOf = ({ body }: SeenRequest): readonly JsonObject[] => body["messages"] as readonly JsonObject[];
const endOf = (events: readonly LoopEvent[]): LoopEvent | undefined => events.at(-1);
const answered = { kind: "turn-end", reason: "answered" };

const readShare = ({ calls }: Block): number => {
  const [spent] = parseSpent(calls[0]?.usage ?? {});
  const { cacheReadTokens = 0, inputTokens = 0, cacheWrite5mTokens = 0 } = spent?.usage ?? {};
  return cacheReadTokens / (cacheReadTokens + inputTokens + cacheWrite5mTokens);
};

describe("a summary that the provider writes", () => {
  it("is asked for with the conversation's own request, reads it from the cache and writes nothing there", async () => {
    const { world: one, agent } = await worked();
    const before = messagesOf(lastOf(one)).length;
    const summarised = await summed(agent);
    expect(summarised.text).toBe(summary);
    expect(readShare(summarised)).toBeGreaterThanOrEqual(0.95);
    expect(parseSpent(summarised.calls[0]?.usage ?? {})[0]?.usage.cacheWrite5mTokens).toBe(0);
    expect(messagesOf(lastOf(one))).toHaveLength(before + 1);
    expect(lastOf(one).body["compaction"]).toEqual({ type: "summarize", instructions: "Sum up." });
    expect(refused(one.seen)).toEqual([]);
  });

  it("is booked as compaction, once", async () => {
    const { agent } = await worked();
    const { calls } = await summed(agent);
    expect(calls.map(({ path, model }) => [path, model])).toEqual([["server", free]]);
    expect(agent.conversation.costs.toJSON().bySource.compact?.requests).toBe(1);
  });

  it("leaves the session as it was until it is written", async () => {
    const { agent } = await worked();
    const before = agent.session.view();
    await summed(agent);
    expect(agent.session.view()).toEqual(before);
  });

  it.each([
    { what: "nobody turned it on", options: { flags: [] }, model: free },
    { what: "the model does not offer it", options: { flags }, model: "claude-haiku-4-5" },
    { what: "the policy never compacts", options: { flags: [...flags, ["policy", "none"]] as const }, model: free },
  ])("is not asked for where $what", async ({ options, model }) => {
    const { agent, world: one } = await worked({ ...options, model });
    expect(mayCompact(agent)).toBe(false);
    expect(refused(one.seen)).toEqual([]);
  });

  it("is asked for where it is on and offered, and edits of the server's are not asked for beside it", async () => {
    const { agent, world: one } = await worked({ flags: [...flags, ["policy", "api"]] });
    expect(mayCompact(agent)).toBe(false);
    const both = await worked({ flags: [...flags, ["policy", "claude-code-2026-all"]] });
    expect(mayCompact(both.agent)).toBe(true);
    expect(both.world.seen.every(({ body }) => body["context_management"] === undefined)).toBe(true);
    expect(readShare(await summed(both.agent))).toBeGreaterThanOrEqual(0.95);
    expect(refused([...one.seen, ...both.world.seen])).toEqual([]);
  });
});

describe("behind a boundary that the provider's block stands for", () => {
  it("requests begin with the block, as it was given, and what stands beside it", async () => {
    const work = await worked();
    const summarised = await summed(work.agent);
    await compact(work, { summarised });
    expect(endOf(await work.agent.turn("And now?"))).toMatchObject(answered);
    const [first, second, ...others] = messagesOf(lastOf(work.world));
    expect(first).toEqual({ role: "assistant", content: [summarised.block] });
    expect(JSON.stringify(second)).toContain(beside);
    expect(JSON.stringify(second)).not.toContain(summary);
    expect(JSON.stringify(second)).toContain("And now?");
    expect(others).toEqual([]);
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("the next request reads what the first one wrote", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.turn("read 2 × 300");
    const events = await work.agent.turn("And then?");
    const [usage] = events.flatMap((event) => (event.kind === "reply-end" ? [event.usage] : []));
    const { cacheRead = 0, cacheWrite = 0, input = 0 } = usage ?? {};
    expect(cacheRead / (cacheRead + cacheWrite + input)).toBeGreaterThan(0.9);
    expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
  });

  it("a second one covers the first: one block stands in front", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.turn("read 3 × 150");
    const second = await summed(work.agent);
    expect(readShare(second)).toBeGreaterThanOrEqual(0.95);
    await compact(work, { summarised: second });
    expect(endOf(await work.agent.turn("And now?"))).toMatchObject(answered);
    expect(messagesOf(lastOf(work.world))[0]).toEqual({ role: "assistant", content: [second.block] });
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("our own summary takes its place, and a fork reads it before that", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.turn("read 2 × 100");
    const forks = new ConversationForks(work.agent);
    const permit = (): Promise<{ kind: "allowed" }> => Promise.resolve({ kind: "allowed" });
    const task = { directive: "Note it.", source: "compact", roundsMax: 1, cacheWrite: "skip", permit } as const;
    expect(await forks.run(task, new AbortController().signal)).toMatchObject({ kind: "answered" });
    await appendBoundary(work.world.deps, work.agent.session, { summary: "Ours.", trigger: "auto" });
    expect(endOf(await work.agent.turn("And now?"))).toMatchObject(answered);
    expect(JSON.stringify(lastOf(work.world).body)).not.toContain("compaction");
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("a session goes on with the same bytes after a resume, whatever is turned on then", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.turn("And now?");
    const before = JSON.stringify(messagesOf(lastOf(work.world))[0]);
    await work.agent.session.close();
    const again = await work.world.agent("resume", { flags: [] });
    expect(endOf(await again.turn("And then?"))).toMatchObject(answered);
    expect(JSON.stringify(messagesOf(lastOf(work.world))[0])).toBe(before);
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("another model is told its text, and so is one that knows no such blocks", async () => {
    const work = await worked();
    const { block } = await summed(work.agent);
    await compact(work);
    await work.agent.session.close();
    for (const model of ["claude-haiku-4-5", "claude-opus-4-8", free]) {
      const other = await work.world.agent("resume", { flags: [], model });
      expect(endOf(await other.turn(`And now, ${model}?`))).toMatchObject(answered);
      const [first] = messagesOf(lastOf(work.world));
      if (model === free) expect(first).toEqual({ role: "assistant", content: [block] });
      else
        expect(first).toMatchObject({
          role: "user",
          content: [
            { type: "text", text: expect.stringContaining(summary) as string },
            { text: expect.stringContaining(beside) as string },
            {},
          ],
        });
      await other.session.close();
    }
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("an undo brings back the bytes of before, and undoing that the block", async () => {
    const work = await worked();
    const before = JSON.stringify(work.agent.session.view().messages);
    const boundary = await compact(work);
    const after = JSON.stringify(work.agent.session.view().messages);
    const options = { mode: "path", blockingTokens: tokens(1_000_000), thinking: "free" } as const;
    const undone = await undo(work.agent.session, { ...options, target: boundary });
    if (undone.kind !== "undone") expect.unreachable();
    expect(JSON.stringify(work.agent.session.view().messages)).toBe(before);
    const target = undone.undos[0] ?? expect.unreachable();
    expect(await undo(work.agent.session, { ...options, target })).toMatchObject({ kind: "undone" });
    expect(JSON.stringify(work.agent.session.view().messages)).toBe(after);
    expect(endOf(await work.agent.turn("And now?"))).toMatchObject(answered);
    expect(refused(work.world.seen)).toEqual([]);
  });

  it("a provider that did not sign it is told its text, once and for all", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.session.close();
    const { transcripts, blobs, uuid } = work.world.deps;
    const elsewhere = clearingWorld({ responder: summing, seed: 99, deps: { transcripts, blobs, uuid } });
    const agent = await elsewhere.agent("resume", { flags });
    const events = await agent.turn("And now?");
    expect(endOf(events)).toMatchObject(answered);
    expect(events.filter(({ kind }) => kind === "left-out")).toMatchObject([{ part: "server-summary", count: 1 }]);
    await agent.session.close();
    const again = await elsewhere.agent("resume", { flags });
    expect(endOf(await again.turn("And then?"))).toMatchObject(answered);
    expect(refused(elsewhere.seen)).toHaveLength(1);
    expect(messagesOf(lastOf(elsewhere))[0]).toMatchObject({ role: "user" });
  });

  it("a later boundary from some message on leaves it in front, also where the session is opened there", async () => {
    const work = await worked();
    await compact(work);
    await work.agent.turn("read 2 × 100");
    const from = work.agent.session.fold.projection.items.find(({ role }) => role === "assistant")?.entry;
    const input = { summary: "The rest.", trigger: "manual", from: from ?? expect.unreachable() } as const;
    await appendBoundary(work.world.deps, work.agent.session, input);
    const shown = JSON.stringify(work.agent.session.view().messages);
    await work.agent.session.close();
    const again = await work.world.agent("resume", { flags });
    expect(JSON.stringify(again.session.view().messages)).toBe(shown);
    expect(endOf(await again.turn("And now?"))).toMatchObject(answered);
    expect(messagesOf(lastOf(work.world))[0]).toMatchObject({ content: [{ type: "compaction" }] });
    expect(refused(work.world.seen)).toEqual([]);
  });
});

/** Says a thought with each of its answers. */
const thinker: Responder = {
  name: "thinker",
  respond: (input) =>
    input.purpose === "compaction"
      ? summing.respond(input)
      : {
          move: {
            kind: "say",
            blocks: [
              { type: "thinking", thinking: "Let me see." },
              { type: "text", text: "Seen." },
            ],
          },
        },
};

describe("turns that are kept behind the provider's block", () => {
  it("are sent as they were; a model that binds thinking to what stood before it is asked to leave that out", async () => {
    const work = { world: clearingWorld({ responder: thinker }) };
    const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const betas = ["thinking-binding-controls-2026-08-01"];
    const baseline = makeBaseline({
      model: bound,
      thinking,
      betas,
      tools: [],
      system: [{ name: "prompt", text: "Help." }],
    });
    const agent = await work.world.agent("create", { flags, model: bound, tools: [], parts: { baseline } });
    for (const words of ["One?", "Two?", "Three?"]) await agent.turn(words);
    const items = agent.session.fold.projection.items;
    const [head, tail] = [items.find(({ blocks }) => JSON.stringify(blocks).includes("Two?")), items.at(-1)];
    const kept = { head: head?.entry ?? expect.unreachable(), tail: tail?.entry ?? expect.unreachable() };
    const sent = messagesOf(lastOf(work.world)).slice(3);
    const summarised = await summed(agent, { reach: { messagesMax: 2 } });
    expect(messagesOf(lastOf(work.world))).toHaveLength(2);
    await compact({ ...work, agent }, { summarised, kept });
    expect(endOf(await agent.turn("Four?"))).toMatchObject(answered);
    const [, first, ...others] = messagesOf(lastOf(work.world));
    expect(JSON.stringify(first)).toMatch(/Two\?/);
    expect(JSON.stringify(others.slice(0, 1))).toBe(JSON.stringify(sent.slice(0, 1)));
    expect(refused(work.world.seen)).toEqual([]);
  });
});
