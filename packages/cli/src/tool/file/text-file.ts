import { sniffBytesMax } from "../limits.ts";
import { plural } from "palimpsest/internal/text/format-count";

/** `1 line`, `2 lines`: for the model, which gets numbers without separators. */
export const countWithNoun = (
  count: number,
  noun: "byte" | "character" | "file" | "line" | "match" | "more line",
): string => `${count} ${plural(count, noun)}`;

/**
 * A text file for editing: without its byte order mark, and with `\
 * ` only if the line breaks can be restored exactly.
 */
export interface TextFile {
  readonly text: string;
  readonly mark: "" | "\uFEFF";
  /** `mixed`: the file has both kinds, and `text` keeps them as they are. */
  readonly breaks: "\n" | "\r\n" | "mixed";
}

/** Undefined if it is not UTF-8 text. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  if (bytes.subarray(0, sniffBytesMax).includes(0)) return undefined;
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const mark = whole.startsWith("\uFEFF") ? "\uFEFF" : "";
  const text = whole.slice(mark.length);
  if (!text.includes("\r")) return { text, mark, breaks: "\n" };
  const withoutCrlf = text.replaceAll("\r\n", "");
  if (withoutCrlf.includes("\r") || withoutCrlf.includes("\n")) return { text, mark, breaks: "mixed" };
  return { text: text.replaceAll("\r\n", "\n"), mark, breaks: "\r\n" };
}

export function encodeText({ text, mark, breaks }: TextFile): Buffer {
  return Buffer.from(mark + (breaks === "\r\n" ? text.replaceAll(/\r?\n/g, "\r\n") : text), "utf8");
}

/** Without the empty line after the last line break. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export const numberLine = (number: number, line: string): string => `${String(number).padStart(6)}\t${line}`;

export const formatSize = (bytes: number): string =>
  bytes < 1_024
    ? countWithNoun(bytes, "byte")
    : bytes < 2 ** 20
      ? `${(bytes / 1_024).toFixed(1)} KB`
      : `${(bytes / 2 ** 20).toFixed(1)} MB`;
