import { describe, expect, it } from "vitest";
import { item, openaiFace, outputOf, respond, user } from "../../../../test/fixture/openai-api.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { simulatorFetch } from "../http/simulator-fetch.ts";
import type { MoveBlock, Responder } from "../responder/responder.ts";

/** What Codex and the Agents SDK send beyond plain functions, and what a model answers to it. */
const exec = item("custom", {
  name: "exec",
  description: "Runs code.",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
});
const wait = item("function", { name: "wait", parameters: { type: "object", properties: {} } });
const namespace = (name: string, ...tools: JsonObject[]): JsonObject =>
  item("namespace", { name, description: "", tools });
const additional = item("additional_tools", {
  id: "at_1",
  role: "developer",
  tools: [namespace("functions", exec, wait), item("web_search", { external_web_access: true })],
});
const textCall = item("custom_tool_call", { call_id: "c1", name: "exec", input: "1 + 1", namespace: "functions" });
const textOutput = item("custom_tool_call_output", { call_id: "c1", output: "2" });
const metadata = { internal_chat_message_metadata_passthrough: { turn_id: "t" } };

/** Says these blocks, and keeps what it was shown. */
function saying(...blocks: readonly MoveBlock[]) {
  const seen: MessagesRequest[] = [];
  const responder: Responder = {
    name: "saying",
    respond: ({ request }) => {
      seen.push(request);
      return { move: { kind: "say", blocks } };
    },
  };
  return { seen, ...openaiFace({ responder }) };
}

describe("what Codex sends is accepted", () => {
  it.each<[string, JsonObject]>([
    ["metadata of the client", respond({ client_metadata: { session_id: "s" } })],
    ["metadata to pass through", respond({ input: [{ ...user, type: "message", ...metadata }] })],
    ["a namespace of tools", respond({ tools: [namespace("agents", wait)] })],
    ["a tool that takes text", respond({ tools: [exec, item("custom", { name: "any", format: { type: "text" } })] })],
    ["web search", respond({ tools: [item("web_search", { external_web_access: true, filters: null })] })],
    ["tools among the items", respond({ input: [additional, user] })],
    ["no other tools beside them", respond({ input: [additional, user], tools: [] })],
    [
      "a function beside namespaces",
      respond({ input: [{ ...additional, tools: [namespace("a", wait), wait] }, user] }),
    ],
    ["a call with text and its output", respond({ input: [additional, user, textCall, textOutput] })],
    [
      "metadata on calls and outputs",
      respond({ input: [additional, user, { ...textCall, ...metadata }, { ...textOutput, ...metadata }] }),
    ],
    [
      "equal names in two namespaces",
      respond({ tools: [namespace("one", wait), namespace("two", wait), item("function", { name: "wait" })] }),
    ],
    ["a choice of a tool that takes text", respond({ tools: [exec], tool_choice: { type: "custom", name: "exec" } })],
    [
      "annotations in the assistant's content",
      respond({
        input: [
          user,
          { role: "assistant", content: [item("output_text", { text: "Hi", annotations: [] })] },
          { role: "user", content: "More" },
        ],
      }),
    ],
  ])("%s", async (_, body) => {
    expect(await openaiFace().ask("responses", body)).toMatchObject({ status: 200 });
  });
});

