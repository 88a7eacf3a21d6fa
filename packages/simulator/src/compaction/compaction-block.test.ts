import { expect, it, describe } from "vitest";
import { summaryPrompt } from "./compaction-block.ts";
import { Asking, longText } from "../../../../test/fixture/asking.ts";
import {
  compactionIn,
  handedBack,
  onDemandBeta,
  Recording,
  someText,
  summarize,
} from "../../../../test/fixture/compacted.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { MoveBlock } from "../responder/responder.ts";
import { CompactionSeal } from "./compaction-seal.ts";
import { Simulator } from "../simulator.ts";
import { TraceWriter } from "../trace/trace-writer.ts";

it("is asked for in these words", () => {
  expect(summaryPrompt).toMatchInlineSnapshot(`
    "This conversation is about to be replaced by a summary. You will go on with the work from the summary alone: whatever it leaves out is gone.

    Write it for yourself, so that you could take up the work at once. Say:
    - what was asked for, with every wish and limit that the user stated and that still holds;
    - what has been done and decided, and why, with names, paths, figures and commands as they were;
    - what was tried and failed, and what was learned from it;
    - where the work stands at this moment, and what comes next.

    Call no tools. Put the summary between <summary> and </summary>."
  `);
});

const model = "claude-opus-5";
const talk: readonly JsonObject[] = [
  { role: "user", content: "What is the tide?" },
  { role: "assistant", content: "The moon pulls at the sea." },
];
const next: JsonObject = { role: "user", content: "And the sun?" };
const said = { summary: "<summary>They spoke of tides.</summary>", reply: "It helps." };

const asking = (responder = new Recording(said), more: JsonObject = {}): Asking =>
  new Asking(new Simulator({ responder }), { model, ...more });

const compacted = async (ask: Asking, more: JsonObject = {}): Promise<JsonObject> =>
  handedBack(await ask.message({ messages: [...talk], ...summarize, ...more }, onDemandBeta));

