import { describe, expect, it } from "vitest";
import { Fold } from "./fold.ts";
import { type Damage, type LinesRead, readLine, readLines } from "./read-lines.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const entry = (uuid: string, extra: object = {}): string =>
  JSON.stringify({
    parentUuid: null,
    sessionId: "s",
    type: "user",
    message: { role: "user", content: `said-${uuid}` },
    uuid,
    ...extra,
  });
const read = (bytes: Uint8Array): LinesRead => readLines({ bytes, start: 0, last: true });
const idsOf = ({ logged }: LinesRead): (string | undefined)[] => logged.map((one) => one.entry.id);
const kindsOf = ({ damage }: LinesRead): string[] => damage.map(({ kind }) => kind);

function joined(...parts: (string | readonly number[])[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encode(part)] : [...part])));
}

/** Every byte of the log belongs to an entry, to reported damage, or is white space. */
function uncovered(bytes: Uint8Array, { logged, damage }: LinesRead): number[] {
  const ranges: { start: number; end: number }[] = [...logged, ...damage];
  const blank = new Set([0x0a, 0x0d, 0x20, 0x09, 0xef, 0xbb, 0xbf]);
  return [...bytes.keys()].filter(
    (at) => !blank.has(bytes[at] ?? 0) && !ranges.some(({ start, end }) => at >= start && at < end),
  );
}

describe("whole lines", () => {
  it.each([
    ["newlines", `${entry("1")}\n${entry("2")}\n`],
    ["no newline at the end", `${entry("1")}\n${entry("2")}`],
    ["CRLF", `${entry("1")}\r\n${entry("2")}\r\n`],
    ["blank lines", `\n\n${entry("1")}\n  \n\t\n${entry("2")}\n\n`],
    ["a byte order mark", `\uFEFF${entry("1")}\n${entry("2")}\n`],
    ["spaces around records", `  ${entry("1")}  \n${entry("2")}\n`],
  ])("%s: every entry is read, nothing is damage", (_, text) => {
    const found = read(encode(text));
    expect(idsOf(found)).toEqual(["1", "2"]);
    expect(found.damage).toEqual([]);
  });

  it("U+2028 and U+2029 inside a string end no line", () => {
    const found = read(encode(`${entry("1", { note: "a\u2028b\u2029c" })}\n${entry("2")}\n`));
    expect(idsOf(found)).toEqual(["1", "2"]);
  });

  it("an entry's place is its line without the newline", () => {
    const text = `${entry("1")}\n${entry("é漢")}\n`;
    const bytes = encode(text);
    const lines = read(bytes).logged.map(({ start, end }) => new TextDecoder().decode(bytes.subarray(start, end)));
    expect(lines).toEqual([entry("1"), entry("é漢")]);
  });

  it("offsets are relative to the log, not to the chunk", () => {
    expect(readLines({ bytes: encode(`${entry("1")}\n`), start: 1000 }).logged[0]?.start).toBe(1000);
  });
});

describe("a pretty-printed file", () => {
  it("every line of it is reported, by what it is", () => {
    const bytes = encode(
      '{\n  "name": {\n    "key": "value",\n    "last": "value"\n  },\n  "list": [\n    7,\n    8\n  ]\n}\n',
    );
    const found = read(bytes);
    expect(found.logged).toEqual([]);
    expect(uncovered(bytes, found)).toEqual([]);
    expect(kindsOf(found).join(" ")).toBe("json json json json json json json not-an-entry json json");
  });
});

describe("cut at every byte", () => {
  const nested = entry("2", { toolUseResult: { type: "text", file: { type: "x" } } });
  const progress = JSON.stringify({
    sessionId: "s",
    type: "progress",
    uuid: "3",
    data: { message: { type: "user", message: { content: "of-a-sub-agent" }, uuid: "inner" } },
  });
  const text = `${entry("1")}\n${nested}\n${progress}\n${entry("4")}\n`;
  const bytes = encode(text);
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => encode(text.slice(0, index)).length);

  it("all records before the cut are read, the torn one is reported by its range, and no other is made up", () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const found = read(bytes.subarray(0, cut));
      const whole = ends.filter((end) => end <= cut).length;
      expect(idsOf(found), `cut at ${cut}`).toEqual(["1", "2", "3", "4"].slice(0, whole));
      const start = whole === 0 ? 0 : (ends[whole - 1] ?? 0) + 1;
      const torn = cut > start ? [{ kind: "torn", start, end: cut }] : [];
      expect(
        found.damage.map(({ kind, start: from, end }) => ({ kind, start: from, end })),
        `cut at ${cut}`,
      ).toEqual(torn);
    }
  });

  it("the view equals that of the last committed entry", () => {
    const views = ["1", "2", "3", "4"].map((_, at) => viewOf(bytes.subarray(0, ends[at])));
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const whole = ends.filter((end) => end <= cut).length;
      expect(viewOf(bytes.subarray(0, cut))).toEqual(whole === 0 ? [] : views[whole - 1]);
    }
  });

  it("a record glued to half of another is read, whatever the half", () => {
    const half = encode(nested);
    for (let cut = 1; cut < half.length; cut += 1) {
      const glued = joined([...half.subarray(0, cut)], `${entry("next")}\n`, `${entry("last")}\n`);
      const found = read(glued);
      expect(idsOf(found), `half of ${cut} bytes`).toEqual(["next", "last"]);
      expect(found.damage[0], `half of ${cut} bytes`).toMatchObject({ start: 0, end: cut });
      expect(uncovered(glued, found)).toEqual([]);
    }
  });
});

