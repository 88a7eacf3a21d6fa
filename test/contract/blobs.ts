import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Blobs } from "../../packages/palimpsest/src/ports/blobs.ts";
import { type BlobId, blobId, sessionId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";

export interface BlobsUnderTest {
  readonly name: string;
  readonly make: () => Promise<Blobs>;
}

const hello = Buffer.from("hello");
const idOf = (data: Uint8Array): BlobId => blobId(createHash("sha256").update(data).digest("hex"));

/** The rules of the port, for every store alike. */
export function blobsContract({ name, make }: BlobsUnderTest): void {
  describe(`blobs in ${name}`, () => {
    it("are named by the SHA-256 of their bytes", async () => {
      const blobs = await make();
      expect(await blobs.put(hello)).toEqual({ kind: "stored", id: idOf(hello) });
    });

    it.each([
      ["nothing", Buffer.of()],
      ["text", hello],
      ["any byte", Buffer.from(Array.from({ length: 256 }, (_, n) => n))],
      ["megabytes", Buffer.alloc(3_000_000, "abc")],
    ])("come back byte for byte: %s", async (_, data) => {
      const blobs = await make();
      await blobs.put(data);
      expect(Buffer.compare((await blobs.get(idOf(data))) ?? Buffer.from("absent"), data)).toBe(0);
    });

    it("are stored once, however often they are put", async () => {
      const blobs = await make();
      await Promise.all(Array.from({ length: 10 }, () => blobs.put(hello)));
      expect(await blobs.list()).toEqual([idOf(hello)]);
    });

    it("are all stored if many are put at the same time", async () => {
      const blobs = await make();
      const data = Array.from({ length: 40 }, (_, at) => Buffer.from(`blob ${at}`));
      await Promise.all(data.map((one) => blobs.put(one)));
      expect(await blobs.list()).toEqual(data.map(idOf).toSorted());
    });

    it("do not change with the caller's buffer", async () => {
      const blobs = await make();
      const data = Buffer.from("mine");
      await blobs.put(data);
      data.fill(0);
      expect(Buffer.from((await blobs.get(idOf(Buffer.from("mine")))) ?? []).toString()).toBe("mine");
    });

    it("do not change with what a reader does to its copy", async () => {
      const blobs = await make();
      await blobs.put(hello);
      (await blobs.get(idOf(hello)))?.fill(0);
      expect(Buffer.from((await blobs.get(idOf(hello))) ?? []).toString()).toBe("hello");
    });

    it("are absent until they are put", async () => {
      const blobs = await make();
      expect([await blobs.get(idOf(hello)), await blobs.list()]).toEqual([undefined, []]);
    });

    it("are listed in the order of their ids", async () => {
      const blobs = await make();
      const texts = Array.from({ length: 8 }, (_, n) => Buffer.from(`text ${n}`));
      for (const data of texts) await blobs.put(data);
      expect(await blobs.list()).toEqual(texts.map(idOf).toSorted());
    });

    it("have no link while they are not stored; behind it, one that stays the same, where the store has any", async () => {
      const blobs = await make();
      const link = { blob: idOf(hello), session: sessionId("s"), toolUse: toolUseId("t"), media: "text" } as const;
      expect(await blobs.link?.(link)).toBeUndefined();
      await blobs.put(hello);
      const [first, second] = [await blobs.link?.(link), await blobs.link?.(link)];
      expect(second).toBe(first);
      if (blobs.link !== undefined) expect(first).toMatch(/\S/);
    });
  });
}
