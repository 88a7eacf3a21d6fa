import { describe, expect, it } from "vitest";
import { Asking } from "../../../../test/fixture/asking.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { Responder, MoveBlock } from "../responder/responder.ts";
import { Simulator } from "../simulator.ts";

const saying = (...blocks: readonly MoveBlock[]): Responder => ({
  name: "saying",
  respond: () => ({ move: { kind: "say", blocks } }),
});
const messages = [{ role: "user", content: "Go on." }];
const long: MoveBlock = { type: "text", text: "One word after another. ".repeat(200) };

describe("a reply ends", () => {
  it("at max_tokens, with exactly so many tokens", async () => {
    const { message } = await new Asking(new Simulator({ responder: saying(long) }))
      .message({ messages, max_tokens: 50 })
      .then((message) => ({ message }));
    expect(message).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 50 } });
    expect(
      long.type === "text" && long.text.startsWith(message.content[0]?.type === "text" ? message.content[0].text : "?"),
    ).toBe(true);
  });

  it("at the window, where the model lets it begin", async () => {
    const models = [{ id: "claude-sonnet-5", windowTokens: 400 }];
    const asking = new Asking(new Simulator({ responder: saying(long), models }), { max_tokens: 1000 });
    const message = await asking.message({ messages });
    expect(message.stop_reason).toBe("model_context_window_exceeded");
    expect(message.usage.input_tokens + message.usage.output_tokens).toBe(400);
  });

  it("at the first stop sequence, which is not said", async () => {
    const asking = new Asking(new Simulator({ responder: saying({ type: "text", text: "a, b; c. d" }) }));
    const message = await asking.message({ messages, stop_sequences: [".", ";"] });
    expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: ";", content: [{ text: "a, b" }] });
  });

  it("with tool_use where it calls a tool, and end_turn where it does not", async () => {
    const call: MoveBlock = { type: "tool_use", name: "look", input: { at: 1 } };
    const stops = await Promise.all(
      [saying(call), saying({ type: "text", text: "Done." })].map(async (responder) =>
        new Asking(new Simulator({ responder })).message({ messages }).then(({ stop_reason }) => stop_reason),
      ),
    );
    expect(stops).toEqual(["tool_use", "end_turn"]);
  });

  it("before a call for which there is no room", async () => {
    const responder = saying(
      { type: "text", text: "Look:" },
      { type: "tool_use", name: "look", input: { at: "x".repeat(900) } },
    );
    const message = await new Asking(new Simulator({ responder })).message({ messages, max_tokens: 40 });
    expect(message.stop_reason).toBe("max_tokens");
    expect(message.content.map(({ type }) => type)).toEqual(["text"]);
  });

  it("before it begins where it only warms the cache: the responder is not asked", async () => {
    const responder: Responder = { name: "never", respond: () => expect.unreachable() };
    const system = [{ type: "text", text: "A rule. ".repeat(900), cache_control: { type: "ephemeral" } }];
    const asking = new Asking(new Simulator({ responder }));
    const message = await asking.message({ messages, system, max_tokens: 0 });
    expect(message).toMatchObject({ content: [], stop_reason: "max_tokens", usage: { output_tokens: 0 } });
    const again = await asking.message({ messages, system, max_tokens: 0 });
    expect(again.usage.cache_read_input_tokens).toBe(message.usage.cache_creation_input_tokens);
  });
});

describe("a model that is made to think", () => {
  const call: MoveBlock = { type: "tool_use", name: "look", input: {}, id: "toolu_1" };
  const enabled = { type: "enabled", budget_tokens: 1024 };
  const types = async (said: readonly MoveBlock[], request: JsonObject): Promise<readonly string[]> => {
    const asking = new Asking(new Simulator({ responder: saying(...said) }), {
      model: "claude-sonnet-4-5",
      max_tokens: 4096,
    });
    const { content } = await asking.message({ messages, ...request });
    return content.map(({ type }) => type);
  };
  it.each<[string, readonly MoveBlock[], JsonObject, readonly string[]]>([
    ["has a thought before the call that opens a loop", [call], { thinking: enabled }, ["thinking", "tool_use"]],
    [
      "keeps the thought that it has",
      [{ type: "redacted_thinking", thinking: "Hm." }, call],
      { thinking: enabled },
      ["redacted_thinking", "tool_use"],
    ],
    ["needs none where it calls nothing", [{ type: "text", text: "No." }], { thinking: enabled }, ["text"]],
    ["needs none where nobody asked it to think", [call], {}, ["tool_use"]],
    [
      "needs none where it may think",
      [call],
      { model: "claude-opus-4-8", thinking: { type: "adaptive" } },
      ["tool_use"],
    ],
  ])("%s", async (_, said, request, expected) => expect(await types(said, request)).toEqual(expected));

  it("can go on in its loop, and needs no second thought", async () => {
    const asking = new Asking(new Simulator({ responder: saying(call) }), {
      model: "claude-sonnet-4-5",
      max_tokens: 4096,
    });
    const { content } = await asking.message({ messages, thinking: enabled });
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "seen" }] };
    const loop = [...messages, { role: "assistant", content: content as Json }, result];
    const next = await asking.message({ messages: loop, thinking: enabled });
    expect(next.content.map(({ type }) => type)).toEqual(["tool_use"]);
  });
});

