import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { call, marked, result, says, text, thinking, tool, user } from "../../../../test/fixture/wire-request.ts";
import { RequestShapes } from "./request-shapes.ts";

const good: JsonObject = { model: "claude-opus-5", max_tokens: 10, messages: [user(text("hello"))] };
const asking = (content: Json): JsonObject => ({ ...good, messages: [{ role: "user", content }] });

const messageOf = (body: Json): string | undefined => {
  const shape = new RequestShapes().messages(body);
  return shape.kind === "refused" ? shape.message : undefined;
};

describe("the shape of a body", () => {
  it.each<[string, Json, string]>([
    ["a body that is no object", [1], "Input should be a valid dictionary"],
    ["no model", { max_tokens: 1, messages: [] }, "model: Field required"],
    ["an empty model", { ...good, model: "" }, "model: String should have at least 1 character"],
    ["no max_tokens", { model: "m", messages: [] }, "max_tokens: Field required"],
    ["max_tokens as text", { ...good, max_tokens: "1" }, "max_tokens: Input should be a valid integer"],
    [
      "half a token",
      { ...good, max_tokens: 1.5 },
      "max_tokens: Input should be a valid integer, got a number with a fractional part",
    ],
    ["less than no tokens", { ...good, max_tokens: -1 }, "max_tokens: Input should be greater than or equal to 0"],
    ["a wild temperature", { ...good, temperature: 3 }, "temperature: Input should be less than or equal to 1"],
    ["a truth as text", { ...good, stream: "yes" }, "stream: Input should be a valid boolean"],
    ["a number among texts", { ...good, stop_sequences: ["a", 1] }, "stop_sequences.1: Input should be a valid string"],
    [
      "a long user id",
      { ...good, metadata: { user_id: "x".repeat(513) } },
      "metadata.user_id: String should have at most 512 characters",
    ],
    ["an unknown field", { ...good, foo: 1 }, "foo: Extra inputs are not permitted"],
    ["no messages", { model: "m", max_tokens: 1 }, "messages: Field required"],
    ["messages that are no list", { ...good, messages: {} }, "messages: Input should be a valid list"],
    ["a message that is no object", { ...good, messages: ["hi"] }, "messages.0: Input should be a valid dictionary"],
    [
      "an unknown role",
      { ...good, messages: [{ role: "tool", content: "x" }] },
      "messages.0.role: Input should be 'user', 'assistant' or 'system'",
    ],
    ["no content", { ...good, messages: [{ role: "user" }] }, "messages.0.content: Field required"],
    ["content of another type", asking(3), "messages.0.content: Input should be a valid list"],
    [
      "an unknown field of a message",
      { ...good, messages: [{ role: "user", content: "x", name: "bob" }] },
      "messages.0.name: Extra inputs are not permitted",
    ],
    ["a block that is no object", asking([3]), "messages.0.content.0: Input should be a valid dictionary"],
    ["a block without a type", asking([{}]), "messages.0.content.0: Unable to extract tag using discriminator 'type'"],
    [
      "a text block without text",
      asking([text("a"), { type: "text" }]),
      "messages.0.content.1.text.text: Field required",
    ],
    [
      "text of another type",
      asking([{ type: "text", text: 1 }]),
      "messages.0.content.0.text.text: Input should be a valid string",
    ],
    [
      "an unknown field of a block",
      asking([text("a", { foo: 1 })]),
      "messages.0.content.0.text.foo: Extra inputs are not permitted",
    ],
    [
      "thinking without a signature",
      { ...good, messages: [says({ type: "thinking", thinking: "hm" })] },
      "messages.0.content.0.thinking.signature: Field required",
    ],
    [
      "input of a call that is no object",
      { ...good, messages: [says(call("x", { input: "{}" }))] },
      "messages.0.content.0.tool_use.input: Input should be a valid dictionary",
    ],
    [
      "a part of a result without text",
      asking([result("x", [{ type: "text" }])]),
      "messages.0.content.0.tool_result.content.0.text.text: Field required",
    ],
    [
      "an image of an unknown kind",
      asking([{ type: "image", source: { type: "base64", media_type: "image/tiff", data: "" } }]),
      "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ],
    [
      "an unknown lifetime",
      asking([text("a", { cache_control: { type: "ephemeral", ttl: "2m" } })]),
      "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ],
    [
      "an unknown kind of marker",
      { ...good, system: [text("a", { cache_control: { type: "forever" } })] },
      "system.0.cache_control.type: Input should be 'ephemeral'",
    ],
    [
      "thinking without a budget",
      { ...good, thinking: { type: "enabled" } },
      "thinking.enabled.budget_tokens: Field required",
    ],
    ["tools that are no list", { ...good, tools: {} }, "tools: Input should be a valid list"],
    ["a tool without a schema", { ...good, tools: [{ name: "a" }] }, "tools.0.custom.input_schema: Field required"],
    [
      "a custom tool without a schema",
      { ...good, tools: [{ type: "custom", name: "a" }] },
      "tools.0.custom.input_schema: Field required",
    ],
    [
      "an unknown field of a tool",
      { ...good, tools: [tool("a"), tool("b", { foo: 1 })] },
      "tools.1.custom.foo: Extra inputs are not permitted",
    ],
    [
      "a marker on a provider's tool that is none",
      { ...good, tools: [{ type: "bash_20250124", name: "bash", cache_control: { type: "x" } }] },
      "tools.0.bash_20250124.cache_control.type: Input should be 'ephemeral'",
    ],
  ])("names %s and where it is", (_what, body, message) => {
    expect(messageOf(body)).toBe(message);
  });

  it("lists the tags it knows where a block is of another type", () => {
    expect(messageOf(asking([{ type: "foo" }]))).toMatch(
      /^messages\.0\.content\.0: Input tag 'foo' found using 'type' does not match any of the expected tags: 'text', 'image', /,
    );
    expect(messageOf({ ...good, tools: [{ type: "foo", name: "a" }] })).toMatch(
      /^tools\.0: Input tag 'foo' found using 'type' does not match any of the expected tags: 'custom'/,
    );
  });

  it("is a 400 of type invalid_request_error", () => {
    expect(new RequestShapes().messages({})).toMatchObject({
      kind: "refused",
      status: 400,
      type: "invalid_request_error",
    });
  });

  it("takes what clients send and keeps their message objects", () => {
    const messages = [
      user(text("look", marked("1h")), { type: "image", source: { type: "url", url: "https://a.b/c.png" } }),
      says(thinking(), text("I read"), call("x", { caller: { type: "direct" } })),
      user(result("x", [text("a")], { is_error: false }), text("go on")),
      { role: "assistant", content: "so" },
    ];
    const tools = [tool("Read", marked()), { type: "memory_20250818", name: "memory" }];
    const shape = new RequestShapes().messages({ ...good, messages, tools, system: "be brief", tool_choice: null });
    expect(shape.kind).toBe("shaped");
    if (shape.kind !== "shaped") return;
    expect(shape.request.messages.map((message, at) => (message as unknown) === messages[at])).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(shape.request.tools).toEqual(tools);
  });

  it("gives a system message that only sets something its empty content, the same object each time", () => {
    const shapes = new RequestShapes();
    const body = { ...good, messages: [user(text("hi")), { role: "system", output_config: { effort: "low" } }] };
    const [first, again] = [shapes.messages(body), shapes.messages(body)].map((shape) =>
      shape.kind === "shaped" ? shape.request.messages : [],
    );
    expect(first).toEqual([user(text("hi")), { role: "system", output_config: { effort: "low" }, content: [] }]);
    expect(again?.[1]).toBe(first?.[1]);
  });

  it("leaves tools out where they were not sent, and null where they were null", () => {
    const without = new RequestShapes().messages(good);
    const withNull = new RequestShapes().messages({ ...good, tools: null });
    expect("tools" in (without as { request: object }).request).toBe(false);
    expect((withNull as { request: { tools?: unknown } }).request.tools).toBe(null);
  });

  it("takes no max_tokens in a count, and needs none", () => {
    const { max_tokens: _, ...count } = good;
    expect(new RequestShapes().count(count)).toMatchObject({ kind: "shaped" });
    expect(new RequestShapes().count(good)).toMatchObject({ message: "max_tokens: Extra inputs are not permitted" });
  });

  it("looks at a message once as long as it is the same object, and as a message only", () => {
    let looks = 0;
    const seen = {
      role: "user",
      get content(): string {
        looks += 1;
        return "hello";
      },
    };
    const shapes = new RequestShapes();
    shapes.messages({ ...good, messages: [seen] });
    const first = looks;
    expect(first).toBeGreaterThan(0);
    expect(shapes.messages({ ...good, messages: [seen, user(text("more"))] })).toMatchObject({ kind: "shaped" });
    expect(looks).toBe(first);
    expect(shapes.messages({ ...good, tools: [seen] })).toMatchObject({ kind: "refused" });
    new RequestShapes().messages({ ...good, messages: [seen] });
    expect(looks).toBeGreaterThan(first);
  });
});
