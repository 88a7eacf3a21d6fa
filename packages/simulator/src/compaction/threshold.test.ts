import { describe, expect, it } from "vitest";
import { imagePart } from "../../../../test/fixture/image.ts";
import { Asking } from "../../../../test/fixture/asking.ts";
import {
  compactAt,
  compactionIn,
  handedBack,
  longTalk,
  longWords,
  Recording,
  someText,
  thresholdBeta,
} from "../../../../test/fixture/compacted.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { parseSpent } from "palimpsest/internal/cache/usage-split";
import type { Responder, MoveBlock, PlannedReply } from "../responder/responder.ts";
import { priceReply, priceIterations } from "../reply/iteration.ts";
import { Simulator } from "../simulator.ts";
import { summaryPrompt } from "./compaction-block.ts";

const model = "claude-opus-5";
const system = "You are a careful assistant.";
const sum = { summary: "Thoughts.\n<summary>\nThey spoke of topics.\n</summary>", reply: "Then this." };

function asking(responder: Recording = new Recording(sum)): Asking {
  return new Asking(new Simulator({ responder }), { model, system, ...compactAt() });
}

describe("compaction at a threshold", () => {
  it("puts what stands between the summary's tags before the reply, and goes on", async () => {
    const message = await asking().message({ messages: [longTalk()] }, thresholdBeta);
    expect(message.content).toEqual([
      { type: "compaction", content: "They spoke of topics.", encrypted_content: someText },
      { type: "text", text: "Then this.", citations: null },
    ]);
    expect(message.stop_reason).toBe("end_turn");
  });

  it("begins exactly at the trigger", async () => {
    const messages = [longTalk()];
    const tokens = Number(asking().count({ messages }, thresholdBeta));
    const blocks = async (value: number): Promise<readonly string[]> => {
      const trigger = { type: "input_tokens", value };
      const message = await asking().message({ messages, ...compactAt({ trigger }) }, thresholdBeta);
      return message.content.map(({ type }) => type);
    };
    expect(await blocks(tokens)).toEqual(["compaction", "text"]);
    expect(await blocks(tokens + 1)).toEqual(["text"]);
  });

  it("begins at 150,000 where no trigger is set", async () => {
    const responder = new Recording(sum);
    const plain = { context_management: { edits: [{ type: "compact_20260112" }] } };
    await asking(responder).message({ ...plain, messages: [longTalk()] }, thresholdBeta);
    expect(responder.inputs.map(({ purpose }) => purpose)).toEqual(["reply"]);
    await asking(responder).message({ ...plain, messages: [longTalk(), longTalk("b"), longTalk("c")] }, thresholdBeta);
    expect(responder.inputs.map(({ purpose }) => purpose)).toEqual(["reply", "compaction", "reply"]);
  });

  it("asks with the conversation and the server's words behind it, then shows the summary alone", async () => {
    const responder = new Recording(sum);
    const talk = longTalk();
    await asking(responder).message({ messages: [talk], stop_sequences: ["topics"] }, thresholdBeta);
    const [summing, replying] = responder.inputs.map(({ request }) => request);
    expect(summing?.messages).toEqual([talk, { role: "user", content: summaryPrompt }]);
    expect(summing?.stop_sequences).toBeNull();
    expect(replying?.messages).toEqual([{ role: "user", content: [{ type: "text", text: "They spoke of topics." }] }]);
    expect(replying?.system).toBe(system);
  });

  it("asks in the client's words where it gives any", async () => {
    const responder = new Recording(sum);
    await asking(responder).message(
      { messages: [longTalk()], ...compactAt({ instructions: "In one line." }) },
      thresholdBeta,
    );
    expect(responder.inputs[0]?.request.messages.at(-1)).toEqual({ role: "user", content: "In one line." });
  });

  it("takes the whole text where there are no tags", async () => {
    const message = await asking(new Recording({ ...sum, summary: " All of it. " })).message(
      { messages: [longTalk()] },
      thresholdBeta,
    );
    expect(compactionIn(message).content).toBe("All of it.");
  });

  it("pauses with the block alone where that is asked for", async () => {
    const responder = new Recording(sum);
    const message = await asking(responder).message(
      { messages: [longTalk()], ...compactAt({ pause_after_compaction: true }) },
      thresholdBeta,
    );
    expect(message).toMatchObject({
      content: [{ type: "compaction", content: "They spoke of topics." }],
      stop_reason: "compaction",
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect(message.usage.iterations?.map(({ type }) => type)).toEqual(["compaction"]);
    expect(responder.inputs).toHaveLength(1);
  });

  it("goes on from a pause where the block comes back last", async () => {
    const responder = new Recording(sum);
    const ask = asking(responder);
    const pausing = compactAt({ pause_after_compaction: true });
    const paused = await ask.message({ messages: [longTalk()], ...pausing }, thresholdBeta);
    const message = await ask.message({ messages: [longTalk(), handedBack(paused)], ...pausing }, thresholdBeta);
    expect(message.content).toEqual([{ type: "text", text: "Then this.", citations: null }]);
  });

  it.each<{ what: string; summary: readonly MoveBlock[] }>([
    {
      what: "a call",
      summary: [
        { type: "text", text: "Wait." },
        { type: "tool_use", name: "look", input: {} },
      ],
    },
    { what: "nothing", summary: [] },
    { what: "blanks", summary: [{ type: "text", text: "<summary> \n</summary>" }] },
  ])("fails with $what: a block without content, and the reply to the whole conversation", async ({ summary }) => {
    const responder = new Recording({ summary, reply: "Then this." });
    const talk = longTalk();
    const message = await asking(responder).message(
      { messages: [talk], ...compactAt({ pause_after_compaction: true }) },
      thresholdBeta,
    );
    expect(message.content).toEqual([
      { type: "compaction", content: null, encrypted_content: null },
      { type: "text", text: "Then this.", citations: null },
    ]);
    expect(responder.inputs[1]?.request.messages).toEqual([talk]);
    expect(
      asking().count({ messages: [talk, handedBack(message), { role: "user", content: "And?" }] }, thresholdBeta),
    ).toBe(
      asking().count(
        { messages: [talk, { role: "assistant", content: "Then this." }, { role: "user", content: "And?" }] },
        thresholdBeta,
      ),
    );
  });

  it("shows nothing of what stands before the last block with content, sent or not", async () => {
    const responder = new Recording(sum);
    const ask = asking(responder);
    const talk = longTalk();
    const reply = handedBack(await ask.message({ messages: [talk] }, thresholdBeta));
    const next = { role: "user", content: "And now?" };
    await ask.message({ messages: [talk, reply, next] }, thresholdBeta);
    await ask.message({ messages: [reply, next] }, thresholdBeta);
    const [whole, dropped] = responder.inputs.slice(2).map(({ request }) => request.messages);
    expect(whole).toEqual([
      { role: "user", content: [{ type: "text", text: "They spoke of topics." }] },
      { role: "assistant", content: [{ type: "text", text: "Then this.", citations: null }] },
      next,
    ]);
    expect(dropped).toEqual(whole);
    expect(ask.count({ messages: [talk, reply, next] }, thresholdBeta)).toBe(
      ask.count({ messages: [reply, next] }, thresholdBeta),
    );
  });

  it("is made by chance of its own: its dice fall otherwise than the reply's", async () => {
    const responder = new Recording(sum);
    await asking(responder).message({ messages: [longTalk()] }, thresholdBeta);
    const [one, other] = responder.inputs.map(({ random }) => random());
    expect(one).toBeTypeOf("number");
    expect(one).not.toBe(other);
  });

  it("takes what there is of a summary that is never closed", async () => {
    const message = await asking(new Recording({ ...sum, summary: "Hm.\n<summary>\nThey spoke of" })).message(
      { messages: [longTalk()] },
      thresholdBeta,
    );
    expect(compactionIn(message).content).toBe("They spoke of");
  });

  it("leaves the reply the tools that the conversation has come to", async () => {
    const responder = new Recording(sum);
    const headers = { "anthropic-beta": "compact-2026-01-12,inline-tools-2026-09-15" };
    const tool = (name: string): JsonObject => ({ name, input_schema: { type: "object" } });
    const changes = [
      { type: "tool_removal", tool: { type: "tool_reference", name: "a" } },
      { type: "tool_addition", tool: { type: "tool_definition", definition: tool("c") } },
    ];
    await asking(responder).message(
      { messages: [longTalk(), { role: "system", content: changes }], tools: [tool("a"), tool("b")] },
      headers,
    );
    expect(responder.inputs.map(({ purpose, request }) => [purpose, request.tools?.map(({ name }) => name)])).toEqual([
      ["compaction", ["b", "c"]],
      ["reply", ["b", "c"]],
    ]);
  });

  it("is what the next request is compared with, not the conversation before it", async () => {
    const headers = { "anthropic-beta": "compact-2026-01-12" };
    const ask = asking();
    const reply = await ask.message({ messages: [longTalk()] }, headers);
    const next = await ask.message(
      {
        messages: [handedBack(reply), { role: "user", content: "And?" }],
        diagnostics: { previous_message_id: reply.id },
      },
      headers,
    );
    expect(next.diagnostics).toBeNull();
  });

  it("leaves a call's input as it was said, also where that is no JSON", async () => {
    const call: MoveBlock = { type: "tool_use", name: "look", input: {}, rawInput: "{bad" };
    const reply: readonly MoveBlock[] = [{ type: "text", text: "Let me see." }, call];
    const sent = await asking(new Recording({ ...sum, reply })).stream({ messages: [longTalk()] }, thresholdBeta);
    const parts = sent.flatMap(({ event }) =>
      event.type === "content_block_delta" && event.delta.type === "input_json_delta"
        ? [[event.index, event.delta.partial_json]]
        : [],
    );
    expect(parts).toEqual([
      [2, ""],
      [2, "{bad"],
    ]);
  });

  it.each<{ what: string; second: unknown; error: RegExp }>([
    { what: "fails", second: new Error("no mood"), error: /no mood/ },
    { what: "gives nothing", second: undefined, error: /respond returned no reply/ },
    { what: "gives no move that can be made", second: { move: { kind: "sing" } }, error: /not sing/ },
  ])("is lost where the responder $what when it is asked for the reply", async ({ second, error }) => {
    const ends: string[] = [];
    const ending = (of: string) => ({
      delivered: () => void ends.push(`${of} delivered`),
      lost: () => void ends.push(`${of} lost`),
    });
    const responder: Responder = {
      name: "half",
      respond: ({ purpose }) => {
        if (purpose === "compaction")
          return { move: { kind: "say", blocks: [{ type: "text", text: "Topics." }] }, ...ending("summary") };
        if (second instanceof Error) throw second;
        return (typeof second === "object" ? { ...second, ...ending("reply") } : second) as PlannedReply;
      },
    };
    const ask = new Asking(new Simulator({ responder }), { model, system, ...compactAt() });
    expect(await ask.refusal({ messages: [longTalk()] }, thresholdBeta)).toMatch(error);
    expect(ends).toEqual(
      typeof second === "object" && !(second instanceof Error) ? ["summary lost", "reply lost"] : ["summary lost"],
    );
  });

  it("that failed is shown to nobody, also where its message is shown otherwise", async () => {
    const responder = new Recording(sum);
    const headers = { "anthropic-beta": "compact-2026-01-12,context-management-2025-06-27" };
    const failed = { type: "compaction", content: null };
    const use = (id: string): JsonObject => ({
      type: "tool_use",
      id,
      name: "look",
      input: { at: longWords().slice(0, 900) },
    });
    const seen = (id: string): JsonObject => ({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: id, content: "Seen." }],
    });
    const clearing = {
      type: "clear_tool_uses_20250919",
      keep: { type: "tool_uses", value: 1 },
      clear_tool_inputs: true,
    };
    const messages = [
      { role: "user", content: "Look." },
      { role: "assistant", content: [failed] },
      { role: "assistant", content: [failed, use("toolu_1")] },
      seen("toolu_1"),
      { role: "assistant", content: [use("toolu_2")] },
      seen("toolu_2"),
    ];
    for (const trigger of [1, 9]) {
      const context_management = { edits: [{ ...clearing, trigger: { type: "tool_uses", value: trigger } }] };
      await asking(responder).message({ messages, context_management }, headers);
    }
    const shown = responder.inputs.map(({ request }) => request.messages);
    expect(shown.map((list) => list.map(({ role }) => role))).toEqual(
      [1, 2].map(() => ["user", "assistant", "user", "assistant", "user"]),
    );
    expect(JSON.stringify(shown)).not.toContain("compaction");
  });

  it("is not made by a count, nor where only the cache is warmed", async () => {
    const responder = new Recording(sum);
    const ask = asking(responder);
    expect(Number(ask.count({ messages: [longTalk()] }, thresholdBeta))).toBeGreaterThan(50_000);
    const message = await ask.message({ messages: [longTalk()], max_tokens: 0 }, thresholdBeta);
    expect(message.content).toEqual([]);
    expect(responder.inputs).toEqual([]);
  });

  it("is streamed as one delta", async () => {
    const sent = await asking().stream({ messages: [longTalk()] }, thresholdBeta);
    const events = sent.map(({ event }) => event);
    const ofBlock = events.filter((event) => "index" in event && event.index === 0);
    expect(ofBlock).toEqual([
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "compaction", content: null, encrypted_content: null },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "compaction_delta", content: "They spoke of topics.", encrypted_content: someText },
      },
      { type: "content_block_stop", index: 0 },
    ]);
    const [start] = events;
    const end = events.find(({ type }) => type === "message_delta");
    expect(start?.type === "message_start" && start.message.usage.iterations).toEqual([]);
    expect(end?.type === "message_delta" && end.usage.iterations?.map(({ type }) => type)).toEqual([
      "compaction",
      "message",
    ]);
  });
});

