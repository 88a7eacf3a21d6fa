import { bytes } from "../schema/brand.ts";

/** A document is built in memory, about four times the log; beyond this JSONL, which is streamed, is the way. */
export const documentLogBytesMax = bytes(512 * 1024 * 1024);
