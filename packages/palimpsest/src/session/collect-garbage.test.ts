import { expect, it } from "vitest";
import { sourceOf } from "../../../../test/fixture/log.ts";
import { type BlobId, blobId, bytes } from "../schema/brand.ts";
import { findReferences, KnownBlobs } from "./collect-garbage.ts";

const id = blobId("0123456789abcdef".repeat(3) + "fedcba9876543210");
const known = new KnownBlobs([id]);
const found = async (text: string): Promise<BlobId[]> => [
  ...(await findReferences(sourceOf(Buffer.from(text)), known)),
];

it.each([
  ["in a whole line", `{"blob":"${id}"}\n`],
  ["in a torn line", `{"blob":"${id}`],
  ["torn in the middle of it", `{"blob":"${id.slice(0, 20)}`],
  ["with its beginning overwritten", `\0\0\0${id.slice(30)}"}`],
  ["behind other digits", `ff${id}00`],
  ["in capitals", id.toUpperCase()],
])("an id is found %s", async (_, text) => {
  expect(await found(text)).toEqual([id]);
});

it("shorter pieces and other ids name nothing", async () => {
  expect(await found(id.slice(0, 15))).toEqual([]);
  expect(await found("e".repeat(64))).toEqual([]);
});

it("an id that lies across two reads is found", async () => {
  const data = Buffer.from(`${"x".repeat(40)}${id}${"y".repeat(40)}`);
  for (let step = 1; step < 70; step += 7) {
    const source = {
      ...sourceOf(data),
      size: bytes(data.length),
      read: async ({ start }: { start: number }) => data.subarray(start, start + step),
    };
    expect([...(await findReferences(source, known))]).toEqual([id]);
  }
});
