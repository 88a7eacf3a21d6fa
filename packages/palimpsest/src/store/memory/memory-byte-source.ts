import type { ByteSource } from "../../ports/transcripts.ts";
import { bytes } from "../../schema/brand.ts";

/** Bytes that are in memory already. What is read is a view of them: nobody may write into it. */
export const memoryByteSource = (data: Uint8Array): ByteSource => ({
  size: bytes(data.byteLength),
  read: async ({ start, end }) => data.subarray(Math.max(0, start), Math.max(0, end)),
  close: async () => {},
});
