import { describe, expect, it } from "vitest";
import { handClock } from "../../../../../test/fixture/hand-clock.ts";
import { says } from "../../../../../test/scenario/support/simulated.ts";
import { plainRetryLimits, plainTimeMillisMax } from "../../layers/4-compact/limits.ts";
import { toPlainMessages, plainRequest } from "../../layers/4-compact/plain-request.ts";
import { anthropicModel } from "../../model/anthropic/client.ts";
import { openaiModel } from "../../model/openai/client.ts";
import type { ModelEvent, ModelPort, SummaryCall } from "../../ports/model-port.ts";
import type { Block, Message } from "../../schema/block.ts";
import { millis, toolUseId } from "../../schema/brand.ts";
import type { Responder, PlannedReply } from "@palimpsest/simulator/internal/responder/responder";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import type { MessagesRequest } from "../../schema/wire/messages-request.ts";
import { plainSummariser, type PlainSummariserOptions } from "./plain-summariser.ts";

const model = "claude-sonnet-5";
const options: PlainSummariserOptions = { model, windowTokens: 200_000, outputTokensMax: 64_000 };
const quick = { wait: () => Promise.resolve(), random: () => 0, now: () => millis(Date.UTC(2026, 0, 1)) };
const signal = new AbortController().signal;

const user = (...content: readonly Block[]): Message => ({ role: "user", content });
const text = (words: string): Block => ({ type: "text", text: words });
const call: Block = {
  type: "tool_use",
  id: toolUseId("toolu_1"),
  name: "mcp__files__".padEnd(100, "x"),
  input: { path: "a.ts" },
};
const result: Block = { type: "tool_result", tool_use_id: toolUseId("toolu_1"), content: "export {};" };
const worked: readonly Message[] = [
  user(text("Read it.")),
  { role: "assistant", content: [call] },
  user(result, text("Write the summary.")),
];
const asks = (messages: readonly Message[] = worked, more: Partial<SummaryCall> = {}): SummaryCall => ({
  system: "You write summaries.",
  messages,
  outputTokensMax: 20_000,
  ...more,
});

/** A simulator that takes these in turn, the last one for ever, and what it was asked. */
function staged(takes: readonly PlannedReply[], windowTokens = 200_000) {
  const requests: MessagesRequest[] = [];
  const actor: Responder = {
    name: "staged",
    respond: ({ request }) => {
      requests.push(request);
      return takes[Math.min(requests.length, takes.length) - 1] ?? { move: { kind: "say", blocks: [] } };
    },
  };
  const simulator = new Simulator({ responder: actor, models: [{ id: model, windowTokens }] });
  const port = anthropicModel({ apiKey: "sk-test", fetch: simulatorFetch(simulator), now: quick.now });
  return { simulator, requests, port };
}

const summary: PlannedReply = { move: { kind: "say", blocks: says("<summary>All of it.</summary>") } };

describe("a plain call for a summary", () => {
  it("is taken by the provider with calls in it, asks for no tool and marks nothing", async () => {
    const { port, requests } = staged([summary]);
    const heard: string[] = [];
    const summariser = plainSummariser({ ...quick, model: port }, options);
    const answer = await summariser.ask(asks(worked, { onText: (words) => heard.push(words) }), signal);
    expect(answer).toMatchObject({ kind: "answered", text: "<summary>All of it.</summary>", stopReason: "end_turn" });
    expect(heard.join("")).toBe("<summary>All of it.</summary>");
    const [request] = requests;
    expect(request).toMatchObject({ max_tokens: 20_000, tool_choice: { type: "none" } });
    expect(request?.tools).toEqual([{ name: "tool", input_schema: { type: "object" } }]);
    expect(JSON.stringify(request)).not.toContain("cache_control");
  });

  it("defines no tool where nothing was called", async () => {
    const { port, requests } = staged([summary]);
    await plainSummariser({ ...quick, model: port }, options).ask(asks([user(text("Hello. Sum it up."))]), signal);
    expect(requests[0]).not.toHaveProperty("tools");
    expect(requests[0]).not.toHaveProperty("tool_choice");
  });

  it("goes to servers of the other form as well", async () => {
    const { simulator, requests } = staged([summary]);
    const port = openaiModel({
      apiKey: "sk-test",
      baseUrl: "https://api.openai.com/v1",
      fetch: simulatorFetch(simulator),
      now: quick.now,
      uuid: () => "00000000-0000-4000-8000-000000000000",
    });
    const summariser = plainSummariser({ ...quick, model: port }, { ...options, model: "gpt-5.5" });
    expect(await summariser.ask(asks(), signal)).toMatchObject({
      kind: "answered",
      text: "<summary>All of it.</summary>",
    });
    expect(requests).toHaveLength(1);
  });

  it.each([8_192, 16_384, 32_000, 200_000])(
    "fits a window of %i tokens beside its reply, whatever is summed up",
    async (windowTokens) => {
      const { port, requests } = staged([summary], windowTokens);
      const summariser = plainSummariser({ ...quick, model: port }, { ...options, windowTokens });
      const count = (message: Message): number => summariser.count(message);
      const { inputTokensMax: tokensMax } = summariser;
      const prompt = "Write the summary. ".repeat(100);
      const code = "const sum = (left: number, right: number): number => left + right; // 合計 😀\n";
      for (const lines of [10, 1_000, 20_000]) {
        const huge: Message = user({ ...result, content: code.repeat(lines) });
        const messages = toPlainMessages([user(text("Go.")), { role: "assistant", content: [call] }, huge]);
        const request = plainRequest({ messages, prompt, tokensMax, count });
        const answer = await summariser.ask(asks(request.kind === "fits" ? request.messages : []), signal);
        expect(answer).toMatchObject({ kind: "answered" });
      }
      expect(requests).toHaveLength(3);
    },
  );
});

