import { describe, expect, it } from "vitest";
import { depthMax } from "./limits.ts";
import { RequestBody } from "./request-body.ts";

const read = (text: string | Uint8Array, previous?: RequestBody) =>
  RequestBody.read(Buffer.from(text), { list: "messages", previous });
const must = (text: string | Uint8Array, previous?: RequestBody): RequestBody => {
  const body = read(text, previous);
  if (body === undefined) throw new Error("the body was not read");
  return body;
};
const isValue = (text: string): boolean => read(`{"messages":[],"x":${text}}`) !== undefined;

describe("what is read", () => {
  it("finds the list between fields before and after it", () => {
    const body = must('{"model":"m", "messages" : [ {"role":"user"} ,{"role":"assistant"}],"tools":[1],"stream":null}');
    expect(body.elements.map(({ bytes }) => bytes.toString())).toEqual(['{"role":"user"}', '{"role":"assistant"}']);
    expect(body.fieldNames).toEqual(["model", "tools", "stream"]);
    expect(["model", "tools", "stream", "none"].map((name) => body.field(name))).toEqual(["m", [1], null, undefined]);
    expect(body.field("messages")).toEqual([{ role: "user" }, { role: "assistant" }]);
  });

  it("the last of two fields with the same name counts, also of the list, and a name may have escapes", () => {
    const body = must('{"a":1,"messages":"none","m\\u0065ssages":[{"b":2}],"a":3}');
    expect(body.elements.map(({ value }) => value)).toEqual([{ b: 2 }]);
    expect(body.field("a")).toBe(3);
    expect(read('{"messages":[{"b":2}],"messages":1}')).toBeUndefined();
  });

  it.each([
    ["no list", '{"model":"m"}'],
    ["a list that is no list", '{"messages":{}}'],
    ["a list of other values than objects", '{"messages":[{},1]}'],
    ["a list as the whole body", "[]"],
    ["a byte order mark", '\ufeff{"messages":[]}'],
    ["something after the end", '{"messages":[]}x'],
    ["an end before the end", '{"messages":[]'],
    ["a comma at the end", '{"messages":[{},]}'],
    ["no comma", '{"messages":[{}{}]}'],
    ["nothing", ""],
  ])("does not read a body with %s", (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  it.each([
    "0",
    "-0",
    "10.50",
    "1e5",
    "1E-05",
    "-12345678901234567890.5e+400",
    '"\\u00Af\\ud800"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"\u007f"',
    "[[],{}]",
  ])("%s is a value", (text) => {
    expect(isValue(text)).toBe(true);
  });

  it.each([
    "",
    "01",
    "+1",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "nul",
    "nulll",
    "True",
    '"\u0001"',
    '"\t"',
    '"\\x"',
    '"\\u00g0"',
    '"\\u00',
    '"',
    "[1}",
    "{]",
    '{"a"}',
    "{1:2}",
    "[1,]",
    "[,]",
    "NaN",
    "\u00a01",
  ])("%j is no value", (text) => {
    expect(isValue(text)).toBe(false);
  });

  it("reads bytes that are no UTF-8 as the decoder does, and only in strings", () => {
    const [before, after] = [Buffer.from('{"messages":[{"a":"'), Buffer.from('"}]}')];
    expect(must(Buffer.concat([before, Buffer.from([0xe2, 0x82]), after])).elements[0]?.value).toEqual({ a: "\ufffd" });
    expect(read(Buffer.concat([Buffer.from('{"messages":[]'), Buffer.from([0xc3]), Buffer.from("}")]))).toBeUndefined();
  });

  it("does not read values that are nested deeper than its limit", () => {
    expect(isValue("[".repeat(depthMax) + "1" + "]".repeat(depthMax))).toBe(true);
    expect(isValue("[".repeat(depthMax + 1) + "1" + "]".repeat(depthMax + 1))).toBe(false);
    expect(isValue('{"a":'.repeat(1_000_000))).toBe(false);
  });

  it("an input that is a text is one user message, and stays a field", () => {
    const body = RequestBody.read(Buffer.from('{"input":"say \\"hi\\""}'), { list: "input" });
    expect(body?.elements.map(({ value }) => value)).toEqual([{ role: "user", content: 'say "hi"' }]);
    expect(body?.field("input")).toBe('say "hi"');
    expect(read('{"messages":"hi"}')).toBeUndefined();
  });

  it("bytes may be a part of others", () => {
    const around = new TextEncoder().encode('xx{"messages":[{"a":1}]}xx');
    const body = RequestBody.read(around.subarray(2, -2), { list: "messages" });
    expect(body?.elements[0]?.value).toEqual({ a: 1 });
  });

  it("an element knows the bytes of its parts", () => {
    const body = must(
      '{"messages":[{"role":"user","content":[ {"type":"text"} , {"b":[1]}]},{"content":"text"},{"content":[1]}]}',
    );
    expect(body.elements.map(({ parts }) => parts?.map(String))).toEqual([
      ['{"type":"text"}', '{"b":[1]}'],
      undefined,
      undefined,
    ]);
  });
});

describe("with the previous body", () => {
  const first = must('{"max":1,"messages":[{"a":[1]},{"b":[2]},{"c":[3]}],"tools":[{"d":4}]}');

  it("elements at the beginning keep their values, wherever the list begins", () => {
    const next = must(
      '{"max":10,"messages":[{"a":[1]},{"b":[2]},{"c":[3],"mark":1},{"e":5}],"tools":[{"d":4}]}',
      first,
    );
    expect(next.unchanged).toBe(2);
    expect(next.elements[1]?.value).toBe(first.elements[1]?.value);
    expect(next.elements.map(({ value }) => value)).toEqual([{ a: [1] }, { b: [2] }, { c: [3], mark: 1 }, { e: 5 }]);
    expect(next.field("tools")).toBe(first.field("tools"));
    expect(next.field("max")).toBe(10);
  });

  it("an element after a changed one keeps its value but is not counted as unchanged", () => {
    const next = must('{"messages":[{"a":[1]},{"b":2},{"c":[3]}]}', first);
    expect(next.unchanged).toBe(1);
    expect(next.elements[2]?.value).toBe(first.elements[2]?.value);
  });

  it("space between elements may change", () => {
    expect(must('{"messages":[\n{"a":[1]},\n{"b":[2]}]}', first).unchanged).toBe(2);
  });

  it("a number that goes on is another number", () => {
    expect(must('{"max":12,"messages":[]}', first).field("max")).toBe(12);
  });

  it("what follows equal bytes must be valid", () => {
    expect(read('{"max":1,"messages":[{"a":[1]},{"b":[2]}}', first)).toBeUndefined();
    expect(read('{"max":1,"messages":[{"a":[1]} {"b":[2]}]}', first)).toBeUndefined();
  });

  it("a body of another list has nothing in common", () => {
    const body = RequestBody.read(Buffer.from('{"input":[{"a":[1]}]}'), { list: "input", previous: first });
    expect(body?.unchanged).toBe(0);
  });

  it("a value is parsed once, whichever body is asked first", () => {
    const one = must('{"messages":[{"a":[1]}]}');
    const other = must('{"messages":[{"a":[1]},{}]}', one);
    const value = other.elements[0]?.value;
    expect(one.elements[0]?.value).toBe(value);
  });

  it("does not keep the bytes of the previous body", () => {
    const next = must('{"messages":[{"a":[1]},{}]}', first);
    expect(next.elements.every(({ source }) => source === next.bytes)).toBe(true);
  });
});
