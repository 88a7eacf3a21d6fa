import type { ByteSource } from "../../ports/transcripts.ts";
import { bytes } from "../../schema/brand.ts";

/** Bytes that are already in memory. `read` returns a view of them, which the caller must not change. */
export const memoryByteSource = (data: Uint8Array): ByteSource => ({
  size: bytes(data.byteLength),
  read: async ({ start, end }) => data.subarray(Math.max(0, start), Math.max(0, end)),
  close: async () => {},
});
