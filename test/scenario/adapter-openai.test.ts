import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { withContext } from "../../packages/palimpsest/src/adapter/openai/with-context.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { countBoundaries, fileText, longest, reader, recordingFetch, small } from "./support/adapter-world.ts";

const model = "gpt-5";
function connected(responder: Responder) {
  const { fetch, bodies } = recordingFetch(responder);
  const client = new OpenAI({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator/v1", fetch });
  return { client, bodies };
}

const parameters = { type: "object", properties: { path: { type: "string" } } };

describe("withContext, for the client of openai", () => {
  it.each(["whole", "streamed"])("chat completions, %s: a loop goes through three compactions", async (way) => {
    const { client: plain, bodies } = connected(reader(49));
    const client = withContext(plain, { ...small, provider: "openai-chat" });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "developer", content: "You read." },
      { role: "user", name: "ada", content: "Read all 49 files. The code word is periwinkle." },
    ];
    const tools: OpenAI.ChatCompletionFunctionTool[] = [{ type: "function", function: { name: "read", parameters } }];
    const params = { model, tools, max_completion_tokens: 2_000 };
    for (;;) {
      const reply =
        way === "whole"
          ? await client.chat.completions.create({ ...params, messages })
          : await client.chat.completions.stream({ ...params, messages }).finalChatCompletion();
      const [choice] = reply.choices;
      if (choice === undefined) throw new Error("no choice");
      messages.push(choice.message);
      const calls = choice.message.tool_calls ?? [];
      if (calls.length === 0) break;
      for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: fileText(id) });
    }
    expect(bodies).toHaveLength(50);
    expect(longest(bodies)).toBeLessThan(120_000);
    expect(bodies[1]).toContain('"name":"ada"');
    expect(bodies.at(-1)).toContain("periwinkle");
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
    await client.closeContext();
  });

  it.each(["whole", "streamed"])("responses, %s: a loop goes through three compactions", async (way) => {
    const { client: plain, bodies } = connected(reader(49));
    const client = withContext(plain, { ...small, provider: "openai-responses" });
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: "user", content: "Read all 49 files. The code word is periwinkle." },
    ];
    const tools: OpenAI.Responses.FunctionTool[] = [{ type: "function", name: "read", parameters, strict: false }];
    const params = { model, tools, instructions: "You read.", max_output_tokens: 2_000, store: false };
    for (;;) {
      const reply: OpenAI.Responses.Response =
        way === "whole"
          ? await client.responses.create({ ...params, input })
          : await client.responses.stream({ ...params, input }).finalResponse();
      input.push(...reply.output.filter((item) => item.type === "message" || item.type === "function_call"));
      const calls = reply.output.filter((item) => item.type === "function_call");
      if (calls.length === 0) break;
      for (const { call_id: id } of calls)
        input.push({ type: "function_call_output", call_id: id, output: fileText(id) });
    }
    expect(bodies).toHaveLength(50);
    expect(longest(bodies)).toBeLessThan(120_000);
    expect(bodies.at(-1)).toContain("periwinkle");
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
    await client.closeContext();
  });

  it("reasoning items and unknown fields are sent back as they were, before what they led to", async () => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { provider: "openai-responses" });
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: "user", content: "Read." },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
      { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: '{ "path": "a" }' },
      { type: "function_call_output", call_id: "call_1", output: "ok" },
    ];
    await client.responses.create({ model, input, store: false }).catch(() => undefined);
    expect((JSON.parse(bodies[0] ?? "{}") as { input: unknown }).input).toEqual(input);
    await client.closeContext();
  });

  it.each(["whole", "streamed"])("responses that continue each other by id, %s: three compactions", async (way) => {
    const { client: plain, bodies } = connected(reader(49));
    const client = withContext(plain, { ...small, provider: "openai-responses" });
    const tools: OpenAI.Responses.FunctionTool[] = [{ type: "function", name: "read", parameters, strict: false }];
    const params = { model, tools, instructions: "You read.", max_output_tokens: 2_000 };
    let input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Read all. The code word is periwinkle." }];
    let previous: string | null = null;
    for (;;) {
      const asked = { ...params, input, previous_response_id: previous };
      const reply: OpenAI.Responses.Response =
        way === "whole" ? await client.responses.create(asked) : await client.responses.stream(asked).finalResponse();
      const calls = reply.output.filter((item) => item.type === "function_call");
      if (calls.length === 0) break;
      previous = reply.id;
      input = calls.map(({ call_id: id }) => ({ type: "function_call_output", call_id: id, output: fileText(id) }));
    }
    expect(bodies).toHaveLength(50);
    expect(bodies.some((body) => body.includes('previous_response_id":"'))).toBe(false);
    expect(longest(bodies)).toBeLessThan(120_000);
    expect(bodies.at(-1)).toContain("periwinkle");
    const context = await client.context;
    expect(countBoundaries(context.receipts())).toBeGreaterThanOrEqual(3);
    expect(context.receipts().filter(({ kind }) => kind === "branch")).toEqual([]);
    await client.closeContext();
  });

  const asked = { role: "user", content: "Patch." } as const;
  const next = { role: "user", content: "Next." } as const;
  const says = (id: string, text: string, fields: object = {}) => ({
    type: "message" as const,
    id,
    role: "assistant" as const,
    status: "completed" as const,
    content: [{ type: "output_text" as const, text, annotations: [] }],
    ...fields,
  });
  const shell = { type: "exec" as const, command: ["ls"], env: {} };
  /** Lists that are sent as they are, field by field. */
  const lists: readonly (readonly [string, OpenAI.Responses.ResponseInput])[] = [
    [
      "a custom tool",
      [
        asked,
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
        { type: "custom_tool_call", id: "ctc_1", call_id: "c1", name: "apply_patch", input: "*** Begin" },
        { type: "custom_tool_call_output", call_id: "c1", output: "ok" },
        next,
      ],
    ],
    [
      "a local shell",
      [
        asked,
        { type: "local_shell_call", id: "ls_1", call_id: "c1", status: "completed", action: shell },
        { type: "local_shell_call_output", id: "ls_1", output: "a.ts" },
        next,
      ],
    ],
    ["messages of the same role in a row", [asked, next, says("m1", "a"), says("m2", "b", { phase: "final" }), next]],
    [
      "an empty reply, and instructions on the way",
      [asked, { role: "assistant", content: "" }, { role: "developer", content: "Brief." }, next],
    ],
    [
      "a file that the server has",
      [asked, says("m1", "a"), { role: "user", content: [{ type: "input_image", file_id: "f", detail: "auto" }] }],
    ],
    ["a reply to go on with", [asked, says("m1", "a")]],
    ["nothing but reasoning behind the question", [asked, { type: "reasoning", id: "rs_1", summary: [] }]],
  ];

  it.each(lists)("responses: every item is sent as it is: %s", async (_, input) => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { provider: "openai-responses" });
    await client.responses.create({ model, input, store: false }).catch(() => undefined);
    expect((JSON.parse(bodies[0] ?? "{}") as { input: unknown }).input).toEqual(input);
    await client.closeContext();
  });

  const chats: readonly (readonly [string, OpenAI.ChatCompletionMessageParam[]])[] = [
    [
      "a custom tool",
      [
        asked,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "custom", custom: { name: "patch", input: "x" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "ok" },
      ],
    ],
    [
      "names, and users in a row",
      [asked, { ...next, name: "ada" }, { role: "assistant", content: "a" }, { ...next, name: "bob" }],
    ],
    [
      "sound",
      [
        {
          role: "user",
          content: [
            { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
            { type: "text", text: "?" },
          ],
        },
        { role: "assistant", content: null, audio: { id: "audio_1" } },
        next,
      ],
    ],
    [
      "nothing but sound",
      [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }] }],
    ],
  ];

  it.each(chats)("chat completions: every message is sent as it is: %s", async (_, messages) => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { provider: "openai-chat" });
    await client.chat.completions.create({ model, messages }).catch(() => undefined);
    expect((JSON.parse(bodies[0] ?? "{}") as { messages: unknown }).messages).toEqual(messages);
    await client.closeContext();
  });

  it("a stream that was cut off can be continued by its id", async () => {
    const bodies: string[] = [];
    const event = {
      type: "response.incomplete",
      response: { id: "resp_1", model, status: "incomplete", output: [says("m1", "a")] },
    };
    const fetch = (_: unknown, init?: RequestInit): Promise<Response> => {
      bodies.push(typeof init?.body === "string" ? init.body : "");
      const headers = { "content-type": "text/event-stream" };
      return Promise.resolve(new Response(`data: ${JSON.stringify(event)}\n\n`, { headers }));
    };
    const client = withContext(new OpenAI({ apiKey: "sk-test", maxRetries: 0, fetch }), {
      provider: "openai-responses",
    });
    for (const previous of [null, "resp_1"]) {
      const params = { model, input: [next], previous_response_id: previous, stream: true as const };
      for await (const received of await client.responses.create(params)) expect(received.type).toBe(event.type);
    }
    expect(JSON.parse(bodies[1] ?? "{}")).toEqual({ model, input: [next, says("m1", "a"), next], stream: true });
    await client.closeContext();
  });

  it("what the context can't take is an error of the request, at once", async () => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { provider: "openai-chat", contextTokens: 5_000 });
    const messages = [{ role: "developer" as const, content: "word ".repeat(20_000) }, asked];
    const refused = client.chat.completions.create({ model, messages }, { maxRetries: 3 });
    await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining("tokens") as string });
    expect(bodies).toEqual([]);
    await client.closeContext();
  });

  it("what only the server has is passed on as it is", async () => {
    const { client: plain, bodies } = connected(reader(0));
    const client = withContext(plain, { provider: "openai-responses" });
    await client.responses.create({ model, input: "Go on.", previous_response_id: "resp_1" }).catch(() => undefined);
    expect(bodies).toEqual([JSON.stringify({ model, input: "Go on.", previous_response_id: "resp_1" })]);
    await client.closeContext();
  });
});
