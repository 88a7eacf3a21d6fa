import Anthropic, { BadRequestError, OverloadedError } from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { longWords, Recording } from "../fixture/compacted.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { parseScenario } from "../../packages/simulator/src/scenario/read-scenario.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";

type Beta = typeof Anthropic.Beta.Messages.prototype;
type Params = Anthropic.Beta.Messages.MessageCreateParamsNonStreaming;
type Message = Anthropic.Beta.Messages.BetaMessageParam;

const said = { summary: "<summary>They spoke of tides.</summary>", reply: "It helps." };
const clientOf = (responder: Responder = new Recording(said), maxRetries = 0): Anthropic =>
  new Anthropic({
    apiKey: "any",
    baseURL: "http://simulator",
    fetch: simulatorFetch(new Simulator({ responder })),
    maxRetries,
  });

const talk: Message = { role: "user", content: longWords() };
const short: Message[] = [
  { role: "user", content: "What is the tide?" },
  { role: "assistant", content: "The moon pulls at the sea." },
];

const threshold = (more: Partial<Anthropic.Beta.Messages.BetaCompact20260112Edit> = {}): Params => ({
  model: "claude-opus-5-5",
  max_tokens: 500,
  betas: ["compact-2026-01-12"],
  context_management: {
    edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 50_000 }, ...more }],
  },
  messages: [talk],
});

const onDemand: Params = {
  model: "claude-opus-5-5",
  max_tokens: 500,
  betas: ["compact-2026-09-04"],
  compaction: { type: "summarize" },
  messages: short,
};

const handedBack = ({ role, content }: Anthropic.Beta.Messages.BetaMessage): Message => ({ role, content });

describe("the official SDK, compaction at a threshold", () => {
  it("streams into the same message as without a stream, and says when", async () => {
    const plain = await clientOf().beta.messages.create(threshold());
    const stream = clientOf().beta.messages.stream(threshold());
    const heard: string[] = [];
    stream.on("compaction", (content) => heard.push(content));
    const streamed = await stream.finalMessage();
    expect(plain.content.map(({ type }) => type)).toEqual(["compaction", "text"]);
    expect(streamed.content).toEqual(plain.content);
    expect(streamed.usage.iterations).toEqual(plain.usage.iterations);
    expect(heard).toEqual(["They spoke of tides."]);
  });

  it("goes on with what came back, and from a pause", async () => {
    const client = clientOf();
    const reply = await client.beta.messages.create(threshold());
    const next: Message = { role: "user", content: "And the sun?" };
    const second = await client.beta.messages.create({ ...threshold(), messages: [talk, handedBack(reply), next] });
    expect(second.content).toMatchObject([{ type: "text", text: "It helps." }]);
    const paused = await client.beta.messages.create(threshold({ pause_after_compaction: true }));
    expect(paused.stop_reason).toBe("compaction");
    const kept: Message[] = [handedBack(paused), next];
    expect((await client.beta.messages.create({ ...threshold(), messages: kept })).stop_reason).toBe("end_turn");
  });
});

describe("the official SDK, compaction on demand", () => {
  it("gets one block, in a stream too, and sends it back first", async () => {
    const client = clientOf();
    const plain = await client.beta.messages.create(onDemand);
    const streamed = await clientOf().beta.messages.stream(onDemand).finalMessage();
    expect(plain).toMatchObject({ stop_reason: "compaction", content: [{ type: "compaction", tool_changes: [] }] });
    expect(streamed.content).toEqual(plain.content);
    const { compaction: _, ...rest } = onDemand;
    const messages: Message[] = [handedBack(plain), { role: "user", content: "And the sun?" }];
    expect((await client.beta.messages.create({ ...rest, messages })).content).toMatchObject([{ text: "It helps." }]);
    expect(
      (await client.beta.messages.countTokens({ model: rest.model, betas: onDemand.betas ?? [], messages }))
        .input_tokens,
    ).toBeLessThan(40);
  });

  it("tells the errors apart by their classes", async () => {
    const client = clientOf();
    const incomplete = client.beta.messages.create({
      ...onDemand,
      messages: [
        ...short.slice(0, 1),
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "a", input: {} }] },
      ],
    });
    await expect(incomplete).rejects.toMatchObject({
      constructor: Anthropic.CompactionIncompleteTurnError,
      status: 400,
    });
    await expect(incomplete).rejects.toBeInstanceOf(BadRequestError);
    const headers = { "x-simulator-fault": "compaction-unavailable" };
    const unavailable = client.beta.messages.create(onDemand, { headers });
    await expect(unavailable).rejects.toMatchObject({ errorCode: "compaction_unavailable", status: 529 });
    await expect(unavailable).rejects.toBeInstanceOf(OverloadedError);
  });
});

describe("the official SDK's tool runner", () => {
  const runnable = {
    type: "custom" as const,
    name: "tide",
    description: "Tells the tide.",
    input_schema: { type: "object" as const, properties: {} },
    run: () => "It is high.",
    parse: () => ({}),
  };
  const params: Parameters<Beta["toolRunner"]>[0] = {
    model: "claude-opus-5-5",
    max_tokens: 500,
    betas: ["compact-2026-09-04"],
    messages: [{ role: "user", content: "How is the tide?" }],
    tools: [runnable],
    thinking: { type: "adaptive" },
    stop_sequences: ["never said"],
    thread: false,
  };

  function scripted(text: string): Responder {
    const reading = parseScenario({ file: "s.yaml", text });
    if (reading.kind !== "scenario") throw new Error("no scenario");
    return scriptResponder(reading.scenario);
  }

  it("compacts before its next turn and goes on from the block", async () => {
    const responder = scripted(
      "{ name: s, compaction: [{ text: It is high. }], moves: [{ thinking: Hm., tools: [{ name: tide }] }, { thinking: So., text: High it is. }] }",
    );
    const runner = clientOf(responder).beta.messages.toolRunner(params);
    const stops: (string | null)[] = [];
    for await (const message of runner) {
      if (!("stop_reason" in message)) throw new Error("not streamed");
      stops.push(message.stop_reason);
      if (message.stop_reason === "tool_use") runner.compactBeforeNextTurn();
    }
    expect(stops).toEqual(["tool_use", "compaction", "end_turn"]);
    expect(
      runner.params.messages.map(({ content }) => Array.isArray(content) && content.map(({ type }) => type)),
    ).toEqual([["compaction"], ["thinking", "text"]]);
  });

  it("compacts after the final turn", async () => {
    const responder = scripted("{ name: s, moves: [{ text: High it is. }] }");
    const runner = clientOf(responder).beta.messages.toolRunner(params);
    runner.compactBeforeNextTurn();
    const stops: (string | null)[] = [];
    for await (const message of runner) if ("stop_reason" in message) stops.push(message.stop_reason);
    expect(stops).toEqual(["compaction", "end_turn"]);
  });
});
