import { describe, expect, it } from "vitest";
import { bearer, chat, item, openaiFace, type Path, respond, user } from "../../../../test/fixture/openai-api.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

const saying = (part: string): unknown => expect.stringContaining(part);
const matching = (form: RegExp): unknown => expect.stringMatching(form);

const call = (id: string): JsonObject => ({ id, type: "function", function: { name: "read", arguments: "{}" } });
const functionCall = item("function_call", { call_id: "c1", name: "read", arguments: "{}" });

const refusals: readonly (readonly [string, Path, JsonObject, object])[] = [
  ["an unknown field", "chatCompletions", chat({ foo: 1 }), { code: "unknown_parameter", param: "foo" }],
  ["no messages", "chatCompletions", { model: "gpt-4o" }, { message: "Missing required parameter: 'messages'." }],
  [
    "a role that there is not",
    "chatCompletions",
    chat({ messages: [{ role: "robot", content: "" }] }),
    { code: "invalid_value", param: "messages[0].role" },
  ],
  [
    "content of a wrong kind",
    "chatCompletions",
    chat({ temperature: "hot" }),
    { message: "Invalid type for 'temperature': expected a decimal, but got a string instead." },
  ],
  ["a number too large", "chatCompletions", chat({ temperature: 3 }), { code: "integer_above_max_value" }],
  [
    "too many stop sequences",
    "chatCompletions",
    chat({ stop: ["a", "b", "c", "d", "e"] }),
    { code: "array_above_max_length" },
  ],
  ["several choices", "chatCompletions", chat({ n: 2 }), { param: "n" }],
  [
    "the old limit on a model that thinks",
    "chatCompletions",
    chat({ model: "gpt-5", max_tokens: 5 }),
    { code: "unsupported_parameter", message: saying("Use 'max_completion_tokens' instead.") },
  ],
  ["stop on a model that thinks", "chatCompletions", chat({ model: "gpt-5", stop: "." }), { param: "stop" }],
  [
    "effort on a model that does not",
    "chatCompletions",
    chat({ reasoning_effort: "low" }),
    { param: "reasoning_effort" },
  ],
  ["options of a stream without one", "chatCompletions", chat({ stream_options: {} }), { param: "stream_options" }],
  ["more output than there is", "chatCompletions", chat({ max_tokens: 99_999 }), { param: "max_tokens" }],
  ["a choice without tools", "chatCompletions", chat({ tool_choice: "required" }), { param: "tool_choice" }],
  [
    "a result without a call",
    "chatCompletions",
    chat({ messages: [user, { role: "tool", tool_call_id: "x", content: "" }] }),
    { param: "messages.[1].role", message: saying("must be a response to a preceeding message") },
  ],
  [
    "a result of another call",
    "chatCompletions",
    chat({
      messages: [
        user,
        { role: "assistant", tool_calls: [call("a")] },
        { role: "tool", tool_call_id: "b", content: "" },
      ],
    }),
    { param: "messages.[2].tool_call_id" },
  ],
  [
    "calls without results",
    "chatCompletions",
    chat({
      messages: [
        user,
        { role: "assistant", tool_calls: [call("a"), call("b")] },
        { role: "tool", tool_call_id: "a", content: "" },
        user,
      ],
    }),
    { message: matching(/did not have response messages: b$/) },
  ],
  [
    "a lifetime that chat does not have",
    "chatCompletions",
    chat({ model: "gpt-5.6-sol", prompt_cache_options: { ttl: "12h" } }),
    { code: "invalid_value" },
  ],
  [
    "cache options before GPT-5.6",
    "responses",
    respond({ model: "gpt-5", prompt_cache_options: {} }),
    { code: "unsupported_parameter", param: "prompt_cache_options" },
  ],
  [
    "a breakpoint before GPT-5.6",
    "responses",
    respond({
      model: "gpt-5",
      input: [
        {
          role: "user",
          content: [item("input_text", { text: "x", prompt_cache_breakpoint: { mode: "explicit" } })],
        },
      ],
    }),
    { param: "input[0].content[0].prompt_cache_breakpoint" },
  ],
  [
    "a retention that the model lacks",
    "responses",
    respond({ prompt_cache_retention: "in_memory" }),
    { message: "Invalid value: 'in_memory'. Supported values are: '24h'." },
  ],
  ["nothing at all", "responses", { model: "gpt-5" }, { code: "missing_required_parameter" }],
  ["too few tokens", "responses", respond({ max_output_tokens: 5 }), { code: "integer_below_min_value" }],
  ["an item of no known type", "responses", respond({ input: [item("song", {})] }), { param: "input[0].type" }],
  ["a message without content", "responses", respond({ input: [{ role: "user" }] }), { param: "input[0].content" }],
  [
    "a call without a name",
    "responses",
    respond({ input: [item("function_call", { call_id: "c" })] }),
    { param: "input[0].name" },
  ],
  [
    "an output without a call",
    "responses",
    respond({ input: [user, item("function_call_output", { call_id: "c1", output: "" })] }),
    { message: "No tool call found for function call output with call_id c1.", param: "input" },
  ],
  [
    "a call without an output",
    "responses",
    respond({ input: [user, functionCall] }),
    { message: "No tool output found for function call c1." },
  ],
  [
    "a response that is not there",
    "responses",
    respond({ previous_response_id: "resp_no" }),
    { code: "previous_response_not_found" },
  ],
  [
    "reasoning that is not ours",
    "responses",
    respond({
      input: [
        user,
        item("reasoning", { id: "rs_1", summary: [], encrypted_content: "gAAAAx" }),
        { role: "assistant", content: "x" },
        user,
      ],
    }),
    { code: "invalid_encrypted_content" },
  ],
  [
    "reasoning that leads to nothing",
    "responses",
    respond({ input: [user, item("reasoning", { id: "rs_1", summary: [], encrypted_content: "x" }), user] }),
    { message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." },
  ],
  [
    "a compaction that is not ours",
    "compact",
    respond({ input: [item("compaction", { encrypted_content: "gAAAA" }), user] }),
    { code: "invalid_encrypted_content" },
  ],
  [
    "a trigger that is not last",
    "responses",
    respond({ input: [item("compaction_trigger", {}), user] }),
    { param: "input[0]" },
  ],
  [
    "an image that is none",
    "chatCompletions",
    chat({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "file:x" } }] }] }),
    { param: "messages[0].content[0].image_url" },
  ],
  [
    "an image that is none, behind a message of several items",
    "chatCompletions",
    chat({
      messages: [
        user,
        { role: "assistant", content: "Two.", tool_calls: [call("a"), call("b")] },
        { role: "tool", tool_call_id: "a", content: "" },
        { role: "tool", tool_call_id: "b", content: "" },
        { role: "user", content: [{ type: "image_url", image_url: { url: "file:x" } }] },
      ],
    }),
    { param: "messages[4].content[0].image_url" },
  ],
  [
    "an image that is none, in what a tool gave",
    "responses",
    respond({
      input: [
        user,
        functionCall,
        item("function_call_output", { call_id: "c1", output: [item("input_image", { image_url: "file:x" })] }),
      ],
    }),
    { param: "input[2].output[0].image_url" },
  ],
  [
    "a format that there is not",
    "responses",
    respond({ text: { format: { type: "yaml" } } }),
    { param: "text.format.type" },
  ],
  [
    "a choice among some of the tools",
    "responses",
    respond({ tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }),
    { param: "tool_choice.type" },
  ],
  ["a conversation", "responses", respond({ conversation: "conv_1" }), { param: "conversation" }],
  [
    "two tools of one name",
    "responses",
    respond({ tools: [item("function", { name: "a" }), item("function", { name: "a" })] }),
    { param: "tools[1].name" },
  ],
  [
    "a threshold that is too low",
    "responses",
    respond({ context_management: [{ type: "compaction", compact_threshold: 9 }] }),
    { code: "integer_below_min_value" },
  ],
  ["work in the background", "responses", respond({ background: true }), { param: "background" }],
];

