import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parametersFor } from "../../../../test/property/runs.ts";
import { sourceOf } from "../../../../test/fixture/log.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { bytes } from "../schema/brand.ts";
import { lineBytesMax } from "../transcript/limits.ts";
import { type LinesRead, readLines } from "../transcript/read-lines.ts";
import { readPlace, scanForward, TailScan } from "./scan-lines.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const line = (uuid: string, filler = ""): string =>
  JSON.stringify({ type: "user", uuid, message: { content: filler } });

interface Seen {
  readonly entries: readonly (readonly [string | undefined, number, number])[];
  readonly damage: readonly (readonly [string, number, number])[];
}

const seen = ({ logged, damage }: LinesRead): Seen => ({
  entries: logged.map(({ entry, start, end }) => [entry.id, start, end]),
  damage: damage.map(({ kind, start, end }) => [kind, start, end]),
});

/** The whole log in one read: what every way of reading it in parts must agree with. */
const atOnce = (log: Uint8Array): Seen => seen(readLines({ bytes: log, start: 0, last: true }));

async function forward(source: ByteSource, chunkBytes: number): Promise<Seen> {
  const all: LinesRead = { logged: [], damage: [] };
  for await (const read of scanForward(source, { chunkBytes })) {
    all.logged.push(...read.logged);
    all.damage.push(...read.damage);
  }
  return seen(all);
}

async function backward(source: ByteSource, chunkBytes: number, firstBytes: number): Promise<Seen> {
  const scan = new TailScan(source, { chunkBytes, firstBytes });
  let logged: LinesRead["logged"] = [];
  while (!scan.done) logged = (await scan.older()).concat(logged);
  expect(scan.bytesRead).toBe(source.size);
  return seen({ logged, damage: scan.damage });
}

describe("a log read in parts is the log read at once", () => {
  const log = encode(`${line("a")}\n${line("b", "ä€𝄞")}\n\n${line("c", "x".repeat(200))}\n${line("d")}\n`);
  const expected = atOnce(log);

  it("whatever the size of a chunk: newlines at its end, at its start, lines over many chunks", async () => {
    expect(expected.entries.map(([id]) => id)).toEqual(["a", "b", "c", "d"]);
    for (let chunkBytes = 1; chunkBytes <= log.length + 1; chunkBytes += 1) {
      expect(await forward(sourceOf(log), chunkBytes)).toEqual(expected);
      expect(await backward(sourceOf(log), chunkBytes, 7)).toEqual(expected);
      expect(await backward(sourceOf(log), 64, chunkBytes)).toEqual(expected);
    }
  });

  it("from any line's beginning: the entries from there on, at their places", async () => {
    for (const [at, [, from]] of expected.entries.entries()) {
      const read: LinesRead = { logged: [], damage: [] };
      for await (const { logged } of scanForward(sourceOf(log), { from, chunkBytes: 50 })) read.logged.push(...logged);
      expect(seen(read).entries).toEqual(expected.entries.slice(at));
    }
  });

  it("forwards and backwards, for any damage and any chunks", async () => {
    const piece = fc.oneof(
      fc.constantFrom("\n", "\n\n", "\r\n", "\0\0\0", "{", '"', "\u2028", " ", line("whole"), '{"type":"us'),
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.nat({ max: 300 }).map((size) => line(`e${size}`, "y".repeat(size))),
    );
    const damaged = fc.array(fc.oneof(piece.map(encode), fc.uint8Array({ maxLength: 6 })), { maxLength: 24 });
    const chunk = fc.integer({ min: 1, max: 400 });
    await fc.assert(
      fc.asyncProperty(damaged, chunk, chunk, async (parts, chunkBytes, firstBytes) => {
        const bytesOfLog = new Uint8Array(Buffer.concat(parts));
        const whole = atOnce(bytesOfLog);
        expect(await forward(sourceOf(bytesOfLog), chunkBytes)).toEqual(whole);
        expect(await backward(sourceOf(bytesOfLog), chunkBytes, firstBytes)).toEqual(whole);
      }),
      parametersFor({ quick: 80, long: 20_000 }),
    );
  });

  it("also when the source gives fewer bytes than it promised", async () => {
    const shrunk: ByteSource = { ...sourceOf(log), size: bytes(log.length + 500) };
    const { entries } = await forward(shrunk, 64);
    expect(entries.map(([id]) => id)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("a line that is longer than any may be", () => {
  const chunkBytes = 4 * 2 ** 20;
  const first = `${line("a")}\n`;
  const last = `${line("z")}\n`;

  /** Never made: its bytes exist only while they are read. */
  function sourceWithLongLine(length: number, end: "newline" | "nothing"): ByteSource {
    const head = encode(first);
    const tail = end === "newline" ? encode(`\n${last}`) : new Uint8Array();
    const size = head.length + length + tail.length;
    const at = (place: number): number => {
      if (place < head.length) return head[place] ?? 0;
      return place < head.length + length ? 0x78 : (tail[place - head.length - length] ?? 0);
    };
    return {
      size: bytes(size),
      read: async ({ start, end: until }) => {
        const data = new Uint8Array(Math.min(until, size) - start).fill(0x78);
        for (let place = start; place < Math.min(until, head.length); place += 1) data[place - start] = at(place);
        for (let place = Math.max(start, head.length + length); place < Math.min(until, size); place += 1)
          data[place - start] = at(place);
        return data;
      },
      close: async () => {},
    };
  }

  it.each(["newline", "nothing"] as const)(
    "is passed over and told by its range, and the entries around it are read (%s behind it)",
    async (end) => {
      const length = lineBytesMax + 1;
      const source = sourceWithLongLine(length, end);
      const expected: Seen = {
        entries: [
          ["a", 0, first.length - 1],
          ...(end === "newline" ? [["z", source.size - last.length, source.size - 1] as const] : []),
        ],
        damage: [["too-long", first.length, first.length + length]],
      };
      expect(await forward(source, chunkBytes)).toEqual(expected);
      expect(await backward(source, chunkBytes, 256 * 1024)).toEqual(expected);
      expect(await backward(source, 2 * lineBytesMax, 4 * lineBytesMax)).toEqual(expected);
    },
  );

  it("at exactly the limit is read as a line", async () => {
    const { damage } = await forward(sourceWithLongLine(lineBytesMax, "newline"), chunkBytes);
    expect(damage.map(([kind]) => kind)).toEqual(["json"]);
  });
});

describe("a place", () => {
  const log = encode(`${line("a")}\n${line("b")}\n`);

  it("gives its entry again", async () => {
    const [, b] = readLines({ bytes: log, start: 0 }).logged;
    if (b === undefined) throw new Error("no second entry");
    expect(await readPlace(sourceOf(log), b)).toMatchObject({ entry: { id: "b" }, start: b.start, end: b.end });
  });

  it("that does not hold an entry gives nothing", async () => {
    expect(await readPlace(sourceOf(log), { start: 3, end: 9 })).toBeUndefined();
    expect(await readPlace(sourceOf(log), { start: log.length, end: log.length + 10 })).toBeUndefined();
  });
});
