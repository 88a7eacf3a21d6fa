import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import { toolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Breakpoint } from "./breakpoint.ts";
import type { Lifetime } from "./lifetime.ts";
import { joinedBytesMin } from "./limits.ts";
import { cacheControlFor, type RequestParts, RequestSerializer } from "./request-serializer.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const user = (...content: Block[]): Message => ({ role: "user", content });
const assistant = (...content: Block[]): Message => ({ role: "assistant", content });
const tool = (name: string): JsonObject & { name: string } => ({ name, input_schema: { type: "object" } });

const small: RequestParts = {
  model: "claude-sonnet-5-5",
  maxTokens: 100,
  tools: [tool("Read")],
  system: [{ type: "text", text: "Be brief." }],
  messages: [user(text("Hi")), assistant(text("Yes?"), text("…")), user(text("Go"))],
  breakpoints: [],
};
const textOf = (parts: RequestParts, pieces = new RequestSerializer()): string =>
  new TextDecoder().decode(pieces.bytes(parts));

describe("the bytes of a request", () => {
  it("stand in the order in which they are cached, what differs from request to request behind them", () => {
    const parts = { ...small, thinking: { type: "adaptive" }, params: { stream: true, metadata: { user_id: "u" } } };
    expect(textOf(parts)).toBe(
      '{"model":"claude-sonnet-5-5","tools":[{"name":"Read","input_schema":{"type":"object"}}],' +
        '"system":[{"type":"text","text":"Be brief."}],"messages":[' +
        '{"role":"user","content":[{"type":"text","text":"Hi"}]},' +
        '{"role":"assistant","content":[{"type":"text","text":"Yes?"},{"type":"text","text":"…"}]},' +
        '{"role":"user","content":[{"type":"text","text":"Go"}]}],' +
        '"max_tokens":100,"thinking":{"type":"adaptive"},"metadata":{"user_id":"u"},"stream":true}',
    );
  });

  it("have neither tools nor a system prompt where there are none", () => {
    expect(Object.keys(JSON.parse(textOf({ ...small, tools: [], system: [] })) as object)).toEqual([
      "model",
      "messages",
      "max_tokens",
    ]);
  });

  it.each<[Lifetime, string]>([
    ["5m", '{"type":"text","text":"Go","cache_control":{"type":"ephemeral"}}'],
    ["1h", '{"type":"text","text":"Go","cache_control":{"type":"ephemeral","ttl":"1h"}}'],
  ])("a marker of %s is the block's last field", (lifetime, bytes) => {
    const breakpoint = { place: { part: "messages", message: 2, at: 0 }, lifetime } as const;
    expect(textOf({ ...small, breakpoints: [breakpoint] })).toContain(`[${bytes}]`);
  });

  it("hold no marker but those of the breakpoints, whatever a block brought along", () => {
    const marked: Message = {
      role: "user",
      content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } } as Block],
    };
    expect(textOf({ ...small, messages: [marked] })).not.toContain("cache_control");
  });

  it.each<[string, readonly Message[]]>([
    ["grows", [...small.messages, assistant(text("Done"))]],
    ["is cut short", small.messages.slice(0, 1)],
    ["is edited in the middle", small.messages.with(1, assistant(text("Well?")))],
    ["begins with another message", [user(text("Summary")), ...small.messages.slice(1)]],
    ["has the other role", small.messages.map(({ content }) => ({ role: "assistant", content }))],
  ])("are those of a new request where the conversation %s", (_, messages) => {
    const pieces = new RequestSerializer();
    textOf(small, pieces);
    expect(textOf({ ...small, messages }, pieces)).toBe(textOf({ ...small, messages }));
    expect(textOf(small, pieces)).toBe(textOf(small));
  });

  it("stay what they are when the next request is made", () => {
    const pieces = new RequestSerializer();
    const first = pieces.bytes(small);
    pieces.bytes({ ...small, messages: [user(text("Something else"))] });
    expect(new TextDecoder().decode(first)).toBe(textOf(small));
  });

  it("are the same in a conversation that outgrows its buffer", () => {
    const pieces = new RequestSerializer();
    const messages = Array.from({ length: 9 }, (_, at) => user(text(`${at} `.repeat(joinedBytesMin / 8))));
    for (let count = 1; count <= messages.length; count += 1) {
      const parts = { ...small, messages: messages.slice(0, count) };
      expect(textOf(parts, pieces) === textOf(parts)).toBe(true);
      expect((JSON.parse(textOf(parts, pieces)) as RequestParts).messages).toEqual(parts.messages);
    }
  });

  it("a message without a block is a bug", () => {
    expect(() => textOf({ ...small, messages: [user()] })).toThrow("without a block");
  });

  it("serialise each tool and block once", () => {
    const pieces = new RequestSerializer();
    textOf(small, pieces);
    const longer = { ...small, messages: [...small.messages, assistant(text("Done"))] };
    const breakpoint = { place: { part: "messages", message: 3, at: 0 }, lifetime: "5m" } as const;
    expect(textOf({ ...longer, breakpoints: [breakpoint] }, pieces)).toContain('"Done","cache_control"');
    expect(pieces.serialised).toBe(7);
  });

  it.each<[string, Partial<RequestParts>]>([
    ["a breakpoint without a block", { breakpoints: [{ place: { part: "tools", at: 1 }, lifetime: "5m" }] }],
    [
      "a breakpoint in a message that is not there",
      { breakpoints: [{ place: { part: "messages", message: 9, at: 0 }, lifetime: "5m" }] },
    ],
    [
      "a breakpoint behind the last block of a message",
      { breakpoints: [{ place: { part: "messages", message: 0, at: 1 }, lifetime: "5m" }] },
    ],
    ["a parameter that would stand there twice", { params: { messages: [] } }],
  ])("%s is a bug", (_, more) => expect(() => textOf({ ...small, ...more })).toThrow(/no block|no parameter/));
});

