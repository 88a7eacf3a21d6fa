import { isObject, parseJson } from "../schema/json.ts";
import type { ByteRange, ByteSource } from "../ports/transcripts.ts";
import { tailChunkBytes, tornLineParsedBytesMax } from "./limits.ts";

/** How a log ends. `ended`: with a newline; `whole`: the last line only lacks its newline; `torn`: a write was cut short. */
type LogTail = { readonly kind: "ended" } | { readonly kind: "whole" } | ({ readonly kind: "torn" } & ByteRange);

/** Reads backwards from the end, so the cost depends only on the length of the last line. */
export async function readTail(source: ByteSource): Promise<LogTail> {
  const start = await lastLineStart(source);
  const end = source.size;
  if (start === end) return { kind: "ended" };
  if (end - start <= tornLineParsedBytesMax && isWholeObject(await source.read({ start, end })))
    return { kind: "whole" };
  return { kind: "torn", start, end };
}

async function lastLineStart(source: ByteSource): Promise<number> {
  let end: number = source.size;
  while (end > 0) {
    const start = Math.max(0, end - tailChunkBytes);
    const chunk = await source.read({ start, end });
    const newline = chunk.lastIndexOf(0x0a);
    if (newline >= 0) return start + newline + 1;
    end = start;
  }
  return 0;
}

function isWholeObject(line: Uint8Array): boolean {
  try {
    return isObject(parseJson(new TextDecoder("utf-8", { fatal: true }).decode(line)));
  } catch {
    return false;
  }
}

/** The bytes of one write: the line and its newline. After a torn line, a newline that ends that line comes first. */
export function lineBuffer(line: string, before: "line-end" | "torn-line"): Buffer {
  if (line.includes("\n")) throw new TypeError("a transcript line must not contain a newline");
  return Buffer.from(before === "torn-line" ? `\n${line}\n` : `${line}\n`, "utf8");
}