describe("compaction on demand", () => {
  it("answers with one signed block and nothing else", async () => {
    const responder = new Recording(said);
    const message = await asking(responder).message({ messages: [...talk], ...summarize, max_tokens: 1 }, onDemandBeta);
    expect(message).toMatchObject({ stop_reason: "compaction", usage: { input_tokens: 0, output_tokens: 0 } });
    expect(message.content).toEqual([
      {
        type: "compaction",
        content: "They spoke of tides.",
        encrypted_content: null,
        signature: someText,
        tool_changes: [],
      },
    ]);
    expect(message.usage.iterations).toEqual([expect.objectContaining({ type: "compaction" })]);
    expect(responder.inputs.map(({ purpose, request }) => [purpose, request.messages])).toEqual([
      ["compaction", [...talk, { role: "user", content: summaryPrompt }]],
    ]);
  });

  it.each([
    { instructions: "Only the verbs.", asked: "Only the verbs." },
    { instructions: " \n", asked: summaryPrompt },
    { instructions: null, asked: summaryPrompt },
  ])("asks in the client's words, but not in blank ones: $instructions", async ({ instructions, asked }) => {
    const responder = new Recording(said);
    const compaction = { type: "summarize", instructions };
    await asking(responder).message({ messages: [...talk], compaction }, onDemandBeta);
    expect(responder.inputs[0]?.request.messages.at(-1)?.content).toBe(asked);
  });

  it.each(["assistant", "user"])("stands for what it sums up where it comes first, as the %s's", async (role) => {
    const responder = new Recording(said);
    const ask = asking(responder);
    const { content } = await compacted(ask);
    await ask.message({ messages: [{ role, content: content ?? [] }, next] }, onDemandBeta);
    expect(responder.inputs[1]?.request.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "They spoke of tides." }] },
      next,
    ]);
  });

  it("may be all that is sent: the model goes on", async () => {
    const ask = asking();
    const message = await ask.message({ messages: [await compacted(ask)] }, onDemandBeta);
    expect(message.content).toMatchObject([{ type: "text", text: "It helps." }]);
  });

  it("fails with a block without content, unsigned", async () => {
    const call: MoveBlock = { type: "tool_use", name: "look", input: {} };
    const message = await asking(new Recording({ ...said, summary: [call] })).message(
      { messages: [...talk], ...summarize },
      onDemandBeta,
    );
    expect(message.content).toEqual([{ type: "compaction", content: null, encrypted_content: null }]);
    expect(message.stop_reason).toBe("compaction");
  });

  it("reads the conversation from the cache", async () => {
    const ask = asking(new Recording(said), { cache_control: { type: "ephemeral" } });
    const messages = [{ role: "user", content: longText("The tide") }];
    const first = await ask.message({ messages }, onDemandBeta);
    const { usage } = await ask.message({ messages, ...summarize }, onDemandBeta);
    expect(first.usage.cache_creation_input_tokens).toBeGreaterThan(0);
    expect(usage.iterations?.[0]).toMatchObject({
      cache_read_input_tokens: first.usage.cache_creation_input_tokens,
      cache_creation_input_tokens: 0,
    });
  });

  it("is ignored by a count", () => {
    const ask = asking();
    const messages = [next];
    expect(ask.count({ messages, ...summarize }, onDemandBeta)).toBe(ask.count({ messages }, onDemandBeta));
  });

  it("has its signature at the block's start in a stream", async () => {
    const sent = await asking().stream({ messages: [...talk], ...summarize }, onDemandBeta);
    const start = sent.map(({ event }) => event).find(({ type }) => type === "content_block_start");
    expect(start).toMatchObject({
      content_block: { content: null, signature: someText, tool_changes: [] },
    });
  });

  it("records what became of the tools", async () => {
    const headers = { "anthropic-beta": "compact-2026-09-04,mid-conversation-tool-changes-2026-07-01" };
    const tools = ["read", "write"].map((name) => ({ name, input_schema: { type: "object" } }));
    const removal = { type: "tool_removal", tool: { type: "tool_reference", name: "write" } };
    const messages = [next, { role: "system", content: [removal] }];
    const ask = asking(new Recording(said), { tools });
    const message = await ask.message({ messages, ...summarize }, headers);
    expect(compactionIn(message).tool_changes).toEqual([removal]);
    const again = await ask.message({ messages: [handedBack(message), next], ...summarize }, headers);
    expect(compactionIn(again).tool_changes).toEqual([removal]);
  });
});

describe("tools that a compaction tells", () => {
  const inline = { "anthropic-beta": "compact-2026-09-04,inline-tools-2026-09-15" };
  const tool = (name: string, more: JsonObject = {}): JsonObject => ({
    name,
    description: longText(name),
    input_schema: { type: "object" },
    ...more,
  });
  const adds = (what: JsonObject): JsonObject => ({ type: "tool_addition", tool: what });
  const defined = adds({ type: "tool_definition", definition: tool("made") });
  const loaded = adds({ type: "tool_reference", name: "late" });
  const base = { tools: [tool("read"), tool("late", { defer_loading: true })] };

  const summedUp = async (ask: Asking, ...changes: JsonObject[]): Promise<JsonObject> =>
    handedBack(await ask.message({ messages: [next, { role: "system", content: changes }], ...summarize }, inline));

  it.each([
    ["are defined", defined, "made"],
    ["are loaded", loaded, "late"],
  ])("cost their definitions where they %s", async (_how, change, name) => {
    const ask = asking(new Recording(said), base);
    const known = adds({ type: "tool_reference", name: "read" });
    const [without, with_] = [await summedUp(ask, known), await summedUp(ask, change)];
    const sizeOf = (block: JsonObject): number => Number(ask.count({ messages: [block, next] }, inline));
    const definition = sizeOf(with_) - sizeOf(without);
    const brought = [next, { role: "system", content: [change] }];
    const there = Number(ask.count({ messages: brought }, inline)) - Number(ask.count({ messages: [next] }, inline));
    expect(JSON.stringify(with_)).toContain(name);
    expect(definition).toBeGreaterThan(5_000);
    expect(Math.abs(definition - there)).toBeLessThan(10);
  });

  it("are offered without the beta that brought them, too", async () => {
    const responder = new Recording(said);
    const ask = asking(responder, base);
    const block = await summedUp(ask, defined, {
      type: "tool_removal",
      tool: { type: "tool_reference", name: "read" },
    });
    await ask.message({ messages: [block, next] }, onDemandBeta);
    expect(responder.inputs.at(-1)?.request.tools?.map(({ name }) => name)).toEqual(["late", "made"]);
    const chosen = { tool_choice: { type: "tool", name: "made" } };
    expect((await ask.message({ messages: [block, next], ...chosen }, onDemandBeta)).stop_reason).toBe("end_turn");
  });
});

