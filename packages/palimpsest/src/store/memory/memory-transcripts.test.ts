import { expect, it } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { openWriter } from "../../../../../test/contract/open-writer.ts";
import type { Transcripts } from "../../ports/transcripts.ts";
import { sessionId } from "../../schema/brand.ts";
import { memoryBlobs, faultOnce } from "./memory-blobs.ts";
import { memoryTranscripts } from "./memory-transcripts.ts";

const id = sessionId("s1");
async function contentOf(store: Transcripts): Promise<string> {
  const source = await store.openForReading(id);
  return Buffer.from((await source?.read({ start: 0, end: source.size })) ?? []).toString();
}

it("fails the write that the test chose, and only that one", async () => {
  const store = memoryTranscripts({ deps: storeDeps, faultAt: faultOnce(1, { why: "disk-full" }) });
  const writer = openWriter(await store.create(id));
  expect(await writer.append(['{"a":1}', '{"b":1}', '{"c":1}'])).toMatchObject({ kind: "failed", why: "disk-full" });
  expect(await writer.append(['{"d":1}'])).toEqual({ kind: "appended", at: [8] });
  expect(await contentOf(store)).toBe('{"a":1}\n{"d":1}\n');
});

it("can leave half of the line behind, which the next append isolates", async () => {
  const store = memoryTranscripts({ deps: storeDeps, faultAt: faultOnce(0, { why: "disk-full", keptBytes: 3 }) });
  const writer = openWriter(await store.create(id));
  await writer.append(['{"a":1}']);
  expect(await writer.append(["{}"])).toEqual({ kind: "appended", at: [4] });
  expect(await contentOf(store)).toBe('{"a\n{}\n');
});

it("sets a half line aside when the session is opened again", async () => {
  const store = memoryTranscripts({ deps: storeDeps, faultAt: faultOnce(0, { why: "io", keptBytes: 3 }) });
  const writer = openWriter(await store.create(id));
  await writer.append(['{"a":1}']);
  await writer.close();
  const opened = await store.openForWriting(id);
  expect(opened).toMatchObject({ kind: "open", setAside: { start: 0, end: 3 } });
  openWriter(opened);
});

it("fails the blob that the test chose", async () => {
  const blobs = memoryBlobs({ faultAt: faultOnce(1, { why: "read-only" }) });
  expect((await blobs.put(Buffer.from("a"))).kind).toBe("stored");
  expect(await blobs.put(Buffer.from("b"))).toMatchObject({ kind: "failed", why: "read-only" });
  expect((await blobs.put(Buffer.from("b"))).kind).toBe("stored");
});
