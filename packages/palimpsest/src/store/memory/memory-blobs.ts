import { createHash } from "node:crypto";
import { type BlobId, blobId, bytes, type Millis, millis } from "../../schema/brand.ts";
import type { Blobs, WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ByteSource } from "../../ports/transcripts.ts";

interface MemoryBlobsOptions {
  readonly faultAt?: FaultAt;
  /** The blobs themselves, for a caller that also deletes them. */
  readonly kept?: Map<BlobId, MemoryBlob>;
  /** Absent: every blob counts as put long ago. */
  readonly now?: ClockDep["now"];
}

export interface MemoryBlob {
  readonly data: Uint8Array;
  /** When it was last put. */
  readonly putAt: Millis;
}

export function memoryBlobs({ faultAt, kept = new Map(), now }: MemoryBlobsOptions = {}): Blobs {
  let writes = 0;
  return {
    put: async (data) => {
      const id = blobId(createHash("sha256").update(data).digest("hex"));
      const known = kept.get(id);
      const fault = known === undefined ? faultAt?.(writes++) : undefined;
      if (fault !== undefined) return faultFailure(fault);
      kept.set(id, { data: known?.data ?? Uint8Array.from(data), putAt: now?.() ?? millis(0) });
      return { kind: "stored", id };
    },
    get: async (id) => kept.get(id)?.data.slice(),
    list: async () => [...kept.keys()].toSorted(),
  };
}

/** A write failure that a test injects. The first `keptBytes` are written all the same, as on a full disk. */
export interface Fault {
  readonly why: WriteFailure["why"];
  readonly keptBytes?: number;
}

/** Called before each write of the store, counted from 0; undefined lets the write succeed. */
export type FaultAt = (write: number) => Fault | undefined;

/** The nth write (from 0) fails and every other one succeeds. */
export const faultOnce =
  (nth: number, fault: Fault): FaultAt =>
  (write) =>
    write === nth ? fault : undefined;

export const faultFailure = (fault: Fault): WriteFailure => ({
  kind: "failed",
  why: fault.why,
  message: `The write was refused (${fault.why}): an injected fault.`,
});

/** Bytes that are already in memory. `read` returns a view of them, which the caller must not change. */
export const memoryByteSource = (data: Uint8Array): ByteSource => ({
  size: bytes(data.byteLength),
  read: async ({ start, end }) => data.subarray(Math.max(0, start), Math.max(0, end)),
  close: async () => {},
});
