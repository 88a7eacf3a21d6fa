import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imagePart } from "../../../../test/fixture/image.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import { parseBlock, type Block } from "../schema/block.ts";
import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { resultPart, wireBlock } from "../schema/wire/wire-block.ts";
import { toWireBlock, toWirePart, WireIds } from "./to-wire-block.ts";
import { call, clear, loggedRaws, look, type Raw, result, says, user } from "../../../../test/fixture/raw.ts";
import { Fold } from "./fold.ts";
import { toolUseId } from "../schema/brand.ts";

const citation: JsonObject = {
  type: "char_location",
  cited_text: "a",
  document_index: 0,
  document_title: null,
  start_char_index: 0,
  end_char_index: 1,
  file_id: null,
};

/** As the API gives and takes them. */
const right: readonly JsonObject[] = [
  { type: "text", text: "a" },
  { type: "text", text: "a", citations: null },
  { type: "text", text: "a", citations: [citation] },
  { type: "thinking", thinking: "hm", signature: "s" },
  { type: "redacted_thinking", data: "x" },
  { type: "tool_use", id: "t", name: "look", input: { cache_control: 1 }, caller: { type: "direct" } },
  {
    type: "tool_use",
    id: "t",
    name: "look",
    input: {},
    caller: { type: "code_execution_20250825", tool_id: "srvtoolu_1" },
  },
  { type: "tool_result", tool_use_id: "t", content: "ok", is_error: false },
  { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "a" }] },
  {
    type: "search_result",
    source: "s",
    title: "t",
    content: [{ type: "text", text: "a" }],
    citations: { enabled: true },
  },
  { type: "document", source: { type: "text", media_type: "text/plain", data: "a" }, title: "t", context: null },
  { type: "document", source: { type: "content", content: [{ type: "text", text: "a" }, imagePart()] } },
  imagePart(),
  { type: "image", source: { type: "url", url: "https://a.b/c.png" } },
  { type: "container_upload", file_id: "file_1" },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" }, caller: { type: "direct" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", url: "u", title: "t", encrypted_content: "x", page_age: null }],
  },
  { type: "code_execution_tool_result", tool_use_id: "srvtoolu_1", content: { type: "code_execution_result" } },
  { type: "mcp_tool_use", id: "mcptoolu_1", name: "n", server_name: "s", input: {} },
  { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", content: [{ type: "text", text: "a" }], is_error: false },
  { type: "compaction", content: "a", encrypted_content: null, signature: "s" },
];

const formOf = (value: JsonObject): object | undefined => toWireBlock(parseBlock(value));

describe("a block in its wire form", () => {
  it.each(right.map((block) => [block["type"], block] as const))(
    "%s: is the very block where that is right",
    (_, block) => {
      expect(wireBlock.safeParse(block).success).toBe(true);
      expect(formOf(block)).toBe(block);
    },
  );

  it.each<[string, JsonObject, JsonObject]>([
    ["a key that it has not", { type: "text", text: "a", citatIons: 1 }, { type: "text", text: "a" }],
    ["a key of another type", { type: "text", text: "a", citations: 1 }, { type: "text", text: "a" }],
    [
      "a key inside a source",
      { type: "image", source: { type: "url", url: "u", detail: "high" } },
      { type: "image", source: { type: "url", url: "u" } },
    ],
    [
      "a key inside a document's text",
      { type: "document", source: { type: "content", content: [{ type: "text", text: "a", b: 1 }] } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: "a" }] } },
    ],
    [
      "markers, also inside",
      {
        type: "search_result",
        source: "s",
        title: "t",
        content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        cache_control: { type: "ephemeral" },
      },
      { type: "search_result", source: "s", title: "t", content: [{ type: "text", text: "a" }] },
    ],
    [
      "all citations where one is wrong",
      { type: "text", text: "a", citations: [citation, { type: "char_location" }] },
      { type: "text", text: "a" },
    ],
    [
      "what a name may not have",
      { type: "tool_use", id: "t", name: "a.b c", input: {} },
      { type: "tool_use", id: "t", name: "a_b_c", input: {} },
    ],
    [
      "no name at all",
      { type: "tool_use", id: "t", name: "", input: {} },
      { type: "tool_use", id: "t", name: "tool", input: {} },
    ],
    [
      "a key that its caller has not",
      { type: "tool_use", id: "t", name: "look", input: {}, caller: { type: "direct", tool_iD: "x" } },
      { type: "tool_use", id: "t", name: "look", input: {}, caller: { type: "direct" } },
    ],
    [
      "a caller that is none",
      { type: "tool_use", id: "t", name: "look", input: {}, caller: { tyPe: "direct" } },
      { type: "tool_use", id: "t", name: "look", input: {} },
    ],
    [
      "an `is_error` that is no boolean",
      { type: "tool_result", tool_use_id: "t", content: "a", is_error: 1 },
      { type: "tool_result", tool_use_id: "t", content: "a" },
    ],
  ])("is without %s", (_, block, sent) => {
    expect(formOf(block)).toEqual(sent);
  });

  it.each<[string, JsonObject]>([
    ["has no known type", { type: "hologram" }],
    ["lacks what its type must have", { type: "container_upload", fIle_id: "x" }],
    ["has it in another type", { type: "search_result", source: 1, title: "t", content: [] }],
  ])("is none where it %s", (_, block) => {
    expect(formOf(block)).toBeUndefined();
  });

  it("a block inside a result becomes text if the API has no such block", () => {
    expect(toWirePart({ type: "text", txet: "a" })).toEqual({ type: "text", text: '{"type":"text","txet":"a"}' });
    expect(toWirePart({ type: "hologram" })).toEqual({ type: "text", text: '{"type":"hologram"}' });
  });

  it("has only what the wire has, whatever was changed in it, and is the same a second time", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...right),
        fc.array(fc.tuple(fc.nat(), change), { maxLength: 3 }),
        (block, changes) => {
          const changed = changes.reduce<Json>((value, [at, how]) => changedAt(value, { at, how }), block);
          if (!isObject(changed)) return;
          const sent = toWireBlock(parseBlock(changed));
          if (sent !== undefined && !isMedium(sent) && sent.type !== "tool_result")
            expect(wireBlock.safeParse(sent).error).toBeUndefined();
          if (sent !== undefined) expect(toWireBlock(sent)).toBe(sent);
          const part = toWirePart(changed);
          if (!isMedium(part)) expect(resultPart.safeParse(part).error).toBeUndefined();
        },
      ),
      parametersFor({ quick: 400, long: 20_000 }),
    );
  });
});

