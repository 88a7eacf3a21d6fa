import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BodyElement } from "../../packages/gateway/src/body/body-element.ts";
import { commonLength } from "../../packages/gateway/src/body/object-layout.ts";
import { type ListName, RequestBody } from "../../packages/gateway/src/body/request-body.ts";
import { writeBody, writeElement } from "../../packages/gateway/src/body/write-body.ts";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  tryParseJson,
} from "../../packages/palimpsest/src/schema/json.ts";
import { bodyText, byteEdit, editBytes, elementText, valueText } from "./body-texts.ts";
import { parametersFor } from "./runs.ts";

const list = fc.constantFrom<ListName>("messages", "messages", "input");
const edits = fc.array(byteEdit, { maxLength: 3 });
const body = fc.tuple(bodyText, edits).map(([text, changes]) => editBytes(Buffer.from(text), changes));

/** What `JSON.parse` of the whole says. */
function parseWhole(
  bytes: Uint8Array,
  name: ListName,
): { readonly object: JsonObject; readonly elements: readonly Json[] } | undefined {
  const object = tryParseJson(Buffer.from(bytes).toString());
  if (!isObject(object) || !Object.hasOwn(object, name)) return undefined;
  const content = object[name];
  if (name === "input" && typeof content === "string") return { object, elements: [{ role: "user", content }] };
  return isArray(content) && content.every(isObject) ? { object, elements: content } : undefined;
}

function expectSame(read: RequestBody | undefined, bytes: Uint8Array, name: ListName): void {
  const whole = parseWhole(bytes, name);
  expect(read === undefined, `read: ${Buffer.from(bytes).toString()}`).toBe(whole === undefined);
  if (read === undefined || whole === undefined) return;
  expectEqual(
    read.elements.map(({ value }) => value),
    whole.elements,
  );
  expect(read.fieldNames.toSorted()).toEqual(
    Object.keys(whole.object)
      .filter((key) => key !== name)
      .toSorted(),
  );
  for (const key of Object.keys(whole.object)) expectEqual(read.field(key), whole.object[key]);
}

/** Unlike `toEqual`, tells `-0` from `0` and sees own keys named `__proto__`. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toStrictEqual(expected);
  expect(isDeepStrictEqual(actual, expected)).toBe(true);
}

describe("RequestBody.read", () => {
  it("says of any bytes what JSON.parse says", () => {
    fc.assert(
      fc.property(body, list, (bytes, name) => expectSame(RequestBody.read(bytes, { list: name }), bytes, name)),
      parametersFor({ quick: 600, long: 100_000 }),
    );
  });

  it("is as strict as JSON.parse in every value", () => {
    fc.assert(
      fc.property(valueText, byteEdit, byteEdit, (text, edit, other) => {
        const changed = editBytes(Buffer.from(text), [edit]);
        const bytes = Buffer.concat([Buffer.from('{"messages":[],"x":'), changed, Buffer.from("}")]);
        const read = RequestBody.read(bytes, { list: "messages" });
        expectSame(read, bytes, "messages");
        // The value may go on where the bytes of the earlier one end.
        const next = Buffer.concat([Buffer.from('{"messages":[],"x":'), changed, other.added, Buffer.from("}")]);
        expectSame(RequestBody.read(next, { list: "messages", previous: read }), next, "messages");
      }),
      parametersFor({ quick: 2_000, long: 200_000 }),
    );
  });

  it("says the same with any previous body, and shares the values of what has the same bytes", () => {
    fc.assert(
      fc.property(
        bodyText,
        fc.array(fc.tuple(edits, fc.option(bodyText, { freq: 12 })), { maxLength: 4 }),
        list,
        (text, steps, name) => {
          let bytes: Buffer = Buffer.from(text);
          let previous = RequestBody.read(bytes, { list: name });
          for (const [changes, other] of steps) {
            const next = editBytes(other === null ? bytes : Buffer.from(other), changes);
            const read = RequestBody.read(next, { list: name, previous });
            expectSame(read, next, name);
            if (read === undefined) continue;
            expectShared(read, previous);
            bytes = next;
            previous = read;
          }
        },
      ),
      parametersFor({ quick: 600, long: 100_000 }),
    );
  });

  it("finds the same ranges with a previous body as without", () => {
    fc.assert(
      fc.property(bodyText, edits, list, (text, changes, name) => {
        const previous = RequestBody.read(Buffer.from(text), { list: name });
        const bytes = editBytes(Buffer.from(text), changes);
        const [one, other] = [
          RequestBody.read(bytes, { list: name, previous }),
          RequestBody.read(bytes, { list: name }),
        ];
        expect(JSON.stringify(one?.layout, withoutSame)).toBe(JSON.stringify(other?.layout, withoutSame));
      }),
      parametersFor({ quick: 500, long: 50_000 }),
    );
  });
});

const withoutSame = (key: string, value: unknown): unknown => (key === "isSame" ? undefined : value);

function expectShared(read: RequestBody, previous: RequestBody | undefined): void {
  const before = previous?.elements ?? [];
  const changed = read.elements.findIndex(({ bytes }, index) => before[index]?.bytes.equals(bytes) !== true);
  expect(read.unchanged).toBe(changed === -1 ? read.elements.length : changed);
  for (const [index, element] of read.elements.slice(0, read.unchanged).entries())
    expect(element.value).toBe(before[index]?.value);
  if (previous === undefined) return;
  for (const name of read.fieldNames) {
    const [now, then] = [fieldBytes(read, name), fieldBytes(previous, name)];
    if (then !== undefined && now?.equals(then) === true)
      expect(Object.is(read.field(name), previous.field(name))).toBe(true);
  }
}

function fieldBytes({ bytes, layout }: RequestBody, name: string): Buffer | undefined {
  const range = layout.members.findLast((member) => member.name === name);
  return range === undefined ? undefined : bytes.subarray(range.start, range.end);
}

const fieldChanges = fc.dictionary(
  fc.constantFrom("model", "tools", "role", "new", "1", "__proto__"),
  fc.option(fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>, { nil: undefined }),
  { maxKeys: 3 },
);
/** An element by its index in this body or the other one, or a new one. */
const item = fc.oneof(fc.record({ from: fc.constantFrom("own", "other"), index: fc.nat(5) }), elementText);