describe("a stream", () => {
  it("says what the reply says, in the API's order of events", async () => {
    const responder = saying(
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Look:" },
      { type: "tool_use", name: "look", input: { at: 1 }, id: "toolu_1" },
    );
    const asking = new Asking(new Simulator({ responder }), { thinking: { type: "adaptive" } });
    const sent = await asking.stream({ messages });
    expect(
      sent.map(({ event }) => ("delta" in event && "type" in event.delta ? event.delta.type : event.type)),
    ).toEqual([
      "message_start",
      "ping",
      "content_block_start",
      "thinking_delta",
      "signature_delta",
      "content_block_stop",
      "content_block_start",
      "text_delta",
      "content_block_stop",
      "content_block_start",
      "input_json_delta",
      "input_json_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  it("carries input that no parser takes as it is", async () => {
    const responder = saying({ type: "tool_use", name: "look", input: {}, rawInput: '{"at": ' });
    const sent = await new Asking(new Simulator({ responder })).stream({ messages });
    const json = sent.flatMap(({ event }) =>
      event.type === "content_block_delta" && event.delta.type === "input_json_delta" ? [event.delta.partial_json] : [],
    );
    expect(json.join("")).toBe('{"at": ');
  });

  it("writes to the cache when it begins, not when it is asked for", async () => {
    const simulator = new Simulator();
    const asking = new Asking(simulator);
    const system = [{ type: "text", text: "A rule. ".repeat(900), cache_control: { type: "ephemeral" } }];
    const answer = await asking.answer({ messages, system, stream: true });
    if (answer.kind !== "stream") expect.unreachable();
    expect((await asking.message({ messages, system })).usage.cache_read_input_tokens).toBe(0);
    const other = new Asking(new Simulator());
    const begun = await other.answer({ messages, system, stream: true });
    if (begun.kind === "stream") await begun.events[Symbol.asyncIterator]().next();
    expect((await other.message({ messages, system })).usage.cache_read_input_tokens).toBeGreaterThan(0);
  });

  it.each([
    ["duplicate", (count: number) => count > 12],
    ["trickle every=1000", (count: number) => count === 12],
  ])("with the fault %s reaches its end", async (fault, fits) => {
    const simulator = new Simulator({ responder: saying({ type: "text", text: "x".repeat(24 * 6) }) });
    const before = simulator.clock.now();
    const sent = await new Asking(simulator).stream({ messages }, { "x-simulator-fault": fault });
    expect(sent.at(-1)?.event.type).toBe("message_stop");
    expect(fits(sent.length)).toBe(true);
    expect(simulator.clock.now() - before).toBe(fault === "duplicate" ? 0 : 11_000);
  });

  it("with wrong usage tells other figures than it bills", async () => {
    const asking = new Asking(new Simulator());
    const right = await asking.reply({ messages });
    const wrong = await asking.reply({ messages }, { "x-simulator-fault": "wrong-usage factor=0.5" });
    if (right.kind === "error" || wrong.kind === "error") expect.unreachable();
    expect(wrong.costUsd).toBe(right.costUsd);
    expect(wrong.message.usage.input_tokens).toBe(Math.round(right.message.usage.input_tokens / 2));
  });
});

describe("diagnostics", () => {
  it("is absent unless asked for, null on a first turn, and names the first divergence", async () => {
    const asking = new Asking(new Simulator());
    const ask = async (request: object, previous?: string | null) =>
      asking.message({
        messages,
        ...request,
        ...(previous === undefined ? {} : { diagnostics: { previous_message_id: previous } }),
      });
    const first = await ask({});
    expect(first).not.toHaveProperty("diagnostics");
    expect((await ask({}, null)).diagnostics).toBeNull();
    expect((await ask({}, first.id)).diagnostics).toBeNull();
    expect((await ask({ system: "Now a rule." }, first.id)).diagnostics).toMatchObject({
      cache_miss_reason: { type: "system_changed" },
    });
    expect((await ask({ model: "claude-opus-5" }, first.id)).diagnostics).toMatchObject({
      cache_miss_reason: { type: "model_changed" },
    });
    expect((await ask({}, "msg_unknown")).diagnostics).toEqual({
      cache_miss_reason: { type: "previous_message_not_found" },
    });
  });
});