describe("what OpenAI refuses", () => {
  it.each(refusals)("%s", async (_, path, body, error) => {
    const told = await openaiFace().ask(path, body);
    expect(told).toMatchObject({ status: 400, body: { error: { type: "invalid_request_error", ...error } } });
    expect(Object.keys(told.body["error"] as object)).toEqual(["message", "type", "param", "code"]);
  });

  it("a request without a key, a model that there is not, an item that was not stored", async () => {
    const { ask } = openaiFace();
    expect(await ask("responses", respond(), {})).toMatchObject({ status: 401 });
    expect(await ask("chatCompletions", chat({ model: "claude-opus-5" }))).toMatchObject({
      status: 404,
      body: { error: { code: "model_not_found" } },
    });
    const named = respond({ input: [item("item_reference", { id: "msg_x" })] });
    expect(await ask("responses", named)).toMatchObject({
      status: 404,
      body: { error: { message: saying("Items are not persisted when `store` is set to false") } },
    });
  });

  it("but takes a documented field that is null", async () => {
    const { ask } = openaiFace();
    const nothing = { conversation: null, prompt: null, moderation: null, image: null };
    expect(await ask("responses", respond(nothing))).toMatchObject({ status: 200 });
    const noSound = { audio: null, moderation: null, functions: null, web_search_options: null };
    expect(await ask("chatCompletions", chat(noSound))).toMatchObject({ status: 200 });
  });

  it.each([
    ["rate-limit retry-after=3", 429, "rate_limit_exceeded"],
    ["server-error", 500, null],
    ["overloaded", 503, "server_overloaded"],
    ["timeout", 504, null],
  ])("by fault: %s", async (fault, status, code) => {
    const told = await openaiFace().ask("responses", respond(), { ...bearer, "x-simulator-fault": fault });
    expect(told).toMatchObject({ status, body: { error: { code } } });
    expect(told.headers["retry-after"]).toBe(status === 429 ? "3" : undefined);
  });
});

describe("too long", () => {
  const models = [{ id: "gpt-tiny", windowTokens: 500, outputTokensMax: 400 }];
  const long = "word ".repeat(600);

  it.each([
    ["responses", { input: long }, /^Your input exceeds the context window of this model/, "input"],
    [
      "chatCompletions",
      { messages: [{ role: "user", content: long }] },
      /maximum context length is 500 tokens\. However, your messages/,
      "messages",
    ],
    [
      "chatCompletions",
      { messages: [{ role: "user", content: "word ".repeat(200) }], max_tokens: 400 },
      /you requested \d+ tokens \(\d+ in the messages, 400 in the completion\)/,
      "messages",
    ],
  ] as const)("%s is refused with the code that clients look for", async (path, body, message, param) => {
    const told = await openaiFace({ models }).ask(path, { model: "gpt-tiny", ...body });
    const inner = matching(message);
    expect(told).toMatchObject({
      status: 400,
      body: { error: { code: "context_length_exceeded", message: inner, param } },
    });
  });

  it("of a window of 400,000 the request has 272,000", async () => {
    const told = await openaiFace().ask(
      "chatCompletions",
      chat({ model: "gpt-5", messages: [{ role: "user", content: "word ".repeat(300_000) }] }),
    );
    expect(told.body).toMatchObject({ error: { message: matching(/configured limit of 272000 tokens/) } });
  });
});
