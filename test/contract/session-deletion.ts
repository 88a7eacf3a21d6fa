import { describe, expect, it } from "vitest";
import { deleteSessions, previewDeletion, type SessionRemover } from "../../packages/palimpsest/src/index.ts";
import type { StorePorts } from "../../packages/palimpsest/src/ports/store.ts";
import { type BlobId, millis, type SessionId, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { openWriter } from "./open-writer.ts";

type DeletingPorts = Required<Pick<StorePorts, "transcripts" | "blobs" | "sessions" | "deletion" | "garbage">>;

export interface DeletionUnderTest {
  readonly name: string;
  /** An empty store. */
  readonly make: () => Promise<DeletingPorts>;
}

const one = sessionId("11111111-1111-4111-8111-111111111111");
const two = sessionId("22222222-2222-4222-8222-222222222222");

/** The rules of the port, and of what the engine does with it, for every store alike. */
export function sessionDeletionContract({ name, make }: DeletionUnderTest): void {
  const filled = async () => {
    const ports = await make();
    const [own, shared] = [await put(ports, "one's alone"), await put(ports, "of both")];
    const older = await put(ports, `names ${own}`);
    await write(ports, one, [`{"blob":"${older}"}`, `{"blob":"${shared}"}`]);
    await write(ports, two, [`{"blob":"${shared}"}`]);
    // Blobs that are put in the very moment of a deletion stay.
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { ...ports, now: () => millis(Date.now()), own, older, shared };
  };

  describe(`the deletion of sessions in ${name}`, () => {
    it("removes a session and the blobs that it alone names, directly or through another; the rest stays as it is", async () => {
      const store = await filled();
      const before = await read(store, two);
      expect(await deleteSessions(store, { sessions: [one] })).toMatchObject({
        deleted: [one],
        refused: [],
        unfinished: [],
        blobs: { kind: "deleted", count: 2 },
      });
      expect((await store.sessions.list()).map((row) => row.sessionId)).toEqual([two]);
      expect(await store.transcripts.openForReading(one)).toBeUndefined();
      expect(await store.transcripts.openForWriting(one)).toEqual({ kind: "missing" });
      expect(await read(store, two)).toBe(before);
      expect(await store.blobs.list()).toEqual([store.shared]);
      expect(Buffer.from((await store.blobs.get(store.shared)) ?? []).toString()).toBe("of both");
      expect(await store.deletion.detached()).toEqual([]);
    });

    it("says before what would go, and changes nothing", async () => {
      const store = await filled();
      const remover = createRemover("3 memories");
      const preview = await previewDeletion(store, { session: one, removers: [remover] });
      const size = (await store.sessions.list()).find(({ sessionId: id }) => id === one)?.sizeBytes ?? 0;
      const blobs = "one's alone".length + "of both".length + `names ${store.own}`.length;
      expect(preview).toEqual({ bytes: size + blobs, blobs: 3, derived: ["3 memories"] });
      expect(await store.sessions.list()).toHaveLength(2);
      expect(await store.blobs.list()).toHaveLength(3);
    });

    it("refuses a session that is open, and one that there is not", async () => {
      const store = await filled();
      const writer = openWriter(await store.transcripts.openForWriting(one));
      const outcome = await deleteSessions(store, { sessions: [one, sessionId("none")] });
      expect(outcome).toMatchObject({
        deleted: [],
        refused: [
          { session: one, outcome: { kind: "busy" } },
          { session: "none", outcome: { kind: "missing" } },
        ],
      });
      expect(await writer.append(['{"more":1}'])).toMatchObject({ kind: "appended" });
      expect(await store.blobs.list()).toHaveLength(3);
    });

    it("leaves the blobs while another session is open, which may be a copy in the making", async () => {
      const store = await filled();
      openWriter(await store.transcripts.openForWriting(two));
      expect(await deleteSessions(store, { sessions: [one] })).toMatchObject({
        deleted: [one],
        blobs: { kind: "left" },
      });
      expect(await store.blobs.list()).toHaveLength(3);
    });

    it("a detached session is gone for every reader, and the next deletion finishes it", async () => {
      const store = await filled();
      expect(await store.deletion.detach(one)).toEqual({ kind: "detached" });
      expect((await store.sessions.list()).map((row) => row.sessionId)).toEqual([two]);
      expect(await store.transcripts.openForWriting(one)).toEqual({ kind: "missing" });
      expect(await store.deletion.detached()).toEqual([one]);
      expect(await deleteSessions(store, { sessions: [] })).toMatchObject({ deleted: [one] });
      expect(await store.blobs.list()).toEqual([store.shared]);
      expect(await store.deletion.detached()).toEqual([]);
    });

    it("a new session of the same name is another one: finishing the old deletion does not touch it", async () => {
      const store = await filled();
      await store.deletion.detach(one);
      await write(store, one, ['{"new":1}']);
      await deleteSessions(store, { sessions: [] });
      expect(await read(store, one)).toBe('{"new":1}\n');
    });

    it("asks the removers in order once the session is gone, and again after one failed", async () => {
      const store = await filled();
      const calls: string[] = [];
      let isBroken = true;
      const remover = (label: string): SessionRemover => ({
        name: label,
        describe: async () => undefined,
        remove: async (sessions) => {
          const opened = await Promise.all(sessions.map((session) => store.transcripts.openForReading(session)));
          calls.push(`${label} ${opened.map((source) => source !== undefined).join(" ")}`);
          return isBroken && label === "second" ? { kind: "failed", why: "io", message: "no disk" } : undefined;
        },
      });
      const removers = [remover("first"), remover("second"), remover("third")];
      expect(await deleteSessions(store, { sessions: [one], removers })).toMatchObject({
        deleted: [],
        unfinished: [{ session: one, message: "second: no disk" }],
      });
      isBroken = false;
      expect(await deleteSessions(store, { sessions: [one], removers })).toMatchObject({
        deleted: [one],
        unfinished: [],
      });
      expect(calls).toEqual(["first false", "second false", "first false", "second false", "third false"]);
      expect(await store.blobs.list()).toEqual([store.shared]);
    });

    it("removes what the user chose with a session only for the sessions named, and once they are gone", async () => {
      const store = await filled();
      const calls: string[] = [];
      const chosen: SessionRemover = {
        name: "memories",
        describe: async () => undefined,
        remove: async (sessions) => {
          for (const session of sessions) {
            const source = await store.transcripts.openForReading(session);
            const isThere = source !== undefined;
            await source?.close();
            calls.push(`${session === one ? "one" : "two"} ${isThere}`);
          }
          return undefined;
        },
      };
      const writer = openWriter(await store.transcripts.openForWriting(one));
      expect(await deleteSessions(store, { sessions: [one], chosenRemovers: [chosen] })).toMatchObject({ deleted: [] });
      await writer.close();
      await store.deletion.detach(two);
      expect(await deleteSessions(store, { sessions: [one], chosenRemovers: [chosen] })).toMatchObject({
        deleted: [one, two],
      });
      expect(calls).toEqual(["one false"]);
    });
  });
}

const createRemover = (what: string): SessionRemover => ({
  name: "memories",
  describe: async () => what,
  remove: async () => undefined,
});

async function put({ blobs }: DeletingPorts, content: string): Promise<BlobId> {
  const stored = await blobs.put(Buffer.from(content));
  if (stored.kind === "failed") throw new Error(stored.message);
  return stored.id;
}

async function write({ transcripts }: DeletingPorts, id: SessionId, lines: readonly string[]): Promise<void> {
  const writer = openWriter(await transcripts.create(id));
  await writer.append(lines);
  await writer.close();
}

async function read({ transcripts }: DeletingPorts, id: SessionId): Promise<string> {
  const source = await transcripts.openForReading(id);
  const content = Buffer.from((await source?.read({ start: 0, end: source.size })) ?? []).toString();
  await source?.close();
  return content;
}
