import { describe, expect, it } from "vitest";
import { type Cassette, formatCassette, parseCassette } from "./cassette.ts";

const cassette: Cassette = {
  request: {
    method: "POST",
    path: "/v1/messages",
    key: "k",
    headers: { "anthropic-version": "2023-06-01" },
    body: { json: { model: "a" } },
  },
  response: { atMillis: 3, status: 200, headers: { "content-type": "text/event-stream" } },
  parts: [
    { atMillis: 4, content: { event: "ping", data: { type: "ping" } } },
    { atMillis: 5, content: { text: "data: [DONE]\n\n" } },
    { atMillis: 6, content: { base64: "/w==" } },
  ],
  ending: { atMillis: 7, end: "broken" },
};

/** Folders of cassettes are kept for years: this form is read for ever. */
const pinned = `{"type":"request","version":1,"method":"POST","path":"/v1/messages","key":"k","headers":{"anthropic-version":"2023-06-01"},"body":{"json":{"model":"a"}}}
{"type":"response","atMillis":3,"status":200,"headers":{"content-type":"text/event-stream"}}
{"type":"part","atMillis":4,"content":{"event":"ping","data":{"type":"ping"}}}
{"type":"part","atMillis":5,"content":{"text":"data: [DONE]\\n\\n"}}
{"type":"part","atMillis":6,"content":{"base64":"/w=="}}
{"type":"end","atMillis":7,"end":"broken"}
`;

describe("the file of a cassette", () => {
  it("is pinned, and read as it was written", () => {
    expect(formatCassette(cassette)).toBe(pinned);
    expect(parseCassette(pinned)).toEqual({ kind: "cassette", cassette });
    expect(parseCassette(pinned.trimEnd())).toEqual({ kind: "cassette", cassette });
  });

  it("may hold no response", () => {
    const left = { ...cassette, response: undefined, parts: [], ending: { atMillis: 1, end: "aborted" } } as const;
    expect(parseCassette(formatCassette(left))).toEqual({ kind: "cassette", cassette: left });
  });

  const lines = pinned.split("\n");
  const cut = (count: number): string => `${lines.slice(0, count).join("\n")}\n`;
  const changed = (at: number, line: string): string => lines.with(at - 1, line).join("\n");

  it.each<[string, string, number, RegExp]>([
    ["an empty file", "", 1, /no JSON/],
    ["a file that ends after the request", cut(1), 1, /no line that ends it/],
    ["a file that ends in the middle", cut(4), 4, /type/],
    ["a line that is torn", changed(4, '{"type":"pa'), 4, /no JSON/],
    ["a line of another kind", changed(2, '{"type":"part","atMillis":1,"content":{"text":"x"}}'), 2, /type/],
    ["a status that there is not", changed(2, lines[1]?.replace("200", "99") ?? ""), 2, /status/],
    ["another version", changed(1, lines[0]?.replace('"version":1', '"version":2') ?? ""), 1, /version/],
    ["an end that there is not", changed(6, '{"type":"end","atMillis":1,"end":"well"}'), 6, /end/],
  ])("%s is told by its line", (_, text, line, message) => {
    expect(parseCassette(text)).toEqual({ kind: "damaged", line, message: expect.stringMatching(message) as string });
  });
});
