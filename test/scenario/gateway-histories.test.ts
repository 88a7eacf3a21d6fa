import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { type GatewayWorld, type GatewayWorldOptions, openGatewayWorld } from "./support/gateway-world.ts";
import { playing, says } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
const openaiModel = "gpt-5.6-sol";
let world: GatewayWorld;
afterEach(() => world.close());

const windowTokens = 16_000;
const outputTokens = 1_000;
const files = 24;
const prompt = "Read all files. The code word is periwinkle.";

/** Reads file after file, and has finished if it still knows the code word then. A file is a tenth of the window. */
function reader() {
  const record = { finished: false };
  let file = 0;
  const respond: Responder["respond"] = ({ request, purpose }) => {
    const shown = JSON.stringify(request.messages);
    const [, known = "lost"] = /code word is (\w+)/.exec(shown) ?? [];
    if (purpose === "compaction")
      return { move: { kind: "say", blocks: says(`<summary>The code word is ${known}.</summary>`) } };
    file += 1;
    record.finished = file > files && known === "periwinkle";
    const blocks: readonly MoveBlock[] =
      file > files ? says("Done.") : [{ type: "tool_use", name: "read", input: { path: `${file}.ts` } }];
    return { move: { kind: "say", blocks } };
  };
  return { responder: { name: "reader", respond }, record };
}

const readFile = (path: string): string => `// ${path}\n${`export const a = ${path.length};\n`.repeat(280)}`;

const properties = { path: { type: "string" } } as const;
const tools = [
  betaTool({
    name: "read",
    description: "Reads a file.",
    inputSchema: { type: "object", properties, required: ["path"] },
    run: (input) => readFile(input.path),
  }),
];

const models = [model, openaiModel].map((id) => ({ id, windowTokens, outputTokensMax: outputTokens }));

async function open(responder: Responder, options: Partial<GatewayWorldOptions> = {}) {
  const threads: unknown[] = [];
  const statuses: number[] = [];
  world = await openGatewayWorld({
    simulator: { responder, models, seed: 1 },
    contextTokens: windowTokens,
    ...options,
  });
  /** Notes what the client sends as its thread, and how it is answered. */
  const noting: typeof globalThis.fetch = async (url, init) => {
    const response = await globalThis.fetch(url, init);
    if (typeof init?.body === "string") threads.push((JSON.parse(init.body) as { thread?: unknown }).thread);
    statuses.push(response.status);
    return response;
  };
  return {
    threads,
    statuses,
    client: new Anthropic({ apiKey: "none", maxRetries: 0, baseURL: world.url, fetch: noting }),
    openai: new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: `${world.url}/v1` }),
  };
}

const task = {
  model,
  max_tokens: outputTokens,
  system: "You read.",
  tools,
  messages: [{ role: "user" as const, content: prompt }],
  max_iterations: 200,
};

const refusedUpstream = (): number => world.traffic.filter(({ status }) => status >= 400).length;
/** The list alone is 200,000 at its end. */
const longestBytes = (): number => Math.max(...world.traffic.map(({ bytes }) => bytes.length));
const failedOpen = (): number => world.events.filter(({ kind }) => kind === "failed-open").length;
const askedSizes = (): readonly number[] =>
  world.traffic.map(({ body }) => (Array.isArray(body["messages"]) ? body["messages"].length : 0));