describe("what is still refused", () => {
  it.each<[string, JsonObject, object]>([
    ["another tool of the server", respond({ tools: [item("file_search", {})] }), { param: "tools[0].type" }],
    ["an empty namespace", respond({ tools: [namespace("empty")] }), { param: "tools[0].tools" }],
    [
      "a namespace in a namespace",
      respond({ tools: [namespace("a", namespace("b", wait))] }),
      { code: "invalid_value" },
    ],
    ["one name twice in a namespace", respond({ tools: [namespace("a", wait, wait)] }), { param: "tools[1].name" }],
    ["tools beside tools among the items", respond({ input: [additional, user], tools: [wait] }), { param: "tools" }],
    ["tools of a user", respond({ input: [{ ...additional, role: "user" }, user] }), { param: "input[0].role" }],
    ["output of a call that is not there", respond({ input: [user, textOutput] }), { param: "input" }],
    ["a call with text and no output", respond({ input: [user, textCall] }), { param: "input" }],
    ["metadata of the client that is no text", respond({ client_metadata: { n: 1 } }), { param: "client_metadata.n" }],
  ])("%s", async (_, body, error) => {
    expect(await openaiFace().ask("responses", body)).toMatchObject({ status: 400, body: { error } });
  });
});

describe("what a responder sees and says", () => {
  it("sees all tools by their own names, and text as the field `input`", async () => {
    const { ask, seen } = saying({ type: "text", text: "Fine." });
    const tools = [namespace("functions", exec, wait), wait];
    await ask("responses", respond({ input: [{ ...additional, tools }, user, textCall, textOutput] }));
    expect(seen[0]?.tools?.map((tool) => tool.name)).toEqual(["exec", "functions.wait", "wait"]);
    expect(seen[0]?.messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "tool_use", id: "c1", name: "exec", input: { input: "1 + 1" } }],
    });
  });

  it("calls a tool that takes text with text, and names the namespace", async () => {
    const { ask } = saying(
      { type: "tool_use", name: "exec", input: { input: "text(1)" } },
      { type: "tool_use", name: "wait", input: { for: 1 } },
    );
    expect(outputOf(await ask("responses", respond({ input: [additional, user] })))).toMatchObject([
      { type: "custom_tool_call", name: "exec", namespace: "functions", input: "text(1)" },
      { type: "function_call", name: "wait", namespace: "functions", arguments: '{"for":1}' },
    ]);
  });

  it("streams text of a call in events of its own", async () => {
    const { simulator } = saying({ type: "tool_use", name: "exec", input: { input: "text(1)" } });
    const response = await simulatorFetch(simulator)("http://x/v1/responses", {
      method: "POST",
      headers: { authorization: "Bearer k", "content-type": "application/json" },
      body: JSON.stringify(respond({ input: [additional, user], stream: true })),
    });
    const text = await response.text();
    expect(text).toContain("event: response.custom_tool_call_input.delta");
    expect(text).toContain('"input":"text(1)"');
    expect(text).not.toContain("function_call_arguments");
  });

  it("tools defined in the conversation survive a compaction", async () => {
    const { ask, seen } = saying({ type: "text", text: "<summary>All fine.</summary>" });
    const first = await ask("responses", respond({ input: [additional, user, item("compaction_trigger", {})] }));
    await ask("responses", respond({ input: [additional, user, ...outputOf(first), { role: "user", content: "On" }] }));
    expect(seen.at(-1)?.tools?.map((tool) => tool.name)).toEqual(["exec", "wait"]);
  });

  it("reasoning of a broken stream may be the last item", async () => {
    const { ask, seen } = saying({ type: "thinking", thinking: "Hm." }, { type: "text", text: "Fine." });
    const [thought] = outputOf(await ask("responses", respond({ input: [user] })));
    if (thought === undefined) return expect.unreachable();
    expect(await ask("responses", respond({ input: [user, thought] }))).toMatchObject({ status: 200 });
    expect(seen.at(-1)?.messages.at(-1)).toMatchObject({ role: "assistant", content: [{ thinking: "Hm." }] });
  });

  it("definitions count as tokens of the prompt, and other ones are another prompt", async () => {
    const { ask } = openaiFace();
    const counted = async (body: JsonObject): Promise<unknown> => (await ask("inputTokens", body)).body["input_tokens"];
    const plain = await counted(respond({ input: [user] }));
    expect(await counted(respond({ input: [additional, user] }))).toBeGreaterThan(Number(plain) + 30);
  });
});
