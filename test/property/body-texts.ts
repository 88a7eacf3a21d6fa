import * as fc from "fast-check";

const space = fc.constantFrom("", "", "", " ", "\n\t", "\r\n ");
const scalar = fc.constantFrom(
  "0",
  "-0",
  "7",
  "12",
  "-1.5e-3",
  "1E+400",
  "12345678901234567890123",
  "true",
  "false",
  "null",
);
const plainCharacters = ["a", "b", "ä", "😀", "€", " ", "{", "}", "[", "]", ":", ",", "/", "\u007f", "\ufeff"];
const escapes = ['\\"', "\\\\", "\\/", "\\n", "\\u00e4", "\\uD83D\\uDE00", "\\ud800"];
const character = fc.constantFrom(...plainCharacters, ...escapes);
const string = fc.array(character, { maxLength: 12 }).map((characters) => `"${characters.join("")}"`);
const key = fc.oneof(
  { arbitrary: fc.constantFrom('"role"', '"content"', '"cont\\u0065nt"', '"type"', '"__proto__"', '"1"'), weight: 3 },
  { arbitrary: string, weight: 1 },
);

const { value, object } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, depthIdentifier: "body" }, scalar, string, tie("list"), tie("object")),
  list: joined(tie("value"), ["[", "]"]),
  object: joined(member(key, tie("value")), ["{", "}"]),
}));

/** Any JSON value, as text. */
export const valueText: fc.Arbitrary<string> = value;

/** An element of a conversation, as JSON text. Its content is mostly a list of objects. */
export const elementText: fc.Arbitrary<string> = joined(
  fc.oneof(member(key, value), member(fc.constant('"content"'), joined(object, ["[", "]"]))),
  ["{", "}"],
);

const listKey = fc.constantFrom('"messages"', '"messages"', '"m\\u0065ssages"', '"input"');
const listText = fc.oneof(
  { arbitrary: joined(elementText, ["[", "]"]), weight: 6 },
  { arbitrary: fc.oneof(value, string, joined(fc.oneof(elementText, value), ["[", "]"])), weight: 1 },
);

const listMember = member(listKey, listText);
const otherMember = member(fc.oneof(fc.constantFrom('"model"', '"tools"', '"max_tokens"'), key), value);
const members = fc
  .tuple(
    fc.array(otherMember, { maxLength: 3 }),
    fc.oneof({ arbitrary: fc.constant(1), weight: 8 }, { arbitrary: fc.constantFrom(0, 2), weight: 2 }),
    fc.array(listMember, { minLength: 2, maxLength: 2 }),
    fc.array(otherMember, { maxLength: 3 }),
    space,
  )
  .map(([before, count, lists, after, gap]) => [...before, ...lists.slice(0, count), ...after].join(`${gap},${gap}`));

/** Fields with any name, before and after the list; also twice the same one, and bodies without a list. */
export const bodyText: fc.Arbitrary<string> = fc
  .tuple(space, space, members, space, space)
  .map(([before, open, text, close, after]) => `${before}{${open}${text}${close}}${after}`);

/** A change of some bytes at a place, given as a share of the length. */
export interface ByteEdit {
  readonly at: number;
  readonly removed: number;
  readonly added: Buffer;
}

const added = fc.oneof(
  fc
    .constantFrom(
      "",
      ...'{}[]",:\\ 0123456789eE+-.tfnu'.split(""),
      '{"role":1},',
      ',{"a":"b"}',
      ',"x":[{}]',
      "\u0001",
      "\ufeff",
      "ä",
    )
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
);

export const byteEdit: fc.Arbitrary<ByteEdit> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.constantFrom(0, 0, 1, 1, 2, 9),
  added,
});

export function editBytes(bytes: Buffer, edits: readonly ByteEdit[]): Buffer {
  let edited = bytes;
  for (const edit of edits) {
    const at = Math.floor(edit.at * edited.length);
    edited = Buffer.concat([edited.subarray(0, at), edit.added, edited.subarray(at + edit.removed)]);
  }
  return edited;
}

function member(name: fc.Arbitrary<string>, content: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(name, space, space, content).map(([text, before, after, rest]) => `${text}${before}:${after}${rest}`);
}

function joined(item: fc.Arbitrary<string>, [open, close]: readonly [string, string]): fc.Arbitrary<string> {
  const spaced = fc.tuple(space, item, space).map((texts) => texts.join(""));
  return fc
    .tuple(fc.array(spaced, { maxLength: 5 }), space)
    .map(([items, inner]) => `${open}${items.length === 0 ? inner : items.join(",")}${close}`);
}
