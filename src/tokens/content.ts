import type { Block } from "../schema/block.ts";
import { type JsonObject, text } from "../schema/json.ts";

/**
 * Bytes of a content by class. Tokenizers differ, but within one class a byte costs about the same wherever it stands,
 * so a rate per class, learned from what the provider counts, estimates well what has not been counted yet.
 */
export interface ByteCounts {
  prose: number;
  code: number;
  json: number;
  cjk: number;
  base64: number;
  emoji: number;
  /** Not bytes: images and documents, each at a flat price. */
  media: number;
}

export type ContentClass = keyof ByteCounts;
export const contentClasses: readonly ContentClass[] = ["prose", "code", "json", "cjk", "base64", "emoji", "media"];

export const noBytes = (): ByteCounts => ({ prose: 0, code: 0, json: 0, cjk: 0, base64: 0, emoji: 0, media: 0 });

/** Written out: a loop over the names would cost several times as much, and this runs for every block that is counted. */
export function addBytes(into: ByteCounts, counts: ByteCounts, times: 1 | -1 = 1): void {
  into.prose += times * counts.prose;
  into.code += times * counts.code;
  into.json += times * counts.json;
  into.cjk += times * counts.cjk;
  into.base64 += times * counts.base64;
  into.emoji += times * counts.emoji;
  into.media += times * counts.media;
}

export function measureBlock(block: Block): ByteCounts {
  const counts = noBytes();
  switch (block.type) {
    case "text":
      measureText(block.text, counts);
      break;
    case "thinking":
      measureText(block.thinking, counts);
      break;
    case "redacted_thinking":
      measureText(block.data, counts);
      break;
    case "tool_use":
      measureText(block.name, counts);
      measureJson(block.input, counts);
      break;
    case "tool_result":
      if (typeof block.content === "string") measureText(block.content, counts);
      else for (const part of block.content ?? []) measurePart(part, counts);
      break;
    case "image":
    case "document":
      counts.media += 1;
      break;
    default:
      measureJson(block, counts);
  }
  return counts;
}

function measurePart(part: JsonObject, counts: ByteCounts): void {
  const inner = part["type"] === "text" ? text(part, "text") : undefined;
  if (part["type"] === "image" || part["type"] === "document") counts.media += 1;
  else if (inner === undefined) measureJson(part, counts);
  else measureText(inner, counts);
}

export function measureText(value: string, counts: ByteCounts): void {
  const { ascii, symbols, other } = scan(value, counts);
  const plain = ascii + other;
  if (symbols > codeSymbolShare * plain) counts.code += plain;
  else counts.prose += plain;
}

export function measureJson(value: object, counts: ByteCounts): void {
  const { ascii, other } = scan(JSON.stringify(value), counts);
  counts.json += ascii + other;
}

/** Code has more signs than prose; between the two lies a gap, and nothing hangs on where in it the line is drawn. */
const codeSymbolShare = 0.07;

/** Longer runs of letters and digits are no words: encoded data, which tokenizers cut into small pieces. */
const base64RunMin = 64;

const word = 1;
const symbol = 2;
const signs = '!"#$%&()*+/:;<=>@[\\]^_`{|}~';
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const sign = String.fromCharCode(code);
  return (/[A-Za-z0-9+/=_-]/.test(sign) ? word : 0) | (signs.includes(sign) ? symbol : 0);
});

interface Scanned {
  readonly ascii: number;
  readonly symbols: number;
  readonly other: number;
}

/** This runs over everything that is ever counted. Most text is ASCII, and that takes a look at a few of its characters. */
function scan(value: string, counts: ByteCounts): Scanned {
  const encoded = encodedLength(value);
  counts.base64 += encoded;
  const symbols = symbolsIn(value);
  const bytes = Buffer.byteLength(value);
  if (bytes - value.length <= value.length * plainExtraShare) return { ascii: bytes - encoded, symbols, other: 0 };
  let ascii = 0;
  let other = 0;
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at);
    if (unit < 0x80) ascii += 1;
    else if (unit >= 0xd800 && unit <= 0xdfff) counts.emoji += 2;
    else if (unit < 0x800) other += 2;
    else if (isWide(unit)) counts.cjk += 3;
    else other += 3;
  }
  return { ascii: ascii - encoded, symbols, other };
}

/** A dash or an accent here and there makes no other language: such text is not looked through sign by sign. */
const plainExtraShare = 0.03;

const isWord = (value: string, at: number): boolean => ((kinds[value.charCodeAt(at)] ?? 0) & word) !== 0;

/** A run that is long enough covers a place that is a multiple of its least length, so only those are looked at. */
function encodedLength(value: string): number {
  let encoded = 0;
  for (let at = base64RunMin - 1; at < value.length; at += base64RunMin) {
    if (!isWord(value, at)) continue;
    let from = at;
    let to = at + 1;
    while (from > 0 && isWord(value, from - 1)) from -= 1;
    while (to < value.length && isWord(value, to)) to += 1;
    if (to - from >= base64RunMin && isEncoded(value.slice(from, from + base64RunMin))) encoded += to - from;
    at += Math.floor((to - 1 - at) / base64RunMin) * base64RunMin;
  }
  return encoded;
}

/** Rules of dashes and long paths are runs too; encoded data mixes letters and digits. */
const isEncoded = (run: string): boolean =>
  /[A-Za-z]/.test(run) && (/\d/.test(run) || (/[a-z]/.test(run) && /[A-Z]/.test(run)));

/** Signs in the whole text, from a sample of it. */
function symbolsIn(value: string): number {
  const step = Math.max(1, Math.floor(value.length / symbolSampleChars));
  let symbols = 0;
  for (let at = 0; at < value.length; at += step) if (((kinds[value.charCodeAt(at)] ?? 0) & symbol) !== 0) symbols += 1;
  return symbols * step;
}

const symbolSampleChars = 300;

/** Han, kana, hangul and their full-width signs: about one token a character. */
const isWide = (unit: number): boolean => (unit >= 0x2e80 && unit <= 0xd7ff) || (unit >= 0xf900 && unit <= 0xffef);
