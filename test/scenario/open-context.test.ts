import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { served } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
const system = "You fix tests.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

/** Calls `read` so many times a turn, then answers. */
const reader = (calls: number): Responder => {
  let left = calls;
  return {
    name: "reader",
    respond: () => {
      if (left === 0) {
        left = calls;
        return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
      }
      left -= 1;
      return { move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: { path: `src/${left}.ts` } }] } };
    },
  };
};

const clientOf = (simulator: Simulator): Anthropic =>
  new Anthropic({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator", fetch: simulatorFetch(simulator) });

describe("openContext, with the official client", () => {
  it("keeps a conversation going for rounds on rounds in a window of 30,000 tokens, and the first message stays", async () => {
    const client = clientOf(new Simulator({ responder: reader(9) }));
    const context = await openContext({ model, system, tools, contextTokens: 30_000 });
    const first = "The very first thing that was said: fix gauge.test.ts, and touch nothing else.";
    let requests = 0;
    let largest = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      await context.user(turn === 0 ? first : `Go on with part ${turn}.`);
      for (;;) {
        const request = await context.next();
        requests += 1;
        largest = Math.max(largest, request.tokens);
        const reply = await client.messages.create(request.params);
        const calls = await context.assistant(reply);
        if (calls.length === 0) break;
        for (const call of calls)
          await context.toolResult(call.id, `${JSON.stringify(call.input)} ${"line of code; ".repeat(300)}`);
      }
    }
    expect(requests).toBe(120);
    expect(largest).toBeLessThan(30_000);
    const { params } = await (await context.user("What did I say first?"), context.next());
    expect(JSON.stringify(params.messages)).toContain(first);
    expect(context.receipts().length).toBeGreaterThan(0);
    expect(context.costs().session.requests).toBe(120);
    expect(context.report().used).toBeLessThan(30_000);
    expect((await context.recall("src/8.ts")).length).toBeGreaterThan(0);
    await context.close();
  });

  it("streams: blocks are stored as they end, and a reply that breaks off leaves a conversation that can go on", async () => {
    const client = clientOf(new Simulator({ responder: reader(1) }));
    const context = await openContext({ model, system, tools });
    await context.user("Begin.");
    const request = await context.next();
    const whole: Anthropic.RawMessageStreamEvent[] = [];
    for await (const event of await client.messages.create({ ...request.params, stream: true })) whole.push(event);
    for (let cut = 1; cut < whole.length - 1; cut += 1) {
      async function* broken(): AsyncGenerator<Anthropic.RawMessageStreamEvent> {
        yield* whole.slice(0, cut);
        throw new Error("the line went dead");
      }
      await expect(context.assistantStream(broken())).rejects.toThrow("the line went dead");
      await context.user(`Again, ${cut}.`);
      const again = await context.next();
      await client.messages.countTokens({ model, messages: again.params.messages, tools });
    }
    const stream = await client.messages.create({ ...(await context.next()).params, stream: true });
    expect(await context.assistantStream(stream)).toEqual([]);
    await context.close();
  });

  it("a stream that broke off is asked for again with the same request, and what came of it is paid for", async () => {
    const responder: Responder = {
      name: "caller",
      respond: () => ({
        move: {
          kind: "say",
          blocks: [
            { type: "text", text: "I look." },
            { type: "tool_use", name: "read", input: {} },
          ],
        },
      }),
    };
    const client = clientOf(new Simulator({ responder }));
    const context = await openContext({ model, tools });
    await context.user("Begin.");
    const first = await context.next();
    const whole: Anthropic.RawMessageStreamEvent[] = [];
    for await (const event of await client.messages.create({ ...first.params, stream: true })) whole.push(event);
    async function* broken(): AsyncGenerator<Anthropic.RawMessageStreamEvent> {
      yield* whole.slice(0, -3);
      throw new TypeError("terminated");
    }
    async function* cut(): AsyncGenerator<Anthropic.RawMessageStreamEvent> {
      yield* whole.slice(0, -1);
    }
    for (const stream of [broken(), cut()]) {
      const error: unknown = await context.assistantStream(stream).catch((thrown: unknown) => thrown);
      expect(await context.refused(error)).toMatchObject({ kind: "retry" });
      expect((await context.next()).params).toEqual(first.params);
    }
    const stream = await client.messages.create({ ...first.params, stream: true });
    const [call] = await context.assistantStream(stream);
    await context.toolResult(call?.id ?? "", "the text");
    const { params } = await context.next();
    expect(params.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    await client.messages.create(params);
    expect(context.costs().session.requests).toBe(3);
    await context.close();
  });

  it("a request that the provider refuses as too long is sent shorter, with a receipt", async () => {
    const client = clientOf(new Simulator({ responder: reader(0), models: [{ id: model, windowTokens: 20_000 }] }));
    const context = await openContext({ model, system, tools, contextTokens: 200_000 });
    let refusals = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      await context.user(`Part ${turn}: ${"what a user says is never cleared. ".repeat(300)}`);
      for (;;) {
        const { params } = await context.next();
        try {
          await context.assistant(await client.messages.create(params));
          break;
        } catch (error) {
          refusals += 1;
          expect(await context.refused(error)).toMatchObject({ kind: "retry" });
        }
      }
    }
    expect(refusals).toBeGreaterThan(0);
    expect(refusals).toBeLessThan(4);
    expect(context.receipts().some(({ kind }) => kind === "boundary")).toBe(true);
    await context.close();
  });

  it("what is not the request's fault is tried again later, or stopped with advice", async () => {
    const context = await openContext({ model, system, tools });
    await context.user("Begin.");
    await context.next();
    expect(await context.refused({ status: 529, body: "" })).toMatchObject({ kind: "retry" });
    const wrong = { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } };
    expect(await context.refused({ status: 401, body: wrong })).toEqual({ kind: "stop", advice: "invalid x-api-key" });
    await context.close();
  });

  it("is summed up by a model of its own, asked through the caller's function", async () => {
    const client = clientOf(new Simulator({ responder: reader(0) }));
    const summaries = clientOf(new Simulator());
    const asked: string[] = [];
    const events: string[] = [];
    const context = await openContext({
      model,
      system,
      tools,
      contextTokens: 30_000,
      summarizer: {
        model: "claude-haiku-4-5",
        ask: ({ params, signal }) => {
          asked.push(params.model);
          return summaries.messages.create(params, { signal });
        },
      },
      onEvent: ({ kind }) => void events.push(kind),
    });
    for (let turn = 0; turn < 6; turn += 1) {
      await context.user(`Part ${turn}: ${"what a user says is never cleared. ".repeat(500)}`);
      await context.assistant(await client.messages.create((await context.next()).params));
    }
    expect(new Set(asked)).toEqual(new Set(["claude-haiku-4-5"]));
    expect(events).toContain("compaction-start");
    await context.close();
  });

  it("a session in files is opened again where it was left, also with a call that has no result", async () => {
    const folder = await mkdtemp(join(tmpdir(), "context-"));
    const client = clientOf(new Simulator({ responder: reader(1) }));
    const first = await openContext({ model, system, tools, session: "work", store: fileStore({ folder }) });
    await first.user("The first words.");
    await first.assistant(await client.messages.create((await first.next()).params));
    await expect(openContext({ model, session: "work", store: fileStore({ folder }) })).rejects.toMatchObject({
      code: "busy",
    });
    await first.close();
    const second = await openContext({ model, system, tools, session: "work", store: fileStore({ folder }) });
    await second.user("And then?");
    const { params } = await second.next();
    expect(JSON.stringify(params.messages)).toContain("The first words.");
    const reply = await client.messages.create(params);
    expect(reply.stop_reason).toBe("end_turn");
    await second.assistant(reply);
    expect(second.costs().session.requests).toBe(2);
    await second.close();
  });

  it("a compaction can be looked at, made and taken back", async () => {
    const client = clientOf(new Simulator({ responder: reader(6) }));
    const context = await openContext({ model, system, tools });
    await context.user("Begin with gauge.ts.");
    for (;;) {
      const calls = await context.assistant(await client.messages.create((await context.next()).params));
      if (calls.length === 0) break;
      for (const call of calls) await context.toolResult(call.id, "line of code; ".repeat(900));
    }
    const before = context.report().used;
    expect(await context.compact({ preview: true })).toMatchObject({ kind: "preview" });
    expect(context.report().used).toBe(before);
    expect(await context.compact()).toMatchObject({ kind: "compacted" });
    expect(context.report().used).toBeLessThan(before / 2);
    expect(await context.undo()).toMatchObject({ kind: "undone" });
    expect(context.report().used).toBeGreaterThan(before / 2);
    await context.user("Go on.");
    await client.messages.create((await context.next()).params);
    await context.close();
  });

  it("opened again, it has every receipt and every cost that it had", async () => {
    const store = memoryStore();
    const client = clientOf(new Simulator({ responder: reader(3) }));
    const options = { model, tools, store, session: "same" };
    const before = await openContext(options);
    for (let turn = 0; turn < 3; turn += 1) {
      await before.user(`Part ${turn}.`);
      for (;;) {
        const calls = await before.assistant(await client.messages.create((await before.next()).params));
        if (calls.length === 0) break;
        for (const call of calls) await before.toolResult(call.id, "line of code; ".repeat(900));
      }
      expect(await before.compact()).toMatchObject({ kind: "compacted" });
    }
    const [receipts, costs] = [before.receipts(), before.costs().session];
    expect(receipts.filter(({ receipt }) => receipt !== undefined).length).toBeGreaterThanOrEqual(3);
    await before.close();
    const after = await openContext(options);
    expect(after.receipts()).toEqual(receipts);
    expect(after.costs().session.totalNanos).toBe(costs.totalNanos);
    await after.close();
  });

  it("calls out of order are refused with a code that says which", async () => {
    const context = await openContext({ model, tools });
    await expect(context.next()).rejects.toMatchObject({ code: "not-sendable" });
    await context.user("Begin.");
    await expect(context.toolResult("nothing", "x")).rejects.toMatchObject({ code: "unknown-call" });
    await context.close();
    await expect(context.user("Late.")).rejects.toMatchObject({ code: "closed" });
  });
});

