import { describe, expect, it } from "vitest";
import type { ByteSource, Transcripts } from "../../packages/palimpsest/src/ports/transcripts.ts";
import { type SessionId, bytes, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { skipped } from "./skipped.ts";
import { openWriter } from "./open-writer.ts";

export interface TranscriptsUnderTest {
  readonly name: string;
  /** A store that holds the seed's transcripts and nothing else. */
  readonly make: (seed: ReadonlyMap<SessionId, Uint8Array>) => Promise<Transcripts>;
  /** Rules that don't apply to it, each with its reason, which stands beside the skipped test. */
  readonly skips?: Skips;
}

interface Skips {
  readonly tornLines?: string;
  readonly names?: string;
}

const one = sessionId("11111111-1111-4111-8111-111111111111");
const two = sessionId("22222222-2222-4222-8222-222222222222");
const line = (n: number): string => JSON.stringify({ type: "user", n, text: "ä€𝄞\u2028" });

/** The rules of the port, for every store alike. */
export function transcriptsContract({ name, make, skips = {} }: TranscriptsUnderTest): void {
  const seeded = (content: string | Uint8Array) => make(new Map([[one, Buffer.from(content)]]));

  describe(`transcripts in ${name}`, () => {
    describe("appending", () => {
      it("keeps every byte of every line, in order", async () => {
        const store = await make(new Map());
        const writer = openWriter(await store.create(one));
        await writer.append([line(1), line(2)]);
        await writer.append([line(3)]);
        await writer.close();
        expect(await textOf(store, one)).toBe(`${line(1)}\n${line(2)}\n${line(3)}\n`);
      });

      it("says at which byte each line begins", async () => {
        const store = await seeded(`${line(0)}\n`);
        const writer = openWriter(await store.openForWriting(one));
        const outcome = await writer.append([line(1), line(2)]);
        const length = Buffer.byteLength(`${line(0)}\n`);
        expect(outcome).toEqual({ kind: "appended", at: [length, 2 * length] });
      });

      it("keeps the order of appends that were not waited for", async () => {
        const store = await make(new Map());
        const writer = openWriter(await store.create(one));
        await Promise.all(Array.from({ length: 100 }, (_, n) => writer.append([line(n)])));
        const expected = Array.from({ length: 100 }, (_, n) => `${line(n)}\n`).join("");
        expect(await textOf(store, one)).toBe(expected);
      });

      it("appends nothing for no lines", async () => {
        const store = await make(new Map());
        const writer = openWriter(await store.create(one));
        expect(await writer.append([])).toEqual({ kind: "appended", at: [] });
        expect(await writer.endTurn()).toEqual({ kind: "appended", at: [] });
        expect(await textOf(store, one)).toBe("");
      });

      it("throws on a line with a newline in it, and on a closed writer: both are bugs", async () => {
        const store = await make(new Map());
        const writer = openWriter(await store.create(one));
        await expect(writer.append(["{\n}"])).rejects.toThrow(TypeError);
        await writer.append([line(1)]);
        await writer.close();
        await expect(writer.append([line(2)])).rejects.toThrow(TypeError);
        expect(await textOf(store, one)).toBe(`${line(1)}\n`);
      });
    });

    describe("opening", () => {
      it("refuses to create a session that exists", async () => {
        const store = await seeded(`${line(1)}\n`);
        expect(await store.create(one)).toEqual({ kind: "exists" });
        expect(await textOf(store, one)).toBe(`${line(1)}\n`);
      });

      it("says that a session is missing and does not make it", async () => {
        const store = await make(new Map());
        expect(await store.openForWriting(one)).toEqual({ kind: "missing" });
        expect(await store.openForReading(one)).toBeUndefined();
        openWriter(await store.create(one));
      });

      it("lets one writer in and calls the session busy for the second", async () => {
        const store = await seeded("");
        const writer = openWriter(await store.openForWriting(one));
        expect(await store.openForWriting(one)).toMatchObject({
          kind: "busy",
          holder: expect.stringMatching(/\S/) as unknown,
        });
        await writer.close();
        openWriter(await store.openForWriting(one));
      });

      it("lets one of many that open at once in", async () => {
        const store = await seeded("");
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => store.openForWriting(one)));
        const opened = outcomes.filter((outcome) => outcome.kind === "open");
        expect(opened.map(openWriter)).toHaveLength(1);
        expect(outcomes.filter((outcome) => outcome.kind === "busy")).toHaveLength(19);
      });

      it("creates a session once when many create it at once", async () => {
        const store = await make(new Map());
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => store.create(one)));
        const opened = outcomes.filter((outcome) => outcome.kind === "open");
        expect(opened.map(openWriter)).toHaveLength(1);
      });

      it("has a writer per session, not per store", async () => {
        const store = await make(new Map());
        const writers = [openWriter(await store.create(one)), openWriter(await store.create(two))];
        expect(writers.map((writer) => writer.id)).toEqual([one, two]);
      });

      it("can be closed twice, and only the first frees the session", async () => {
        const store = await seeded("");
        const first = openWriter(await store.openForWriting(one));
        await first.close();
        const second = openWriter(await store.openForWriting(one));
        await first.close();
        expect((await store.openForWriting(one)).kind).toBe("busy");
        await second.close();
      });

      it("takes a log away that it has made itself, when it is told to, and frees the name", async () => {
        const store = await make(new Map());
        const writer = openWriter(await store.create(one));
        await writer.append([line(1)]);
        await writer.discard();
        await writer.close();
        expect(await store.openForReading(one)).toBeUndefined();
        expect((await store.openForWriting(one)).kind).toBe("missing");
        openWriter(await store.create(one));
      });

      it("only closes a log that was there before, whoever tells it to take it away", async () => {
        const store = await seeded(`${line(0)}\n`);
        const writer = openWriter(await store.openForWriting(one));
        await writer.discard();
        expect(await textOf(store, one)).toBe(`${line(0)}\n`);
        openWriter(await store.openForWriting(one));
      });

      it.skipIf(skips.names)(`takes no id that would leave the store${skipped(skips.names)}`, async () => {
        const store = await make(new Map());
        for (const id of ["../escape", "a/b", "", ".", "..", ".hidden", "blobs", "memory", "x\0y"]) {
          const bad = sessionId(id);
          const [created, opened] = [await store.create(bad), await store.openForWriting(bad)];
          const read = await store.openForReading(bad);
          expect([id, created.kind, opened.kind, read]).toEqual([id, "failed", "missing", undefined]);
        }
      });
    });

    describe.skipIf(skips.tornLines)(`a last line without its newline${skipped(skips.tornLines)}`, () => {
      it("is ended, and not set aside, if it is whole", async () => {
        const store = await seeded(`${line(1)}\n${line(2)}`);
        const opened = await store.openForWriting(one);
        expect(opened).toMatchObject({ kind: "open", setAside: undefined });
        await openWriter(opened).append([line(3)]);
        expect(await textOf(store, one)).toBe(`${line(1)}\n${line(2)}\n${line(3)}\n`);
      });

      it("is set aside and closed off if it is torn; nothing before it is touched", async () => {
        const whole = `${line(1)}\n`;
        const torn = line(2).slice(0, -1);
        const store = await seeded(whole + torn);
        const opened = await store.openForWriting(one);
        const start = Buffer.byteLength(whole);
        expect(opened).toMatchObject({ kind: "open", setAside: { start, end: start + Buffer.byteLength(torn) } });
        await openWriter(opened).append([line(3)]);
        expect(await textOf(store, one)).toBe(`${whole}${torn}\n${line(3)}\n`);
      });

      it("is healed once: the next opening finds nothing", async () => {
        const store = await seeded("{");
        await openWriter(await store.openForWriting(one)).close();
        const again = await store.openForWriting(one);
        expect(again).toMatchObject({ kind: "open", setAside: undefined });
        openWriter(again);
      });

      it.each([
        ["NUL bytes", Buffer.alloc(10)],
        ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
        ["a value that is no object", Buffer.from("12")],
      ])("counts as torn when it holds %s", async (_, torn) => {
        const store = await seeded(torn);
        const opened = await store.openForWriting(one);
        expect(opened).toMatchObject({ setAside: { start: 0, end: torn.byteLength } });
        openWriter(opened);
      });

      it("is left alone by who only reads", async () => {
        const store = await seeded("{");
        for (let time = 0; time < 2; time += 1) expect(await textOf(store, one)).toBe("{");
      });
    });

    describe("reading", () => {
      it("gives any range, cut at the size that the log had on opening", async () => {
        const store = await seeded("{}\n");
        const source = await sourceOf(store, one);
        const writer = openWriter(await store.openForWriting(one));
        await writer.append([line(1)]);
        expect(source.size).toBe(3);
        expect(await source.read({ start: 1, end: 2 })).toEqual(expect.objectContaining({ 0: 0x7d, length: 1 }));
        expect((await source.read({ start: 2, end: 100 })).byteLength).toBe(1);
        expect((await source.read({ start: 50, end: 100 })).byteLength).toBe(0);
        await source.close();
      });
    });

    describe("blanking", () => {
      it("writes spaces over the ranges, keeps what was there, and moves nothing else", async () => {
        const store = await seeded("{}\n\u0000\u0000\u0000\n{}\n");
        const writer = openWriter(await store.openForWriting(one));
        const reader = await sourceOf(store, one);
        const outcome = await writer.blank([{ start: 3, end: 6 }]);
        expect(outcome).toMatchObject({ kind: "blanked", setAside: [{ start: 3, end: 6 }] });
        expect(outcome.kind === "blanked" ? outcome.setAside[0]?.kept : "").toMatch(/\S/);
        expect(await textOf(store, one)).toBe("{}\n   \n{}\n");
        expect(await writer.append([line(1)])).toEqual({ kind: "appended", at: [10] });
        expect(reader.size).toBe(10);
        await reader.close();
      });

      it("throws on a closed writer", async () => {
        const store = await seeded("{}\n");
        const writer = openWriter(await store.openForWriting(one));
        await writer.close();
        await expect(writer.blank([{ start: 0, end: 2 }])).rejects.toThrow(TypeError);
        expect(await textOf(store, one)).toBe("{}\n");
      });
    });

    describe("a link", () => {
      it("is the same before and after the session is made, where the store has any", async () => {
        const store = await make(new Map());
        const before = store.linkTo?.(one);
        openWriter(await store.create(one));
        expect(store.linkTo?.(one)).toBe(before);
        if (store.linkTo !== undefined) expect(before).toContain(one);
      });
    });

    describe("adopting", () => {
      it("puts the origin line before a byte-for-byte copy and ends its last line", async () => {
        const store = await make(new Map());
        const source = memorySource(Buffer.from([0x7b, 0x7d, 0x0a, 0xff, 0x00]));
        const writer = openWriter(
          await store.adopt({ id: one, originLine: '{"type":"origin"}', source, length: bytes(5) }),
        );
        await writer.append([line(1)]);
        const expected = [
          Buffer.from('{"type":"origin"}\n{}\n'),
          Buffer.from([0xff, 0x00]),
          Buffer.from(`\n${line(1)}\n`),
        ];
        expect(Buffer.compare(await bytesOf(store, one), Buffer.concat(expected))).toBe(0);
      });

      it("copies only the length that was asked for", async () => {
        const store = await make(new Map());
        const source = memorySource(Buffer.from("{}\n{}\n{}\n"));
        openWriter(await store.adopt({ id: one, originLine: "{}", source, length: bytes(3) }));
        expect(await textOf(store, one)).toBe("{}\n{}\n");
      });

      it("copies in parts of a bounded size", async () => {
        const store = await make(new Map());
        const source = memorySource(Buffer.alloc(4_999_998, "{}\n"));
        openWriter(await store.adopt({ id: one, originLine: "{}", source, length: source.size }));
        expect(Math.max(...source.lengths)).toBeLessThanOrEqual(1024 * 1024);
        expect((await bytesOf(store, one)).byteLength).toBe(4_999_998 + "{}\n".length);
      });

      it("refuses an id that is taken", async () => {
        const store = await seeded("");
        expect(
          await store.adopt({ id: one, originLine: "{}", source: memorySource(Buffer.of()), length: bytes(0) }),
        ).toEqual({ kind: "exists" });
      });

      it("leaves no session behind when the source ends too early", async () => {
        const store = await make(new Map());
        const outcome = await store.adopt({
          id: one,
          originLine: "{}",
          source: memorySource(Buffer.from("{}")),
          length: bytes(9),
        });
        expect(outcome).toMatchObject({ kind: "failed", why: "io" });
        expect(await store.openForReading(one)).toBeUndefined();
        openWriter(await store.create(one));
      });
    });
  });
}

async function sourceOf(store: Transcripts, id: SessionId): Promise<ByteSource> {
  const source = await store.openForReading(id);
  if (source === undefined) throw new Error(`missing: ${id}`);
  return source;
}

async function bytesOf(store: Transcripts, id: SessionId): Promise<Uint8Array> {
  const source = await sourceOf(store, id);
  const data = await source.read({ start: 0, end: source.size });
  await source.close();
  return data;
}

const textOf = async (store: Transcripts, id: SessionId): Promise<string> =>
  Buffer.from(await bytesOf(store, id)).toString("utf8");

const memorySource = (data: Uint8Array): ByteSource & { readonly lengths: number[] } => {
  const lengths: number[] = [];
  const read = async ({ start, end }: { start: number; end: number }) => {
    lengths.push(end - start);
    return data.subarray(start, end);
  };
  return { size: bytes(data.byteLength), lengths, read, close: async () => undefined };
};
