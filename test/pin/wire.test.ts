import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Responder, MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";

/** What goes over the wire, to the byte: clients parse it, and traces and cassettes keep it. */
const headers = { "content-type": "application/json", "x-api-key": "sk-test", "anthropic-version": "2023-06-01" };
const hello: JsonObject = {
  model: "claude-sonnet-5",
  max_tokens: 200,
  messages: [{ role: "user", content: "Hello" }],
};

const blocks: readonly MoveBlock[] = [
  { type: "thinking", thinking: "Hm." },
  { type: "text", text: "Look: 東京" },
  { type: "tool_use", name: "look", input: { at: 1 } },
];
const responder: Responder = { name: "pinned", respond: () => ({ move: { kind: "say", blocks } }) };

const post = async (path: string, body: JsonObject, more: Record<string, string> = {}): Promise<Response> =>
  simulatorFetch(new Simulator({ seed: 1, responder }))(`http://simulator${path}`, {
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
  });

describe("the wire", () => {
  it("a message", async () => {
    const asked = { ...hello, thinking: { type: "adaptive" }, diagnostics: { previous_message_id: "msg_1" } };
    const reply = await post("/v1/messages", asked, { "anthropic-beta": "thinking-binding-controls-2026-08-01" });
    expect(await reply.text()).toMatchInlineSnapshot(
      `"{"id":"msg_d8fsvBa6Twg1LtPVsX-GsN","type":"message","role":"assistant","model":"claude-sonnet-5","content":[{"type":"thinking","thinking":"Hm.","signature":"eyJtb2RlbCI6ImNsYXVkZS1zb25uZXQtNSIsImNoYWluIjoiUHZFMmJLaF9wUTFtanY0N0E1VThPWiIsImhpZGRlblRva2VucyI6MCwibWFjIjoiTVBrLXNpUkV4TzhabTF6REFSSjNJUTJJcEx0bFA3TkM4ZnJmUE14dU9xTSJ9"},{"type":"text","text":"Look: 東京","citations":null},{"type":"tool_use","id":"toolu_wH9pKAarwQ0iRCEbS-qW35","name":"look","input":{"at":1},"caller":{"type":"direct"}}],"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":23,"output_tokens_details":{"thinking_tokens":3},"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":"standard"},"diagnostics":{"cache_miss_reason":{"type":"previous_message_not_found"}},"input_transformations":[]}"`,
    );
  });

  it("a stream", async () => {
    const asked = { ...hello, stream: true, tools: [{ name: "look", input_schema: { type: "object" } }] };
    const reply = await post("/v1/messages", asked);
    expect(reply.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(await reply.text()).toMatchInlineSnapshot(`
      "event: message_start
      data: {"type":"message_start","message":{"id":"msg_d8fsvBa6Twg1LtPVsX-GsN","type":"message","role":"assistant","model":"claude-sonnet-5","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"usage":{"input_tokens":391,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"output_tokens_details":null,"server_tool_use":null,"service_tier":"standard","inference_geo":null,"speed":"standard"}}}

      event: ping
      data: {"type":"ping"}

      event: content_block_start
      data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":null}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Look: 東京"}}

      event: content_block_stop
      data: {"type":"content_block_stop","index":0}

      event: content_block_start
      data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_wH9pKAarwQ0iRCEbS-qW35","name":"look","input":{},"caller":{"type":"direct"}}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

      event: content_block_delta
      data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"at\\":1}"}}

      event: content_block_stop
      data: {"type":"content_block_stop","index":1}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null},"usage":{"input_tokens":391,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":20,"output_tokens_details":null,"server_tool_use":null}}

      event: message_stop
      data: {"type":"message_stop"}

      "
    `);
  });

  it("an error, with and without a code", async () => {
    const plain = await post("/v1/messages", { ...hello, max_tokens: -1 });
    expect(await plain.text()).toMatchInlineSnapshot(
      `"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Input should be greater than or equal to 0"},"request_id":"req_DSw9ID6Hc3-g61lltg80sa"}"`,
    );
    const tool = { name: "look", input_schema: { type: "object" } };
    const coded = await post("/v1/messages", { ...hello, tools: [tool, tool] });
    expect(await coded.text()).toMatchInlineSnapshot(
      `"{"type":"error","error":{"type":"invalid_request_error","message":"tools: Tool names must be unique.","details":{"error_code":"tool_name_conflict"}},"request_id":"req_DSw9ID6Hc3-g61lltg80sa"}"`,
    );
  });

  it("a count of tokens", async () => {
    const { max_tokens: _, ...counted } = hello;
    expect(await (await post("/v1/messages/count_tokens", counted)).text()).toMatchInlineSnapshot(
      `"{"input_tokens":5}"`,
    );
  });

  it("a model", async () => {
    const get = simulatorFetch(new Simulator());
    const one = await get("http://simulator/v1/models/claude-opus-5-5", { headers });
    expect(await one.text()).toMatchInlineSnapshot(
      `"{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus 5.5","created_at":"1970-01-01T00:00:00Z","lifecycle":"active","line":"opus","deprecated_at":null,"retires_at":null,"max_input_tokens":1000000,"max_tokens":128000,"capabilities":{"batch":{"supported":false},"citations":{"supported":false},"code_execution":{"supported":false},"context_management":{"supported":true,"clear_thinking_20251015":{"supported":true},"clear_tool_uses_20250919":{"supported":true},"compact_20260112":{"supported":true}},"compaction":{"supported":true,"summarize":{"supported":true}},"effort":{"supported":true,"low":{"supported":true},"medium":{"supported":true},"high":{"supported":true},"max":{"supported":true},"xhigh":{"supported":true}},"image_input":{"supported":true},"pdf_input":{"supported":true},"server_tools":{"supported":false,"code_execution":{"supported":false},"web_search":{"supported":false}},"structured_outputs":{"supported":false},"thinking":{"supported":true,"types":{"adaptive":{"supported":true},"between_tools":{"supported":true},"disabled":{"supported":true},"enabled":{"supported":false}}}}}"`,
    );
    const page = await get("http://simulator/v1/models?limit=2&after_id=claude-fable-5-1", { headers });
    const { data, ...rest } = (await page.json()) as { data: { id: string }[] };
    expect({ ids: data.map(({ id }) => id), ...rest }).toMatchInlineSnapshot(`
      {
        "first_id": "claude-mythos-5-1",
        "has_more": true,
        "ids": [
          "claude-mythos-5-1",
          "claude-fable-5",
        ],
        "last_id": "claude-fable-5",
      }
    `);
  });

  it("the headers of an answer", async () => {
    const reply = await post("/v1/messages", hello, { "x-simulator-advance-ms": "1500" });
    expect(Object.fromEntries(reply.headers)).toMatchInlineSnapshot(`
      {
        "content-type": "application/json",
        "request-id": "req_DSw9ID6Hc3-g61lltg80sa",
        "x-simulator-cost-usd": "0.00021",
        "x-simulator-now": "2026-01-01T00:00:01.500Z",
        "x-simulator-request": "1",
      }
    `);
  });
});