describe("a plain call that goes wrong", () => {
  const overloaded: PlannedReply = { ...summary, fault: { kind: "overloaded" } };
  const broken: PlannedReply = { ...summary, fault: { kind: "break", afterEvents: 3 } };

  it("is tried again a few times", async () => {
    const { port, requests } = staged([overloaded, overloaded, summary]);
    const answer = await plainSummariser({ ...quick, model: port }, options).ask(asks(), signal);
    expect(answer).toMatchObject({ kind: "answered" });
    expect(requests).toHaveLength(3);
  });

  it("is given up after these", async () => {
    const { port, requests } = staged([overloaded]);
    const answer = await plainSummariser({ ...quick, model: port }, options).ask(asks(), signal);
    expect(answer).toMatchObject({ kind: "failed", failure: { why: "overloaded" } });
    expect(requests).toHaveLength(3);
  });

  it("tells what each broken reply cost, also where a later one is whole", async () => {
    const mended = staged([broken, summary]);
    const answer = await plainSummariser({ ...quick, model: mended.port }, options).ask(asks(), signal);
    expect(answer.kind).toBe("answered");
    expect(answer.wasted?.map((usage) => Number(usage["input_tokens"]) > 0)).toEqual([true]);
    const lost = staged([broken]);
    const failed = await plainSummariser({ ...quick, model: lost.port }, options).ask(asks(), signal);
    expect(failed).toMatchObject({ kind: "failed", failure: { why: "broken-stream" } });
    expect([...(failed.wasted ?? []), failed.usage]).toHaveLength(3);
    expect(Number(failed.usage?.["input_tokens"])).toBeGreaterThan(0);
  });

  it("says by how much it was too long", async () => {
    const { port, requests } = staged([summary], 8_192);
    const long = [user(text("some words and more of them ".repeat(5_000)))];
    const answer = await plainSummariser({ ...quick, model: port }, options).ask(asks(long), signal);
    if (answer.kind !== "failed") expect.unreachable();
    expect(answer.failure.why).toBe("too-long");
    expect(answer.failure.usedTokens).toBeGreaterThan(answer.failure.limitTokens ?? Infinity);
    expect(requests).toHaveLength(0);
  });

  it("fails where the model breaks its promise", async () => {
    const silent: ModelPort = { provider: "none", send: () => events([]), describe: () => Promise.resolve(undefined) };
    const answer = await plainSummariser({ ...quick, model: silent }, options).ask(asks(), signal);
    expect(answer).toMatchObject({ kind: "failed", failure: { why: "broken-stream" } });
  });
});

describe("a plain call that hangs", () => {
  it("is stopped after the silence, and the provider hears of it", async () => {
    const clock = handClock();
    const { port } = staged([{ ...summary, fault: { kind: "hang" } }]);
    const heard = Promise.withResolvers<AbortSignal>();
    const watched: ModelPort = {
      ...port,
      send: (request, given) => {
        heard.resolve(given);
        return port.send(request, given);
      },
    };
    const deps = { ...clock, random: () => 0, model: watched };
    const answer = plainSummariser(deps, { ...options, silenceMillisMax: millis(60_000) }).ask(asks(), signal);
    const given = await heard.promise;
    await clock.advance(60_000);
    expect(await answer).toMatchObject({ kind: "failed", failure: { why: "timeout" } });
    expect(given.aborted).toBe(true);
    expect(clock.waiting()).toBe(0);
  });

  it("is stopped after the whole time where it trickles for ever", async () => {
    const clock = handClock();
    let isStopped = false;
    const trickling: ModelPort = {
      provider: "none",
      describe: () => Promise.resolve(undefined),
      send: async function* (_, given) {
        yield { kind: "reply-start", id: "msg_1" as never, model, usage: { input_tokens: 9 } };
        while (!given.aborted) {
          await clock.wait(millis(1_000), given);
          yield { kind: "text-delta", index: 0, text: "." };
        }
        isStopped = true;
        yield { kind: "failure", failure: { why: "aborted", retry: "never", message: "Stopped." } };
      },
    };
    const answer = plainSummariser({ ...clock, random: () => 0, model: trickling }, options).ask(asks(), signal);
    for (let time = 0; time <= plainTimeMillisMax; time += 1_000) await clock.advance(1_000);
    expect(await answer).toMatchObject({ kind: "failed", failure: { why: "timeout" }, usage: { input_tokens: 9 } });
    expect(isStopped).toBe(true);
  });

  it("ends at an abort while nothing comes", async () => {
    const clock = handClock();
    const { port } = staged([{ ...summary, fault: { kind: "hang" } }]);
    const controller = new AbortController();
    const answer = plainSummariser({ ...clock, random: () => 0, model: port }, options).ask(asks(), controller.signal);
    setImmediate(() => controller.abort());
    expect(await answer).toMatchObject({ kind: "failed", failure: { why: "aborted" } });
    expect(clock.waiting()).toBe(0);
  });

  it("ends at an abort while it waits to try again", async () => {
    const clock = handClock();
    const { port, requests } = staged([{ ...summary, fault: { kind: "overloaded" } }]);
    const controller = new AbortController();
    const wait: typeof clock.wait = (time, given) => {
      if (time <= plainRetryLimits.backoffMillisMax) controller.abort();
      return clock.wait(time, given);
    };
    const summariser = plainSummariser({ ...clock, wait, random: () => 1, model: port }, options);
    expect(await summariser.ask(asks(), controller.signal)).toMatchObject({
      kind: "failed",
      failure: { why: "aborted" },
    });
    expect(requests).toHaveLength(1);
  });
});

async function* events(list: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  await Promise.resolve();
  yield* list;
}
