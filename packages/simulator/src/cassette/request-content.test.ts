import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Chunk, partBytes, requestContent, responseParts } from "./request-content.ts";

const bytesOf = (text: string): Buffer => Buffer.from(text, "utf8");

/** Cut at these places, one chunk a millisecond. */
function chunked(bytes: Buffer, places: readonly number[]): readonly Chunk[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, at) => ({ atMillis: at, bytes: bytes.subarray(ends[at - 1] ?? 0, end) }));
}

const event = fc.oneof(
  fc.jsonValue().map((data) => `event: x\ndata: ${JSON.stringify({ data })}\n\n`),
  fc.jsonValue().map((data) => `data: ${JSON.stringify([data])}\n\n`),
  fc.constantFrom(
    "data: [DONE]\n\n",
    ": comment\n\n",
    'data: {"a": 1.0}  \n\n',
    "event: x\r\ndata: {}\r\n\r\n",
    'id: 1\nretry: 5\ndata: {"a":1}\n\n',
    "\n\n",
  ),
  fc.string({ unit: "binary" }).map((text) => `data: ${text}\n\n`),
);
const body = fc.oneof(
  fc.array(event).map((events) => bytesOf(events.join(""))),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc.jsonValue().map((json) => bytesOf(JSON.stringify(json))),
);
const type = fc.constantFrom("text/event-stream; charset=utf-8", "application/json", "");

describe("the parts of a response", () => {
  it("are together the bytes that came, wherever the network or a break cut them", () => {
    fc.assert(
      fc.property(body, type, fc.array(fc.nat()), fc.nat(), (whole, contentType, places, cut) => {
        const bytes = whole.subarray(0, cut % (whole.length + 1));
        const parts = responseParts(chunked(bytes, places), contentType);
        expect(Buffer.concat(parts.map((part) => partBytes(part)))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it("are the same events however the network cut them", () => {
    fc.assert(
      fc.property(fc.array(event), fc.array(fc.nat()), (events, places) => {
        const contents = (chunks: readonly Chunk[]): unknown =>
          responseParts(chunks, "text/event-stream").map(({ content }) => content);
        const bytes = bytesOf(events.join(""));
        expect(contents(chunked(bytes, places))).toEqual(contents(chunked(bytes, [])));
      }),
    );
  });

  it.each<[string, string, unknown]>([
    ["an event", 'event: a\ndata: {"b":1}\n\n', { event: "a", data: { b: 1 } }],
    ["an event without a name", 'data: {"b":1}\n\n', { data: { b: 1 } }],
    ["an event with spaces that JSON does not need", 'data: {"b":1 }\n\n', { text: 'data: {"b":1 }\n\n' }],
    ["an event with more than its data", 'id: 1\ndata: {"b":1}\n\n', { text: 'id: 1\ndata: {"b":1}\n\n' }],
    ["the end of a stream in another form", "data: [DONE]\n\n", { text: "data: [DONE]\n\n" }],
  ])("%s", (_, text, content) => {
    expect(responseParts([{ atMillis: 3, bytes: bytesOf(text) }], "text/event-stream")).toEqual([
      { atMillis: 3, content },
    ]);
  });

  it("an event has the moment of its last byte", () => {
    const chunks = ['data: {"a":1}\n\ndata: {"b', '":2}\n', '\ndata: {"c":3}\n\n'].map((text, at) => ({
      atMillis: at * 10,
      bytes: bytesOf(text),
    }));
    expect(responseParts(chunks, "text/event-stream").map(({ atMillis }) => atMillis)).toEqual([0, 20, 20]);
  });

  it("a character that was cut is kept as its bytes behind the text", () => {
    const bytes = bytesOf("data: 東").subarray(0, 7);
    expect(responseParts([{ atMillis: 0, bytes }], "text/event-stream").map(({ content }) => content)).toEqual([
      { text: "data: " },
      { base64: bytes.subarray(6).toString("base64") },
    ]);
  });
});

describe("the body of a request", () => {
  it.each<[string, Buffer, unknown]>([
    ["nothing", bytesOf(""), null],
    ["JSON in any spelling", bytesOf('{ "a": 1.0 }'), { json: { a: 1 } }],
    ["another text", bytesOf("a=1"), { text: "a=1" }],
    ["no text", Buffer.from([0xff, 0xfe]), { base64: "//4=" }],
    [
      "JSON that is nested too deep",
      bytesOf("[".repeat(600) + "]".repeat(600)),
      { text: expect.any(String) as string },
    ],
  ])("%s", (_, bytes, content) => {
    expect(requestContent(bytes)).toEqual(content);
  });
});
