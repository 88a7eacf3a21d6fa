import type { Got } from "./get.ts";
import { htmlText } from "./html-text.ts";
import { inSlices, type Steps } from "./in-slices.ts";
import { htmlCharsMax, textCharsMax, textPieceChars } from "./limits.ts";
import type { Page } from "./page-cache.ts";

export type Readable =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "no-text"; readonly what: string };

/** A body as text; what is no text is named. Others of the process go on meanwhile. */
export const readable = (body: Extract<Got, { kind: "body" }>): Promise<Readable> => inSlices(reading(body));

function* reading({ url, contentType, bytes }: Extract<Got, { kind: "body" }>): Steps<Readable> {
  const type = /^[^;\s]*/.exec(contentType.trim())?.[0].toLowerCase() ?? "";
  const form = formOf(type, bytes);
  if (form === undefined) return { kind: "no-text", what: type === "" ? "binary data" : type };
  const source = yield* textOf(contentType, bytes);
  const charsMax = form === "html" ? htmlCharsMax : textCharsMax;
  const start = source.length > charsMax ? source.slice(0, charsMax).toWellFormed() : source;
  yield;
  const { title, text } = form === "html" ? yield* htmlText(start, url) : { title: undefined, text: start };
  yield;
  const shown = yield* visible(text);
  const note = `\n\n[The page goes on: only the first ${charsMax} characters of its source were read.]`;
  const page = {
    url,
    title: title && (yield* visible(title)),
    text: source.length > charsMax ? `${shown}${note}` : shown,
  };
  return { kind: "page", page };
}

function formOf(type: string, bytes: Uint8Array): "html" | "plain" | undefined {
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type === "") {
    const start = new TextDecoder().decode(bytes.subarray(0, sniffedBytes));
    if (start.includes("\0")) return undefined;
    return /^\s*<(?:!doctype html|html)\b/i.test(start) ? "html" : "plain";
  }
  return /^text\/|[/+](?:json|xml|javascript|ecmascript|yaml|toml|x-yaml|x-ndjson|x-sh)$/.test(type)
    ? "plain"
    : undefined;
}

const sniffedBytes = 1_024;

/** By the header's word, else by the page's own near its start. */
function* textOf(contentType: string, bytes: Uint8Array): Steps<string> {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, sniffedBytes));
  const named = charset.exec(contentType)?.[1] ?? charset.exec(start)?.[1] ?? "utf-8";
  const decoder = decoderFor(named);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += textPieceChars) {
    pieces.push(decoder.decode(bytes.subarray(at, at + textPieceChars), { stream: true }));
    yield;
  }
  return `${pieces.join("")}${decoder.decode()}`;
}

function decoderFor(named: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(named);
  } catch (error) {
    // A name that nobody knows.
    if (!(error instanceof RangeError)) throw error;
    return new TextDecoder();
  }
}

const charset = /\bcharset\s{0,5}=\s{0,5}["']?([\w.:-]{1,40})/i;

/** Without what a person would not see and a model would: controls, directions, invisible letters. */
function* visible(text: string): Steps<string> {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + textPieceChars);
    // Neither a letter of two halves nor a line end of two signs is cut.
    if (/[\r\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    pieces.push(text.slice(at, end).replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll(invisible, ""));
    at = end;
    yield;
  }
  return pieces.join("");
}

/** But for joiners, without which some scripts are spelt otherwise. */
const invisible = /[[\p{Cc}\p{Default_Ignorable_Code_Point}]--[\n\t\u200C\u200D]]/gv;