describe("writeBody", () => {
  it("writes what JSON.parse reads as the body with the other list and fields", () => {
    fc.assert(
      fc.property(
        bodyText,
        bodyText,
        fc.option(fc.array(item, { maxLength: 7 })),
        fieldChanges,
        (text, otherText, items, fields) => {
          const own = RequestBody.read(Buffer.from(text), { list: "messages" });
          const other = RequestBody.read(Buffer.from(otherText), { list: "messages" });
          if (own === undefined) return;
          const chosen = items?.flatMap((one): (BodyElement | Buffer)[] => {
            if (typeof one === "string") return [Buffer.from(one)];
            const element = (one.from === "own" ? own : other)?.elements[one.index];
            return element === undefined ? [] : [element];
          });
          const written = Buffer.concat(writeBody(own, { list: chosen, fields }));
          const expected = new Map(Object.entries(parseObject(text)));
          for (const [name, value] of Object.entries(fields)) {
            if (value === undefined) expected.delete(name);
            else expected.set(name, parseAgain(value));
          }
          if (chosen !== undefined)
            expected.set(
              "messages",
              chosen.map((one) => ("value" in one ? (one.value as Json) : parseObject(one.toString()))),
            );
          expectEqual(new Map(Object.entries(parseObject(written.toString()))), expected);
        },
      ),
      parametersFor({ quick: 500, long: 50_000 }),
    );
  });

  it("gives the client's own bytes if every change is taken back", () => {
    fc.assert(
      fc.property(bodyText, list, (text, name) => {
        const own = RequestBody.read(Buffer.from(text), { list: name });
        if (own === undefined) return;
        expect(writeBody(own, { list: [...own.elements], fields: { missing: undefined } })).toEqual([own.bytes]);
        expect(writeBody(own, {})[0]).toBe(own.bytes);
      }),
      parametersFor({ quick: 200, long: 10_000 }),
    );
  });

  it("an element with other parts is the element with that content", () => {
    fc.assert(
      fc.property(elementText, fc.array(elementText, { maxLength: 3 }), (text, replacements) => {
        const [element] = RequestBody.read(Buffer.from(`{"messages":[${text}]}`), { list: "messages" })?.elements ?? [];
        if (element === undefined) throw new Error("not read");
        const content = element.value["content"];
        const areObjects = isArray(content) && content.every(isObject);
        expectEqual(
          element.parts?.map((part) => tryParseJson(part.toString())),
          areObjects ? content : undefined,
        );
        const parts = [...(element.parts ?? []).slice(1), ...replacements.map((one) => Buffer.from(one))];
        const written = parseObject(Buffer.from(writeElement(element, { parts })).toString());
        expectEqual(
          written["content"],
          parts.map((part) => parseObject(part.toString())),
        );
        expectEqual({ ...written, content: 0 }, { ...element.value, content: 0 });
      }),
      parametersFor({ quick: 300, long: 20_000 }),
    );
  });
});

it("commonLength is the offset of the first difference", () => {
  fc.assert(
    fc.property(fc.nat(200_000), fc.nat(200_000), fc.nat(9), fc.nat(9), (length, at, start, otherStart) => {
      const bytes = Buffer.alloc(length, "some text");
      const one = { bytes: Buffer.concat([Buffer.alloc(start), bytes]), start };
      const other = { bytes: Buffer.concat([Buffer.alloc(otherStart), bytes]), start: otherStart };
      expect(commonLength(one, other, at)).toBe(Math.min(at, length));
      if (at < length) one.bytes[start + at] = 0;
      expect(commonLength(one, other, Number.POSITIVE_INFINITY)).toBe(Math.min(at, length));
    }),
    parametersFor({ quick: 60, long: 5_000 }),
  );
});

function parseObject(text: string): JsonObject {
  const value = tryParseJson(text);
  if (!isObject(value)) throw new Error(`no object: ${text}`);
  return value;
}

/** As it is after it was written: `-0` is `0`, and a lone half of a pair is U+FFFD. */
function parseAgain(value: Json): Json {
  return tryParseJson(JSON.stringify(value)) ?? null;
}