describe("a signed block that comes back", () => {
  const changed = (block: JsonObject, more: JsonObject): JsonObject => {
    const [first] = block["content"] as readonly JsonObject[];
    return { role: "user", content: [{ ...first, ...more }] };
  };
  const foreign = new CompactionSeal(99).seal(
    { content: "They spoke of tides.", toolChanges: [] },
    { model, chain: "", header: "" },
  );
  const change = { type: "tool_removal", tool: { type: "tool_reference", name: "read" } };

  it.each<{ what: string; more: JsonObject; code: string }>([
    { what: "no signature of ours", more: { signature: "c2ln" }, code: "compaction_signature_invalid" },
    { what: "the signature of another server", more: { signature: foreign }, code: "compaction_signature_invalid" },
    { what: "other content", more: { content: "They spoke of mud." }, code: "compaction_content_mismatch" },
    { what: "no content", more: { content: null }, code: "compaction_content_mismatch" },
    { what: "other tool changes", more: { tool_changes: [change] }, code: "compaction_tool_changes_mismatch" },
    { what: "no tool changes", more: { tool_changes: null }, code: "compaction_tool_changes_mismatch" },
  ])("is refused with $what", async ({ more, code }) => {
    const ask = asking(new Recording(said), { tools: [{ name: "read", input_schema: { type: "object" } }] });
    const messages = [changed(await compacted(ask), more), next];
    const replied = await ask.reply({ messages }, onDemandBeta);
    expect(replied).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error", details: { error_code: code } } },
    });
    expect(ask.count({ messages }, onDemandBeta)).toEqual(expect.stringMatching(/^messages\.0\.content\.0: /));
  });

  it("may be marked, and its tool changes spelled in another order", async () => {
    const headers = { "anthropic-beta": "compact-2026-09-04,mid-conversation-tool-changes-2026-07-01" };
    const ask = asking(new Recording(said), { tools: [{ name: "read", input_schema: { type: "object" } }] });
    const messages = [next, { role: "system", content: [change] }];
    const block = handedBack(await ask.message({ messages, ...summarize }, headers));
    const reordered = { tool: { name: "read", type: "tool_reference" }, type: "tool_removal" };
    const marker = { cache_control: { type: "ephemeral" }, tool_changes: [reordered] };
    expect((await ask.message({ messages: [changed(block, marker), next] }, headers)).stop_reason).toBe("end_turn");
  });
});

describe("compaction-unavailable", () => {
  const fault = { ...onDemandBeta, "x-simulator-fault": "compaction-unavailable" };

  it("refuses a compaction for the moment", async () => {
    expect(await asking().reply({ messages: [...talk], ...summarize }, fault)).toMatchObject({
      status: 529,
      body: { error: { type: "overloaded_error", details: { error_code: "compaction_unavailable" } } },
    });
  });

  it("does nothing to a request that is not compacted for, and a trace names it only where it struck", async () => {
    const lines: string[] = [];
    const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
    const ask = new Asking(new Simulator({ responder: new Recording(said), trace }), { model });
    expect((await ask.message({ messages: [next] }, fault)).stop_reason).toBe("end_turn");
    expect(await ask.refusal({ messages: [] }, fault)).toMatch(/^400 /);
    ask.count({ messages: [next] }, fault);
    expect(await ask.reply({ messages: [...talk], ...summarize }, fault)).toMatchObject({ status: 529 });
    const requests = lines.map((line) => JSON.parse(line) as JsonObject).filter(({ type }) => type === "request");
    expect(requests.map(({ faults }) => faults)).toEqual([[], [], [], ["compaction-unavailable"]]);
  });
});