/** Answers with how much it was shown. */
const counting: Responder = {
  name: "counting",
  respond: ({ request }) => ({ move: { kind: "say", blocks: says(`You sent ${request.messages.length}.`) } }),
};
const textOf = ({ content }: Anthropic.Beta.BetaMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ");
const asks = (content: string): Anthropic.Beta.BetaMessageParam => ({ role: "user", content });

describe("message threads, kept", () => {
  it.each(["stream", "whole"] as const)(
    "the tool runner finishes a task that does not fit the window, sending only what is new (%s)",
    async (form) => {
      const { responder, record } = reader();
      const { client, threads, statuses } = await open(responder);
      const markedAnew = { ...task, cache_control: { type: "ephemeral" as const } };
      if (form === "stream")
        for await (const stream of client.beta.messages.toolRunner({ ...markedAnew, stream: true }))
          await stream.finalMessage();
      else await client.beta.messages.toolRunner(markedAnew);
      expect([record.finished, longestBytes()]).toEqual([true, expect.toSatisfy((bytes: number) => bytes < 80_000)]);
      expect([threads[0], threads.filter((thread) => JSON.stringify(thread).includes("continue")).length]).toEqual([
        { type: "create" },
        threads.length - 1,
      ]);
      expect([statuses.every((status) => status === 200), refusedUpstream(), failedOpen()]).toEqual([true, 0, 0]);
      expect(world.conversations.conversations()).toHaveLength(1);
      expect(world.traffic.every(({ body }) => !("thread" in body) && Array.isArray(body["tools"]))).toBe(true);
      expect(world.traffic.some(({ headers }) => headers.get("anthropic-beta")?.includes("threads") === true)).toBe(
        false,
      );
    },
  );

  it("goes on after the tool runner's own compactions", async () => {
    const { responder, record } = reader();
    const { client, threads } = await open(responder);
    const runner = client.beta.messages.toolRunner({ ...task, betas: ["compact-2026-09-04"] });
    let turns = 0;
    const stops = new Set<string | null>();
    for await (const message of runner) {
      if (!("stop_reason" in message)) throw new Error("not streamed");
      stops.add(message.stop_reason);
      turns += 1;
      if (turns % 8 === 0) runner.compactBeforeNextTurn();
    }
    expect({ finished: record.finished, compacted: stops.has("compaction"), refused: refusedUpstream() }).toEqual({
      finished: true,
      compacted: true,
      refused: 0,
    });
    expect(threads.filter((thread) => JSON.stringify(thread).includes("create")).length).toBeGreaterThan(2);
  });

  it("a thread goes on after a restart, and its client notices nothing", async () => {
    const { client, statuses } = await open(counting);
    const thread = client.beta.messages.thread({ model, max_tokens: 100, system: "Count." });
    await thread.send(asks("One."));
    await thread.send(asks("Two."));
    await world.reopen();
    expect(textOf(await thread.send(asks("Three.")))).toBe("You sent 5.");
    expect(textOf(await thread.send(asks("Four.")))).toBe("You sent 7.");
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(askedSizes()).toEqual([1, 3, 5, 7]);
    expect(world.traffic.every(({ body }) => body["system"] === "Count.")).toBe(true);
  });

  it("a thread that is not known is refused in the way by which the SDK begins it anew", async () => {
    const { client } = await open(counting);
    const unknown = client.beta.messages.create({
      model,
      max_tokens: 100,
      betas: ["message-threads-2026-08-12"],
      thread: { type: "continue", previous_message_id: "msg_unknown" },
      messages: [asks("Two.")],
    });
    const error = { error: { type: "not_found_error", details: { error_code: "thread_not_found" } } };
    await expect(unknown).rejects.toMatchObject({ status: 404, error });
    expect(world.traffic).toEqual([]);
  });

  it("can be continued again from the same reply, and counted", async () => {
    const { client } = await open(counting);
    const params = { model, max_tokens: 100, betas: ["message-threads-2026-08-12"] };
    const mark = { type: "ephemeral" as const };
    const first = await client.beta.messages.create({
      ...params,
      thread: { type: "create" },
      messages: [{ role: "user", content: [{ type: "text", text: "One.", cache_control: mark }] }],
    });
    const more = { thread: { type: "continue" as const, previous_message_id: first.id }, messages: [asks("Two.")] };
    const second = await client.beta.messages.create({ ...params, ...more });
    expect(textOf(await client.beta.messages.create({ ...params, ...more }))).toBe(textOf(second));
    const third = { type: "continue" as const, previous_message_id: second.id };
    expect(textOf(await client.beta.messages.create({ ...params, thread: third, messages: [asks("Three.")] }))).toBe(
      "You sent 5.",
    );
    // A mark belongs to the request that brought it.
    const marked = world.traffic.map(({ body }) => JSON.stringify(body).includes("cache_control"));
    expect(marked).toEqual([true, false, false, false]);
  });
});

describe("message threads, refused", () => {
  it("the tool runner sends whole lists instead, through its compactions too", async () => {
    const { responder, record } = reader();
    const { client, threads, statuses } = await open(responder, { exchange: { threads: "refuse" } });
    const runner = client.beta.messages.toolRunner({ ...task, betas: ["compact-2026-09-04"] });
    let turns = 0;
    for await (const message of runner) {
      if (!("stop_reason" in message)) throw new Error("not streamed");
      turns += 1;
      if (turns % 10 === 0) runner.compactBeforeNextTurn();
    }
    expect({ finished: record.finished, refused: refusedUpstream() }).toEqual({ finished: true, refused: 0 });
    expect(statuses.filter((status) => status !== 200)).toEqual([400]);
    expect(threads.filter((thread) => thread !== undefined)).toEqual([{ type: "create" }]);
  });

  it("a request that only speaks of a thread passes", async () => {
    const { client } = await open(counting, { exchange: { threads: "refuse" } });
    const text = '"thread": {"type": "create"}';
    const reply = await client.beta.messages.create({
      model,
      max_tokens: 100,
      betas: ["message-threads-2026-08-12"],
      messages: [asks(text)],
    });
    expect(textOf(reply)).toBe("You sent 1.");
  });
});

const functions = [
  {
    type: "function" as const,
    name: "read",
    description: "Reads a file.",
    parameters: { type: "object", properties, required: ["path"] },
    strict: false,
  },
];

const runFunction = ({ arguments: json }: OpenAI.Responses.ResponseFunctionToolCall): string =>
  readFile((JSON.parse(json) as { path: string }).path);

const isUser = (item: unknown): boolean => JSON.stringify(item).includes('"role":"user"');

describe("responses continued by id", () => {
  it.each(["stream", "whole"] as const)(
    "a client that sends only results finishes a task that does not fit the window (%s)",
    async (form) => {
      const { responder, record } = reader();
      const { openai } = await open(responder);
      const params = {
        model: openaiModel,
        instructions: "You read.",
        tools: functions,
        max_output_tokens: outputTokens,
      };
      let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: prompt }];
      let previous: string | null = null;
      for (let turn = 0; turn < 200 && input.length > 0; turn += 1) {
        const asked: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
          ...params,
          input,
          previous_response_id: previous,
        };
        const response: OpenAI.Responses.Response =
          form === "whole"
            ? await openai.responses.create(asked)
            : await openai.responses.stream({ ...asked, stream: true }).finalResponse();
        previous = response.id;
        input = response.output.flatMap((item) =>
          item.type === "function_call"
            ? [{ type: "function_call_output" as const, call_id: item.call_id, output: runFunction(item) }]
            : [],
        );
      }
      expect([record.finished, longestBytes()]).toEqual([true, expect.toSatisfy((bytes: number) => bytes < 80_000)]);
      expect([refusedUpstream(), failedOpen()]).toEqual([0, 0]);
      expect(world.conversations.conversations()).toHaveLength(1);
      expect(world.traffic.some(({ body }) => typeof body["previous_response_id"] === "string")).toBe(false);
    },
  );

  it("an unknown id and a conversation pass as they are", async () => {
    const { openai } = await open(counting, {
      answer: () => Promise.resolve(Response.json({ id: "resp_9", status: "completed", output: [] })),
    });
    const unknown = { model: openaiModel, input: "Go on.", previous_response_id: "resp_1" };
    const kept = { model: openaiModel, input: "Go on.", conversation: "conv_1" };
    await openai.responses.create(unknown);
    await openai.responses.create(kept);
    expect(world.traffic.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([
      JSON.stringify(unknown),
      JSON.stringify(kept),
    ]);
  });

  it("a reply with a call of ours is continued by its first id, and compacted upstream by its last one", async () => {
    const recall: readonly MoveBlock[] = [{ type: "tool_use", name: "recall", input: { query: "tide" } }];
    const { openai } = await open(playing(recall, says("High."), says("Low.")));
    const params = { model: openaiModel, tools: functions };
    const first = await openai.responses.create({ ...params, input: "How is the tide?" });
    expect([first.output_text, first.output.length, world.traffic.length]).toEqual(["High.", 1, 2]);
    const second = await openai.responses.create({ ...params, input: "And now?", previous_response_id: first.id });
    expect(second.output_text).toBe("Low.");
    const sent = world.traffic.at(-1)?.body["input"];
    expect(Array.isArray(sent) && sent.filter(isUser).length).toBe(2);
    expect(JSON.stringify(sent)).toContain("function_call_output");
    await openai.responses.compact({ model: openaiModel, previous_response_id: first.id });
    const compacted = world.traffic.at(-1);
    expect(compacted).toMatchObject({ path: "/v1/responses/compact", status: 200 });
    expect(compacted?.body["previous_response_id"]).not.toBe(first.id);
  });
});