/** Whether it can be shown is judged by its data, right before it is sent. */
const isMedium = ({ type }: { readonly type?: Json }): boolean => type === "image" || type === "document";

type Change = "drop" | "misspell" | "null" | "number" | "text" | "list" | "object" | "more";
const change = fc.constantFrom<Change>("drop", "misspell", "null", "number", "text", "list", "object", "more");

interface Changing {
  readonly at: number;
  readonly how: Change;
}

/** One change to one of its fields, or to one of theirs. */
function changedAt(value: Json, { at, how }: Changing): Json {
  const keys = isObject(value) ? Object.keys(value) : [];
  if (isArray(value))
    return value.map((inner, index) =>
      index === at % value.length ? changedAt(inner, { at: Math.floor(at / value.length), how }) : inner,
    );
  if (!isObject(value) || keys.length === 0) return value;
  const key = keys[at % keys.length] ?? "";
  const deeper = Math.floor(at / keys.length);
  const inner = value[key] ?? null;
  if (deeper % 2 === 1 && typeof inner === "object" && inner !== null)
    return { ...value, [key]: changedAt(inner, { at: Math.floor(deeper / 2), how }) };
  const { [key]: _, ...rest } = value;
  switch (how) {
    case "drop":
      return rest;
    case "misspell":
      return { ...rest, [`${key}X`]: inner };
    case "null":
      return { ...value, [key]: null };
    case "number":
      return { ...value, [key]: 1 };
    case "text":
      return { ...value, [key]: "x y" };
    case "list":
      return { ...value, [key]: [inner] };
    case "object":
      return { ...value, [key]: { inner } };
    case "more":
      return { ...value, more: 1 };
  }
}

const turn = (n: number): Raw[] => [user(`u${n}`), says(`a${n}`, `m${n}`, call(`x${n}`)), result(`r${n}`, `x${n}`)];
const blocksIn = (fold: Fold): readonly Block[] => fold.messages.flatMap(({ content }) => content);

it("shows the same block objects when a view is rebuilt, markers too", () => {
  const fold = new Fold();
  let before: readonly Block[] = [];
  const snip: Raw = { type: "snip", uuid: "e", entries: ["a1", "r1"] };
  for (const logged of loggedRaws([...turn(1), ...turn(2), clear("c", "x2"), snip])) {
    before = blocksIn(fold);
    fold.append(logged);
  }
  expect(look(fold)).toEqual(["u: u1 u2", "a: call(x2)", expect.stringMatching(/^u: x2=/)]);
  expect(blocksIn(fold).filter((block) => !before.includes(block))).toEqual([]);
});

it("makes a new block when the look of the result changes", () => {
  const fold = new Fold();
  const looks = loggedRaws([...turn(1), clear("c", "x1")]).map((logged) => {
    fold.append(logged);
    return blocksIn(fold).at(-1);
  });
  expect(looks.at(-1)).not.toBe(looks.at(-2));
});

const wired = (...ids: readonly string[]): string[] => {
  const calls = new Set<string>();
  const wireIds = new WireIds((id) => calls.has(id));
  return ids.map((id) => {
    const sent = wireIds.assign(toolUseId(id));
    calls.add(id);
    return sent;
  });
};

describe("ids on the wire", () => {
  it("an id that the API takes is sent as it is", () => expect(wired("toolu_1")).toEqual(["toolu_1"]));
  it("another is made up from it", () => expect(wired("a b")).toEqual(["call_a_b"]));
  it("two that look alike stay two", () => expect(wired("a b", "a.b")).toEqual(["call_a_b", "call_a_b_2"]));
  it("the log's id is found by the one that is sent", () => {
    const wireIds = new WireIds(() => false);
    const sent = wireIds.assign(toolUseId("a b"));
    expect(wireIds.loggedId(sent)).toBe("a b");
    expect(wireIds.loggedId(toolUseId("toolu_1"))).toBe("toolu_1");
  });
  it("a made-up id never meets a recorded one, whichever comes first", () => {
    expect(wired("call_a_b", "a b")).toEqual(["call_a_b", "call_a_b_2"]);
    expect(new Set(wired("a b", "call_a_b")).size).toBe(2);
  });
});