describe("openContext, for chat completions", () => {
  it("the same conversation in the other provider's form", async () => {
    const { url } = await served({ responder: reader(9), models: [{ id: "gpt-5.6" }] });
    const client = new OpenAI({ apiKey: "sk-test", baseURL: `${url}/v1`, maxRetries: 0 });
    const context = await openContext({
      model: "gpt-5.6",
      provider: "openai-chat",
      system,
      tools,
      contextTokens: 30_000,
    });
    for (let turn = 0; turn < 5; turn += 1) {
      await context.user(`Part ${turn}.`);
      for (;;) {
        const { params, tokens } = await context.next();
        expect(tokens).toBeLessThan(30_000);
        const calls = await context.assistant(await client.chat.completions.create(params));
        if (calls.length === 0) break;
        for (const call of calls) await context.toolResult(call.id, "line of code; ".repeat(500));
      }
    }
    const stream = await client.chat.completions.create({
      ...(await (await context.user("More."), context.next())).params,
      stream: true,
    });
    expect(await context.assistantStream(stream)).toMatchObject([{ name: "read" }]);
    await context.close();
  });
});

describe("openContext, for responses", () => {
  it("the same conversation in the third form", async () => {
    const { url } = await served({ responder: reader(9), models: [{ id: "gpt-5.6" }] });
    const client = new OpenAI({ apiKey: "sk-test", baseURL: `${url}/v1`, maxRetries: 0 });
    const provider = "openai-responses";
    const context = await openContext({ model: "gpt-5.6", provider, system, tools, contextTokens: 30_000 });
    for (let turn = 0; turn < 5; turn += 1) {
      await context.user(`Part ${turn}.`);
      for (;;) {
        const { params, tokens } = await context.next();
        expect(tokens).toBeLessThan(30_000);
        const calls = await context.assistant(await client.responses.create(params));
        if (calls.length === 0) break;
        for (const call of calls) await context.toolResult(call.id, "line of code; ".repeat(500));
      }
    }
    expect(context.costs().session.tokensByKind.output).toBeGreaterThan(0);
    await context.user("More.");
    const stream = await client.responses.create({ ...(await context.next()).params, stream: true });
    expect(await context.assistantStream(stream)).toMatchObject([{ name: "read" }]);
    await context.close();
  });
});