describe("usage with a compaction", () => {
  const marked = { system: [{ type: "text", text: system.repeat(600), cache_control: { type: "ephemeral" } }] };

  it("has one iteration for a plain reply, with either beta, and none without", async () => {
    const messages = [{ role: "user", content: "Hello" }];
    const plain = new Asking(new Simulator(), { model });
    for (const beta of ["compact-2026-01-12", "compact-2026-09-04"]) {
      const { usage } = await plain.message({ messages }, { "anthropic-beta": beta });
      expect(usage.iterations).toEqual([
        {
          type: "message",
          model,
          input_tokens: usage.input_tokens,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation: usage.cache_creation,
          output_tokens: usage.output_tokens,
        },
      ]);
    }
    expect((await plain.message({ messages })).usage.iterations).toBeUndefined();
  });

  it("leaves the compaction out of the totals, and both have their own prompt", async () => {
    const ask = asking();
    const messages = [longTalk()];
    const { usage } = await ask.message({ messages }, thresholdBeta);
    const [compaction, message] = usage.iterations ?? [];
    expect(compaction?.input_tokens).toBeGreaterThan(Number(ask.count({ messages }, thresholdBeta)));
    expect(message).toMatchObject({ input_tokens: usage.input_tokens, output_tokens: usage.output_tokens });
    expect(usage.input_tokens).toBeLessThan(100);
  });

  it("reads and writes the cache at the request's own breakpoints, each time", async () => {
    const ask = new Asking(new Simulator({ responder: new Recording(sum) }), { model, ...marked, ...compactAt() });
    const { usage } = await ask.message({ messages: [longTalk()] }, thresholdBeta);
    const [compaction, message] = usage.iterations ?? [];
    expect(compaction?.cache_creation_input_tokens).toBeGreaterThan(1_000);
    expect(message?.cache_read_input_tokens).toBe(compaction?.cache_creation_input_tokens);
    expect(message?.cache_creation_input_tokens).toBe(0);
  });

  it("lets the next request read what was written at the block", async () => {
    const ask = new Asking(new Simulator({ responder: new Recording(sum) }), {
      model,
      ...marked,
      ...compactAt(),
      cache_control: { type: "ephemeral" },
    });
    const talk = { role: "user", content: [{ type: "text", text: longWords() }, image] };
    const reply = await ask.message({ messages: [talk] }, thresholdBeta);
    const next = await ask.message(
      { messages: [talk, handedBack(reply), { role: "user", content: "And?" }] },
      thresholdBeta,
    );
    const [, message] = reply.usage.iterations ?? [];
    const written = (message?.cache_read_input_tokens ?? 0) + (message?.cache_creation_input_tokens ?? 0);
    expect(message?.cache_creation_input_tokens).toBeGreaterThan(0);
    expect(next.usage.cache_read_input_tokens).toBe(written);
  });

  it("is paid for all of it, each at the tier of its own prompt", async () => {
    const longPrompt = { overTokens: 60_000, prices: prices(10) };
    const models = [{ id: "claude-opus-5", prices: prices(1), longPrompt }];
    const ask = new Asking(new Simulator({ responder: new Recording(sum), models }), { model, ...compactAt() });
    const replied = await ask.reply({ messages: [longTalk()] }, thresholdBeta);
    if (replied.kind !== "message") throw new Error(replied.body.error.message);
    const { usage } = replied.message;
    const spent = parseSpent(JSON.parse(JSON.stringify(usage)) as JsonObject);
    const known = findModel(model, models);
    if (known === undefined) throw new Error("no model");
    expect(spent).toHaveLength(2);
    expect(replied.costUsd).toBe(priceIterations(known, spent).totalUsd);
    expect(replied.costUsd).toBeCloseTo(
      spent.reduce((total, one) => total + priceReply(known, one).totalUsd, 0),
      9,
    );
    const [first, second] = spent.map((one) => priceReply(known, one).usdPerMTok.input);
    expect([first, second]).toEqual([10, 1]);
  });

  it("tells wrong figures in every iteration where a fault makes them wrong", async () => {
    const headers = { ...thresholdBeta, "x-simulator-fault": "wrong-usage factor=0" };
    const { usage } = await asking().message({ messages: [longTalk()] }, headers);
    expect(usage.iterations?.map(({ input_tokens, output_tokens }) => input_tokens + output_tokens)).toEqual([0, 0]);
  });
});

const image: JsonObject = imagePart();

const prices = (input: number): Record<"input" | "cacheWrite5m" | "cacheWrite1h" | "cacheRead" | "output", number> => ({
  input,
  cacheWrite5m: input,
  cacheWrite1h: input,
  cacheRead: input,
  output: input,
});
