import { expect, it } from "vitest";
import type { ByteSource } from "../ports/transcripts.ts";
import { bytes } from "../schema/brand.ts";
import { tailChunkBytes } from "./limits.ts";
import { readTail } from "./log-tail.ts";

const sourceOf = (data: Uint8Array): ByteSource => ({
  size: bytes(data.byteLength),
  read: async ({ start, end }) => data.subarray(start, end),
  close: async () => undefined,
});

it("tells ended, whole and torn apart wherever the log is cut", async () => {
  const first = Buffer.from('{"a":"ä€𝄞","b":{"c":[1]}}\n');
  const log = Buffer.concat([first, Buffer.from('{"d":"}"}\n')]);
  for (let cut = 0; cut <= log.byteLength; cut += 1) {
    const start = cut < first.byteLength ? 0 : first.byteLength;
    const ended = cut === 0 || cut === first.byteLength || cut === log.byteLength;
    const whole = cut === first.byteLength - 1 || cut === log.byteLength - 1;
    const expected = ended ? { kind: "ended" } : whole ? { kind: "whole" } : { kind: "torn", start, end: cut };
    expect(await readTail(sourceOf(log.subarray(0, cut))), `cut at ${cut}`).toEqual(expected);
  }
});

it.each([-1, 0, 1])("finds a last line of %i bytes more than one step of the search", async (more) => {
  const torn = Buffer.alloc(tailChunkBytes + more, "x");
  const log = Buffer.concat([Buffer.from("{}\n"), torn]);
  expect(await readTail(sourceOf(log))).toEqual({ kind: "torn", start: 3, end: log.byteLength });
});

it("does not parse a last line that is too long for that", async () => {
  const lengths: number[] = [];
  const size = 48 * 1024 * 1024;
  const read: ByteSource["read"] = async ({ start, end }) => {
    lengths.push(end - start);
    return Buffer.alloc(end - start, "x");
  };
  expect(await readTail({ size: bytes(size), read, close: async () => undefined })).toMatchObject({
    kind: "torn",
    start: 0,
  });
  expect(Math.max(...lengths)).toBeLessThanOrEqual(tailChunkBytes);
});