const viewOf = (bytes: Uint8Array): unknown => {
  const fold = new Fold();
  fold.appendAll(read(bytes).logged);
  return fold.view().messages;
};

describe("damage", () => {
  it.each<[string, Uint8Array, (string | undefined)[], Partial<Damage>[]]>([
    [
      "a NUL run between lines",
      joined(`${entry("1")}\n`, Array(5).fill(0), `\n${entry("2")}\n`),
      ["1", "2"],
      [{ kind: "nul" }],
    ],
    [
      "a NUL run before a record on its line",
      joined(Array(3).fill(0), `${entry("1")}\n`),
      ["1"],
      [{ kind: "nul", start: 0, end: 3 }],
    ],
    [
      "a NUL run behind a record on its line",
      joined(entry("1"), [0, 0], `\n${entry("2")}\n`),
      ["1", "2"],
      [{ kind: "nul" }],
    ],
    [
      "a NUL run inside a record",
      joined('{"type":"us', [0, 0, 0], `er"}\n${entry("2")}\n`),
      ["2"],
      [{ kind: "json" }, { kind: "nul" }, { kind: "json" }],
    ],
    ["NUL to the end of the log", joined(`${entry("1")}\n`, Array(9).fill(0)), ["1"], [{ kind: "nul" }]],
    ["two records without a newline between", joined(`${entry("1")}${entry("2")}\n`), ["1", "2"], [{ kind: "glued" }]],
    [
      "three records without newlines between",
      joined(`${entry("1")}${entry("2")}${entry("3")}\n`),
      ["1", "2", "3"],
      [{ kind: "glued" }, { kind: "glued" }],
    ],
    ["garbage on a line of its own", joined(`garbage\n${entry("1")}\n`), ["1"], [{ kind: "json", start: 0, end: 7 }]],
    ["JSON that is no object", joined(`[1,2]\n${entry("1")}\n`), ["1"], [{ kind: "not-an-entry", start: 0, end: 5 }]],
    [
      "an object without a type",
      joined(`{"a":1}\n${entry("1")}\n`),
      ["1"],
      [{ kind: "not-an-entry", start: 0, end: 7 }],
    ],
  ])("%s: all other records are read, the damage is reported by its range", (_, bytes, ids, damage) => {
    const found = read(bytes);
    expect(idsOf(found)).toEqual(ids);
    expect(found.damage).toMatchObject(damage);
    expect(uncovered(bytes, found)).toEqual([]);
  });

  it("invalid UTF-8 in the middle: the record is read with U+FFFD there, and the bytes are named", () => {
    const bytes = joined(
      '{"type":"user","uuid":"1","message":{"content":"a',
      [0xff, 0xfe],
      'b"}}\n',
      `${entry("2")}\n`,
    );
    const found = read(bytes);
    expect(idsOf(found)).toEqual(["1", "2"]);
    expect(found.logged[0]?.entry).toMatchObject({ blocks: [{ type: "text", text: "a��b" }] });
    expect(found.damage).toEqual([{ kind: "utf8", start: 49, end: 51, detail: "2 bytes are not UTF-8" }]);
  });

  it("a character cut in half is damage of its bytes only", () => {
    const bytes = joined('{"type":"user","uuid":"1","message":{"content":"', [0xe6, 0xbc], 'b"}}\n');
    expect(kindsOf(read(bytes))).toEqual(["utf8"]);
    expect(idsOf(read(bytes))).toEqual(["1"]);
  });

  it("a line over the limit is reported and not parsed", () => {
    const into: LinesRead = { logged: [], damage: [] };
    readLine({ bytes: new Uint8Array(64 * 1024 * 1024 + 1), start: 7 }, into);
    expect(into.damage).toEqual([
      expect.objectContaining({ kind: "too-long", start: 7, end: 7 + 64 * 1024 * 1024 + 1 }),
    ]);
  });

  it("reading never throws and never loses a byte, whatever the line contains", () => {
    for (const piece of [
      "{",
      '{"',
      '"',
      "}",
      "\\",
      '{"type":"',
      "\u0000",
      '{"type":"user"}{"type":"x"',
      "}{",
      '{"a":{"type":"b"}',
    ]) {
      const bytes = encode(piece);
      expect(uncovered(bytes, read(bytes)), piece).toEqual([]);
    }
  });
});
