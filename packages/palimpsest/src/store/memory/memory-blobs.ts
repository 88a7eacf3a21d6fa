import { createHash } from "node:crypto";
import { type BlobId, blobId, bytes } from "../../schema/brand.ts";
import type { Blobs, WriteFailure } from "../../ports/blobs.ts";
import type { ByteSource } from "../../ports/transcripts.ts";

export function memoryBlobs(options: { readonly faultAt?: FaultAt } = {}): Blobs {
  const dataById = new Map<BlobId, Uint8Array>();
  let writes = 0;
  return {
    put: async (data) => {
      const id = blobId(createHash("sha256").update(data).digest("hex"));
      if (dataById.has(id)) return { kind: "stored", id };
      const fault = options.faultAt?.(writes++);
      if (fault !== undefined) return faultFailure(fault);
      dataById.set(id, Uint8Array.from(data));
      return { kind: "stored", id };
    },
    get: async (id) => dataById.get(id)?.slice(),
    list: async () => [...dataById.keys()].toSorted(),
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
