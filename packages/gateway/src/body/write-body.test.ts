import { describe, expect, it } from "vitest";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { RequestBody } from "./request-body.ts";
import { writeBody, writeElement } from "./write-body.ts";

const must = (text: string, list: "messages" | "input" = "messages"): RequestBody => {
  const body = RequestBody.read(Buffer.from(text), { list });
  if (body === undefined) throw new Error("the body was not read");
  return body;
};
const joined = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString();
const body = must('{ "model": "m",\n "messages": [ {"a": 1},\n {"b": 2}, {"c": 3} ],\n "stream": true }');
const [a, b, c] = body.elements;
if (a === undefined || b === undefined || c === undefined) throw new Error("there are three elements");

describe("writeBody", () => {
  it("without a change gives the body's own bytes", () => {
    expect(writeBody(body, {})[0]).toBe(body.bytes);
    expect(writeBody(body, { list: [a, b, c], fields: { none: undefined } })[0]).toBe(body.bytes);
  });

  it("a changed element leaves every other byte", () => {
    expect(joined(writeBody(body, { list: [a, Buffer.from('{"x":0}'), c] }))).toBe(
      '{ "model": "m",\n "messages": [ {"a": 1},{"x":0},{"c": 3} ],\n "stream": true }',
    );
  });

  it("a field's value may be given as the bytes of its JSON", () => {
    expect(joined(writeBody(body, { fields: { model: Buffer.from('"n"'), more: Buffer.from("[1]") } }))).toBe(
      '{ "model": "n",\n "messages": [ {"a": 1},\n {"b": 2}, {"c": 3} ],\n "stream": true,"more":[1] }',
    );
  });

  it("elements that follow each other are one piece of the body's bytes", () => {
    const pieces = writeBody(body, { list: [a, b, c, Buffer.from('{"x":0}')] });
    expect(pieces.map((piece) => Buffer.from(piece).toString())).toEqual([
      '{ "model": "m",\n "messages": [ {"a": 1},\n {"b": 2}, {"c": 3}',
      ",",
      '{"x":0}',
      "]",
      ',\n "stream": true }',
    ]);
    expect(pieces[0]?.buffer).toBe(body.bytes.buffer);
  });

  it("the list may be empty, turned round, or have elements of other bodies", () => {
    const small = must('{"messages":[{"a":1}, {"b":2}]}');
    const [one, two] = small.elements;
    if (one === undefined || two === undefined) throw new Error("there are two elements");
    const listText = (list: Parameters<typeof writeBody>[1]["list"]): string =>
      joined(writeBody(small, { list })).slice(12, -1);
    expect(listText([])).toBe("[]");
    expect(listText([two, one])).toBe('[{"b":2},{"a":1}]');
    const other = must('{"messages":[{"d":4} , {"e":5}]}');
    expect(listText([...other.elements, two])).toBe('[{"d":4} , {"e":5},{"b":2}]');
  });

  it("replaces, removes and appends fields", () => {
    const small = must('{"a":1, "messages":[], "b":2}');
    const write = (fields: Parameters<typeof writeBody>[1]["fields"]): string => joined(writeBody(small, { fields }));
    expect(write({ a: [1, "ä"] })).toBe('{"a":[1,"ä"], "messages":[], "b":2}');
    expect(write({ a: undefined })).toBe('{"messages":[], "b":2}');
    expect(write({ b: undefined })).toBe('{"a":1, "messages":[]}');
    expect(write({ a: undefined, b: undefined, c: null })).toBe('{"messages":[],"c":null}');
    expect(write({ a: undefined, messages: undefined, b: undefined, c: { d: 1 } })).toBe('{"c":{"d":1}}');
  });

  it("of a changed name that stands twice only the last remains, so that no reader takes the other", () => {
    const twice = must('{"a":1,"messages":[{"old":1}],"a":2,"messages":[{"b":2}]}');
    expect(joined(writeBody(twice, { list: [], fields: { a: 3 } }))).toBe('{"a":3,"messages":[]}');
    expect(joined(writeBody(twice, { fields: { a: undefined } }))).toBe(
      '{"messages":[{"old":1}],"messages":[{"b":2}]}',
    );
  });

  it("an input that was a text becomes a list only if it changes", () => {
    const input = must('{"input":"hi","model":"m"}', "input");
    expect(writeBody(input, { list: input.elements })[0]).toBe(input.bytes);
    expect(joined(writeBody(input, { list: [...input.elements, Buffer.from("{}")] }))).toBe(
      '{"input":[{"role":"user","content":"hi"},{}],"model":"m"}',
    );
  });

  it("half a surrogate pair in a new value is replaced, because providers refuse it", () => {
    expect(joined(writeBody(must('{"messages":[]}'), { fields: { a: "\ud800" } }))).toBe(
      '{"messages":[],"a":"\ufffd"}',
    );
  });
});

describe("a new value of a field", () => {
  const client = must('{"t":[ {"n":9223372036854775807, "10":1.0,"2":-0} , {"n":"\\ud800"} ],"o":{ },"messages":[]}');
  const write = (name: string, next: (value: Json) => Json): string =>
    joined(writeBody(client, { fields: { [name]: next(client.field(name) ?? null) } }));
  const list = (value: Json): readonly Json[] => (isArray(value) ? value : expect.unreachable());
  const rest = ',"o":{ },"messages":[]}';

  it("keeps the bytes of what it has in common with the old one: numbers, order of names, half pairs, space", () => {
    expect(write("t", (value) => [...list(value), { x: 1 }])).toBe(
      `{"t":[ {"n":9223372036854775807, "10":1.0,"2":-0} , {"n":"\\ud800"},{"x":1} ]${rest}`,
    );
    expect(write("t", (value) => list(value).map((one) => (isObject(one) ? { ...one, m: true } : one)))).toBe(
      `{"t":[ {"n":9223372036854775807, "10":1.0,"2":-0,"m":true} , {"n":"\\ud800","m":true} ]${rest}`,
    );
    expect(
      write("t", (value) =>
        list(value).map((one, at) => (at === 0 && isObject(one) ? { n: one["n"] ?? 0, 2: -0 } : one)),
      ),
    ).toBe(`{"t":[ {"n":9223372036854775807,"2":-0} , {"n":"\\ud800"} ]${rest}`);
    expect(write("o", () => ({ x: 1 }))).toContain('"o":{ "x":1}');
  });

  it("is written anew if it is shorter or of another kind", () => {
    expect(write("t", (value) => list(value).slice(1))).toBe(`{"t":[{"n":"\ufffd"}]${rest}`);
    expect(write("t", () => "none")).toBe(`{"t":"none"${rest}`);
  });
});

describe("writeElement", () => {
  const element = must('{"messages":[{"role":"user","content":[{"a":1}, {"b":2}],"id":"x"}]}').elements[0];
  if (element === undefined) throw new Error("there is one element");

  it("replaces parts and fields between the client's own bytes", () => {
    const [first] = element.parts ?? [];
    if (first === undefined) throw new Error("there are parts");
    expect(Buffer.from(writeElement(element, { parts: [first], fields: { id: undefined } })).toString()).toBe(
      '{"role":"user","content":[{"a":1}]}',
    );
  });

  it("without a change gives the element's own bytes", () => {
    expect(writeElement(element, {})).toBe(element.bytes);
  });
});
