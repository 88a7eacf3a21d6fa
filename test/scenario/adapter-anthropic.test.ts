import Anthropic, { AuthenticationError, BadRequestError } from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { describe, expect, it, vi } from "vitest";
import { withContext } from "../../packages/palimpsest/src/adapter/anthropic/with-context.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { playing } from "./support/simulated.ts";
import {
  countBoundaries,
  fileText,
  longest,
  reader,
  recordingFetch,
  refusing,
  small,
} from "./support/adapter-world.ts";

const model = "claude-sonnet-5-5";
const wider = { ...small, contextTokens: 40_000 };
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

const unauthorised = { kind: "refused", status: 401, type: "authentication_error", message: "invalid key" } as const;

const answers = (content: readonly Anthropic.ContentBlock[]): Anthropic.ToolResultBlockParam[] =>
  content.flatMap((block) =>
    block.type === "tool_use" ? [{ type: "tool_result", tool_use_id: block.id, content: fileText(block.input) }] : [],
  );

function connected(responder: Responder) {
  const { fetch, bodies } = recordingFetch(responder);
  const client = new Anthropic({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator", fetch });
  return { client, bodies };
}

/** The messages of a body. The context marks the last block of the last one, which is a text or a block. */
function withoutLastMark(body: string): readonly object[] {
  const { messages } = JSON.parse(body) as { messages: readonly { content: unknown }[] };
  return messages.map(({ content, ...message }) => {
    if (!Array.isArray(content)) return { ...message, content };
    const blocks = content.map(({ cache_control: _mark, ...block }: Record<string, unknown>) => block);
    const [only] = blocks;
    return { ...message, content: isMarkedText(content) ? only?.["text"] : blocks };
  });
}

/** A text that the caller wrote as a string has one key more than a block of the caller's: the mark. */
const isMarkedText = (content: readonly object[]): boolean =>
  content.length === 1 && content[0] !== undefined && "cache_control" in content[0] && "text" in content[0];

describe("withContext, for the client of @anthropic-ai/sdk", () => {
  it("messages.create: a plain loop over one growing list goes through three compactions in a small window", async () => {
    const { client: plain, bodies } = connected(reader(59));
    const client = withContext(plain, wider);
    const messages: Anthropic.MessageParam[] = [
      { role: "user", content: "Read all 59 files. The code word is periwinkle." },
    ];
    for (;;) {
      const reply = await client.messages.create({ model, max_tokens: 2_000, system: "You read.", tools, messages });
      messages.push({ role: "assistant", content: reply.content });
      const calls = reply.content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) break;
      messages.push({
        role: "user",
        content: calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: fileText(input) })),
      });
    }
    expect(messages).toHaveLength(120);
    expect(bodies).toHaveLength(60);
    expect(longest(bodies)).toBeLessThan(160_000);
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.costs().session.requests).toBe(60);
    expect((await context.recall("src/3.ts")).length).toBeGreaterThan(0);
    await client.closeContext();
  });

  it("messages.stream: stays a stream, and its reply is known before the next request", async () => {
    const { client: plain } = connected(reader(9));
    const client = withContext(plain, wider);
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read." }];
    for (let turn = 0; turn < 60; turn += 1) {
      const stream = client.messages.stream({ model, max_tokens: 2_000, tools, messages });
      const kinds: string[] = [];
      for await (const event of stream) kinds.push(event.type);
      expect(kinds.slice(0, 3)).toEqual(["message_start", "content_block_start", "content_block_delta"]);
      const { content } = await stream.finalMessage();
      messages.push({ role: "assistant", content });
      const results = content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ type: "tool_result" as const, tool_use_id: block.id, content: fileText(block.input) }]
          : [],
      );
      messages.push({ role: "user", content: results.length === 0 ? "Go on." : results });
    }
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.costs().session.requests).toBe(60);
    await client.closeContext();
  });

  it("the tool runner sends its whole list instead of a thread, and finishes", async () => {
    const { client: plain, bodies } = connected(reader(59));
    const client = withContext(plain, wider);
    const read = betaTool({
      name: "read",
      description: "Reads a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
      run: ({ path }) => fileText(path),
    });
    const final = await client.beta.messages.toolRunner({
      model,
      max_tokens: 2_000,
      tools: [read],
      messages: [{ role: "user", content: "Read all." }],
    });
    expect(final.content).toMatchObject([{ type: "text", text: "Done." }]);
    expect(bodies).toHaveLength(60);
    expect(longest(bodies)).toBeLessThan(160_000);
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    await client.closeContext();
  });

  it("a stream that the caller leaves has broken off, and the same list can be sent again", async () => {
    const { client: plain } = connected(reader(9));
    const client = withContext(plain);
    const params = { model, max_tokens: 2_000, tools, messages: [{ role: "user" as const, content: "Read." }] };
    for await (const event of await client.messages.create({ ...params, stream: true }))
      if (event.type === "content_block_delta") break;
    const reply = await client.messages.create(params);
    expect(reply.content.length).toBeGreaterThan(0);
    expect((await client.context).costs().session.requests).toBe(2);
    await client.closeContext();
  });

  it("the limit of a reply is that of the newest request, whatever an earlier one asked for", async () => {
    const { client: plain, bodies } = connected(reader(9));
    const client = withContext(plain);
    const params = { model, tools, messages: [{ role: "user" as const, content: "Read." }] };
    await client.messages.create({ ...params, max_tokens: 1_000 });
    await client.messages.create({ ...params, max_tokens: 20_000 });
    expect(JSON.parse(bodies[1] ?? "")).toMatchObject({ max_tokens: 20_000 });
    await client.closeContext();
  });

  it("a request that the server refuses as too long is sent again, smaller, and the caller sees only the reply", async () => {
    const { client: plain, bodies } = connected(refusing(reader(99), 16));
    const client = withContext(plain, { contextTokens: 200_000 });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read." }];
    for (let round = 0; round < 18; round += 1) {
      const { content } = await client.messages.create({ model, max_tokens: 2_000, tools, messages });
      messages.push({ role: "assistant", content }, { role: "user", content: answers(content) });
    }
    expect(bodies).toHaveLength(19);
    expect(bodies[16]?.length).toBeLessThan(bodies[15]?.length ?? 0);
    expect((await client.context).costs().session.requests).toBe(18);
    await client.closeContext();
  });

  it("other errors are the SDK's", async () => {
    const { client: plain } = connected(playing({ kind: "refuse", refusal: unauthorised }));
    const client = withContext(plain);
    const asked = client.messages.create({ model, max_tokens: 2_000, messages: [{ role: "user", content: "Read." }] });
    await expect(asked).rejects.toBeInstanceOf(AuthenticationError);
    await client.closeContext();
  });

  it("a stream that nobody reads does not keep the next request waiting", async () => {
    const { client: plain } = connected(reader(9));
    const client = withContext(plain);
    const params = { model, max_tokens: 2_000, tools, messages: [{ role: "user" as const, content: "Read." }] };
    await client.messages.create({ ...params, stream: true });
    const reply = await client.messages.create(params);
    expect(reply.content.length).toBeGreaterThan(0);
    await client.closeContext();
  });

  const search = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "gauge" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
  ] as const;
  const asked = { role: "user", content: "Look." } as const;
  const mark = { cache_control: { type: "ephemeral" } };
  /** The second list: without the marks that the request has. */
  const lists: readonly (readonly [name: string, list: readonly object[], unmarked?: readonly object[]])[] = [
    ["a reply to go on with (pause_turn)", [asked, { role: "assistant", content: search }]],
    ["the beginning of the reply", [asked, { role: "assistant", content: "The gauge" }]],
    [
      "blocks of kinds that the context does not know, and citations",
      [
        asked,
        {
          role: "assistant",
          content: [
            { type: "fallback", from: "a" },
            { type: "advisor_tool_result", tool_use_id: "srvtoolu_2", content: { type: "advisor_result", text: "t" } },
            { type: "text", text: "b", citations: [{ type: "char_location", cited_text: "c" }] },
          ],
        },
        asked,
      ],
    ],
    [
      "a system message on the way that adds tools",
      [
        asked,
        { role: "assistant", content: "b" },
        {
          role: "system",
          content: [
            { type: "tool_addition", tools: ["x"] },
            { type: "text", text: "Brief." },
          ],
        },
        asked,
      ],
    ],
    [
      "marks of the caller, which ours replace",
      [
        { role: "user", content: [{ type: "text", text: "Look.", ...mark }] },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { ...mark } }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "ok", ...mark }] }],
        },
      ],
      [
        { role: "user", content: [{ type: "text", text: "Look." }] },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { ...mark } }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "ok" }] }],
        },
      ],
    ],
  ];

  it.each(lists)("every message is sent as it is: %s", async (_, messages, unmarked = messages) => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain);
    await client.post("/v1/messages", { body: { model, max_tokens: 2_000, tools, messages } }).catch(() => undefined);
    expect(withoutLastMark(bodies[0] ?? "{}")).toEqual(unmarked);
    await client.closeContext();
  });

  it("what the context can't take is an error of the request, at once", async () => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { contextTokens: 5_000 });
    const params = { model, max_tokens: 2_000, system: "word ".repeat(20_000), messages: [asked] };
    const refused = client.messages.create(params, { maxRetries: 3 });
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
    expect(bodies).toEqual([]);
    await client.closeContext();
  });

  it("a refused request is sent again with its own list, though another came meanwhile", async () => {
    const refusal = Promise.withResolvers<undefined>();
    const bodies: string[] = [];
    const tooLong = { type: "invalid_request_error", message: "prompt is too long: 230000 tokens > 200000 maximum" };
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      const nth = bodies.push(typeof init?.body === "string" ? init.body : "");
      if (nth === 1) await refusal.promise;
      if (nth === 1) return Response.json({ type: "error", error: tooLong }, { status: 400 });
      const content = [{ type: "text", text: `Reply ${nth}.` }];
      const usage = { input_tokens: 5, output_tokens: 1 };
      return Response.json({
        id: `msg_${nth}`,
        type: "message",
        role: "assistant",
        model,
        content,
        stop_reason: "end_turn",
        usage,
      });
    };
    const client = withContext(new Anthropic({ apiKey: "sk-test", maxRetries: 0, fetch }));
    const long = Array.from({ length: 21 }, (_, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `Long ${at}: ${"words ".repeat(500)}`,
    }));
    const first = client.messages.create({ model, max_tokens: 2_000, messages: long });
    await vi.waitFor(() => expect(bodies).toHaveLength(1));
    await client.messages.create({
      model,
      max_tokens: 2_000,
      messages: [{ role: "user", content: "A title, please." }],
    });
    refusal.resolve(undefined);
    expect((await first).content).toMatchObject([{ text: "Reply 3." }]);
    expect(bodies[2]).toContain("Long 20");
    expect(bodies[2]).not.toContain("A title");
    await client.closeContext();
  });

  it("with its own model as the summarizer, summaries are asked of it through the plain client", async () => {
    const { client: plain, bodies } = connected(reader(1_000));
    const client = withContext(plain, { ...wider, summarizer: "own" });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read." }];
    for (let round = 0; round < 30; round += 1) {
      const { content } = await client.messages.create({ model, max_tokens: 2_000, tools, messages });
      messages.push({ role: "assistant", content });
      messages.push({ role: "user", content: answers(content) });
    }
    expect(bodies.length).toBeGreaterThan(30);
    await client.closeContext();
  });
});
