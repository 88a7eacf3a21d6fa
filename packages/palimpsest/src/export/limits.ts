import { bytes } from "../schema/brand.ts";

/** A document takes about four times the log's size in memory; a larger log can be exported as JSONL, which is streamed. */
export const documentLogBytesMax = bytes(512 * 1024 * 1024);
