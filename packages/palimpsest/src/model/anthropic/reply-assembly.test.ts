import { describe, expect, it } from "vitest";
import { blocksIn, flawsIn } from "../../../../../test/fixture/model-events.ts";
import type { ModelEvent } from "../../ports/model-port.ts";
import type { JsonObject } from "../../schema/json.ts";
import { ReplyAssembly } from "./reply-assembly.ts";

const start = {
  type: "message_start",
  message: { id: "msg_1", model: "m", usage: { input_tokens: 5, output_tokens: 1 } },
};
const begin = (index: number, content_block: JsonObject) => ({ type: "content_block_start", index, content_block });
const piece = (index: number, delta: JsonObject) => ({ type: "content_block_delta", index, delta });
const close = (index: number) => ({ type: "content_block_stop", index });
const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } };
const stop = { type: "message_stop" };
const hi = [begin(0, { type: "text", text: "" }), piece(0, { type: "text_delta", text: "Hi" }), close(0)];
const plain = [start, ...hi, end, stop];

function assembled(events: readonly JsonObject[]): readonly ModelEvent[] {
  const assembly = new ReplyAssembly();
  return events.flatMap((event) => assembly.take(event));
}

describe("a reply put together", () => {
  it("has a beginning, its pieces, whole blocks and an end with the figures of all of it", () => {
    expect(assembled(plain)).toEqual([
      { kind: "reply-start", id: "msg_1", model: "m", usage: { input_tokens: 5, output_tokens: 1 } },
      { kind: "text-delta", index: 0, text: "Hi" },
      { kind: "block-end", index: 0, block: { type: "text", text: "Hi" } },
      { kind: "reply-end", stopReason: "end_turn", usage: { input_tokens: 5, output_tokens: 9 } },
    ]);
  });

  it.each<[string, readonly JsonObject[]]>([
    ["a beginning that comes twice", [start, ...plain]],
    ["another beginning in the middle", [start, ...hi, { ...start, message: { id: "msg_2" } }, end, stop]],
    ["an end that comes twice", [...plain, end, stop]],
    ["a block that begins twice", [start, begin(0, { type: "text", text: "" }), ...hi, end, stop]],
    ["a block that begins again in the middle", [start, ...hi.slice(0, 2), ...hi.slice(0, 1), close(0), end, stop]],
    ["a block that begins again at the end", [start, ...hi, ...hi.slice(0, 1), end, stop]],
    ["a block that ends twice", [start, ...hi, close(0), end, stop]],
    ["a piece of a block that has ended", [start, ...hi, piece(0, { type: "text_delta", text: "Hi" }), end, stop]],
    ["a ping", [start, { type: "ping" }, ...hi, end, stop]],
    ["an event of no known kind", [{ type: "weather_report" }, start, ...hi, { no: "type" }, end, stop]],
    ["a piece of no known kind", [start, ...hi.slice(0, 2), piece(0, { type: "smell_delta" }), close(0), end, stop]],
    ["a block that never ended", [start, ...hi.slice(0, 2), end, stop]],
    [
      "figures that are not told again",
      [start, ...hi, { ...end, usage: { input_tokens: null, output_tokens: 9 } }, stop],
    ],
    [
      "a reply that does not say why it stopped",
      [start, ...hi, { type: "message_delta", usage: { output_tokens: 9 } }, stop],
    ],
  ])("is the same with %s", (_, events) => {
    expect(assembled(events)).toEqual(assembled(plain));
  });

  it("keeps what its blocks carry besides", () => {
    const search = {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [{ type: "web_search_result" }],
    };
    const events = assembled([
      start,
      begin(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
      piece(0, { type: "input_json_delta", partial_json: '{"query":' }),
      piece(0, { type: "input_json_delta", partial_json: '"ink"}' }),
      close(0),
      begin(1, search),
      close(1),
      begin(2, { type: "text", text: "", citations: [] }),
      piece(2, { type: "citations_delta", citation: { cited_text: "a" } }),
      piece(2, { type: "citations_delta", citation: { cited_text: "b" } }),
      close(2),
      begin(3, { type: "compaction", content: null }),
      piece(3, { type: "compaction_delta", content: "So far", encrypted_content: "x" }),
      close(3),
      end,
      stop,
    ]);
    expect(blocksIn(events)).toEqual([
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "ink" } },
      search,
      { type: "text", text: "", citations: [{ cited_text: "a" }, { cited_text: "b" }] },
      { type: "compaction", content: "So far", encrypted_content: "x" },
    ]);
    expect(flawsIn(events)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("keeps a block of no known type whole, as one that is never sent", () => {
    const strange = { type: "hologram", data: "x" };
    expect(blocksIn(assembled([start, begin(0, strange), close(0), end, stop]))).toEqual([
      { type: "unknown", was: strange },
    ]);
  });

  const twice = (...events: readonly JsonObject[]) => events.flatMap((event) => [event, event]);
  const thinks = (thinking: string) => piece(0, { type: "thinking_delta", thinking });
  const signed = piece(0, { type: "signature_delta", signature: "s" });
  const says = (...texts: readonly string[]) => texts.map((text) => piece(0, { type: "text_delta", text }));
  const thinking = begin(0, { type: "thinking", thinking: "", signature: "" });
  const calling = begin(0, { type: "tool_use", id: "toolu_1", name: "Read", input: {} });
  const inputs = (...jsons: readonly string[]) =>
    jsons.map((partial_json) => piece(0, { type: "input_json_delta", partial_json }));
  const wordy = begin(0, { type: "text", text: "" });

  it.each<[string, readonly JsonObject[]]>([
    ["says the same twice", [wordy, ...says("ha", "ha")]],
    ["says the same many times", [wordy, ...says(...Array.from({ length: 20 }, () => "ha"))]],
    ["says a few words twice each", [wordy, ...says("a", "a", "b", "b", "c", "c")]],
    ["repeats all but one", [wordy, ...twice(...says("a", "b", "c", "d", "e")), ...says("f")]],
    ["signs in two pieces", [thinking, thinks("so"), signed, piece(0, { type: "signature_delta", signature: "t" })]],
    ["has an input that is no JSON", [calling, ...inputs("", '{"a":', "{{")]],
    ["has no input", [calling, ...inputs("", "")]],
  ])("is whole where a block %s", (_, events) => {
    expect(assembled([start, ...events, close(0), end, stop]).at(-1)).toMatchObject({ kind: "reply-end" });
  });

  const doubledBlocks = [0, 1].flatMap((index) => [
    begin(index, { type: "text", text: "" }),
    ...twice(...["a", "b", "c", "d"].map((text) => piece(index, { type: "text_delta", text }))),
  ]);

  it.each<[string, readonly JsonObject[]]>([
    ["a signature that comes twice", [start, thinking, ...twice(thinks("so"), signed), close(0), end, stop]],
    ["an input that is doubled", [start, calling, ...twice(...inputs("", '{"a":', "1}")), close(0), end, stop]],
    ["a text that goes on in pairs", [start, wordy, ...twice(...says("a", "b", "c", "d")), close(0), end, stop]],
    ["doubled blocks that never ended", [start, ...doubledBlocks, end, stop]],
    ["a piece of a block that never began", [start, piece(1, { type: "text_delta", text: "Hi" }), end, stop]],
    ["a block before the beginning", [...hi, end, stop]],
  ])("breaks off at %s, and says nothing more", (_, events) => {
    const told = assembled(events);
    expect(told.at(-1)).toMatchObject({ kind: "failure", failure: { why: "broken-stream", retry: "later" } });
    expect(told.filter(({ kind }) => kind === "reply-end" || kind === "failure")).toHaveLength(1);
  });
});