const words = fc.string({ unit: "binary", maxLength: 12 });
const block: fc.Arbitrary<Block> = fc.oneof(
  words.map(text),
  fc.record({ thinking: words, signature: words }).map((made): Block => ({ type: "thinking", ...made })),
  fc
    .record({ id: words.map(toolUseId), input: fc.dictionary(words, fc.jsonValue({ maxDepth: 2 })) })
    .map(({ id, input }): Block => ({
      type: "tool_use",
      id,
      name: "Read",
      input: JSON.parse(JSON.stringify(input)) as JsonObject,
    })),
  fc
    .record({ id: words.map(toolUseId), content: words })
    .map(({ id, content }): Block => ({ type: "tool_result", tool_use_id: id, content, is_error: true })),
);
const conversation = fc
  .array(fc.array(block, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 })
  .map((contents) => contents.map((content, at): Message => ({ role: at % 2 === 0 ? "user" : "assistant", content })));

/** The body as anybody else would make it: marked copies of the blocks, and JSON.stringify. */
function plainBody({ model, maxTokens, tools, system, messages, breakpoints }: RequestParts): unknown {
  const marked = (value: object, is: (breakpoint: Breakpoint) => boolean): object => {
    const found = breakpoints.find(is);
    return found === undefined ? value : { ...value, cache_control: cacheControlFor(found.lifetime) };
  };
  const body = {
    model,
    tools: tools.map((one, at) => marked(one, ({ place }) => place.part === "tools" && place.at === at)),
    system: system.map((one, at) => marked(one, ({ place }) => place.part === "system" && place.at === at)),
    messages: messages.map(({ role, content }, message) => ({
      role,
      content: content.map((one, at) =>
        marked(one, ({ place }) => place.part === "messages" && place.message === message && place.at === at),
      ),
    })),
    max_tokens: maxTokens,
  };
  return JSON.parse(JSON.stringify(body));
}

it("the value of a request says what its bytes say, also where a text is no text", () => {
  const half = { type: "text", text: "half a pair: \ud83d" } as const;
  const parts = { ...small, messages: [user(half)], thinking: { type: "adaptive" }, params: { stream: true } };
  const pieces = new RequestSerializer();
  expect(pieces.values(parts)).toEqual(JSON.parse(textOf(parts, pieces)));
});

describe("laws of the bytes", () => {
  it("are JSON of the body with its blocks marked", () => {
    const marks = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom<Lifetime>("5m", "1h")), { maxLength: 3 });
    fc.assert(
      fc.property(conversation, marks, (messages, chosen) => {
        const placed = new Map<string, Breakpoint>([
          ["tools", { place: { part: "tools", at: 0 }, lifetime: "1h" }],
          ["system", { place: { part: "system", at: 0 }, lifetime: "5m" }],
        ]);
        for (const [some, other, lifetime] of chosen) {
          const message = some % messages.length;
          const at = other % (messages[message]?.content.length ?? 1);
          placed.set(`${message}.${at}`, { place: { part: "messages", message, at }, lifetime });
        }
        const parts = { ...small, messages, breakpoints: [...placed.values()] };
        const pieces = new RequestSerializer();
        expect(JSON.parse(textOf(parts, pieces))).toEqual(plainBody(parts));
        expect(JSON.parse(textOf({ ...parts, breakpoints: [] }, pieces))).toEqual(
          plainBody({ ...parts, breakpoints: [] }),
        );
        expect(pieces.values(parts)).toEqual(JSON.parse(textOf(parts, pieces)));
      }),
    );
  });

  it("without markers a request is the beginning of the next, up to the end of its last block", () => {
    fc.assert(
      fc.property(conversation, conversation, (before, added) => {
        const pieces = new RequestSerializer();
        const one = textOf({ ...small, messages: before }, pieces);
        const other = textOf({ ...small, maxTokens: 7, messages: [...before, ...added] }, pieces);
        const shared = one.slice(0, -']}],"max_tokens":100}'.length);
        expect(other.startsWith(shared)).toBe(true);
      }),
    );
  });
});
