import { type Block, compactionBlockText } from "../schema/block.ts";
import { type JsonObject, textField } from "../schema/json.ts";
import { encodedChangeShare, encodedRunMin, judgedCharsMax } from "./limits.ts";

/**
 * Bytes of a content by class. Tokenizers differ, but within one class a byte costs about the same wherever it stands,
 * so a rate per class, learned from what the provider counts, estimates well what has not been counted yet.
 */
export interface ByteCounts {
  prose: number;
  code: number;
  /** Digits and the signs beside them: tokenizers cut numbers into threes, and what parts them is a token of its own. */
  numbers: number;
  json: number;
  cjk: number;
  base64: number;
  emoji: number;
  /** Not bytes: images and documents, each at a flat price. */
  media: number;
  /** Not bytes: the tokens of all of it by a tokenizer of the caller's; 0 if there is none. */
  counted: number;
}

export type ContentClass = keyof ByteCounts;
export const contentClasses: readonly ContentClass[] = [
  "prose",
  "code",
  "numbers",
  "json",
  "cjk",
  "base64",
  "emoji",
  "media",
  "counted",
];

export const noBytes = (): ByteCounts => ({
  prose: 0,
  code: 0,
  numbers: 0,
  json: 0,
  cjk: 0,
  base64: 0,
  emoji: 0,
  media: 0,
  counted: 0,
});

/** Written out: a loop over the names would cost several times as much, and this runs for every block that is counted. */
export function addBytes(into: ByteCounts, counts: ByteCounts, times: 1 | -1 = 1): void {
  into.prose += times * counts.prose;
  into.code += times * counts.code;
  into.numbers += times * counts.numbers;
  into.json += times * counts.json;
  into.cjk += times * counts.cjk;
  into.base64 += times * counts.base64;
  into.emoji += times * counts.emoji;
  into.media += times * counts.media;
  into.counted += times * counts.counted;
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
    case "compaction":
      // Its signature is for the server, not for the model.
      measureText(compactionBlockText(block) ?? "", counts);
      break;
    default:
      measureJson(block, counts);
  }
  return counts;
}

function measurePart(part: JsonObject, counts: ByteCounts): void {
  const inner = part["type"] === "text" ? textField(part, "text") : undefined;
  if (part["type"] === "image" || part["type"] === "document") counts.media += 1;
  else if (inner === undefined) measureJson(part, counts);
  else measureText(inner, counts);
}

export function measureText(value: string, counts: ByteCounts): void {
  const { ascii, other, unencoded } = scan(value, counts);
  const { symbols, numbers } = sampleText(unencoded);
  const inNumbers = Math.min(numbers, ascii);
  const plain = ascii + other - inNumbers;
  counts.numbers += inNumbers;
  if (symbols > codeSymbolShare * (ascii + other)) counts.code += plain;
  else counts.prose += plain;
}

function measureJson(value: object, counts: ByteCounts): void {
  const { ascii, other } = scan(JSON.stringify(value), counts);
  counts.json += ascii + other;
}

/** Code has more signs than prose; between the two lies a gap, and nothing hangs on where in it the line is drawn. */
const codeSymbolShare = 0.07;

const word = 1;
const symbol = 2;
const digit = 4;
const signs = '!"#$%&()*+/:;<=>@[\\]^_`{|}~';
/** Of every UTF-16 unit: looked up without asking for a bound, which would cost a fifth of the scan. Only ASCII has any. */
const kinds = new Uint8Array(0x10000);
for (let code = 0; code < 0x80; code += 1) {
  const sign = String.fromCharCode(code);
  const isWordSign = /[A-Za-z0-9+/=_-]/.test(sign);
  kinds[code] = (isWordSign ? word : 0) | (signs.includes(sign) ? symbol : 0) | (/\d/.test(sign) ? digit : 0);
}

interface ScanResult {
  readonly ascii: number;
  readonly other: number;
  /** The text without its encoded data. */
  readonly unencoded: string;
}

/** This runs over everything that is ever counted. Most text is ASCII, and that takes a look at a few of its characters. */
function scan(value: string, counts: ByteCounts): ScanResult {
  const unencoded = withoutEncoded(value);
  const encoded = value.length - unencoded.length;
  counts.base64 += encoded;
  const bytes = Buffer.byteLength(value);
  if (bytes - value.length <= value.length * plainExtraShare) return { ascii: bytes - encoded, other: 0, unencoded };
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
  return { ascii: ascii - encoded, other, unencoded };
}

/** A dash or an accent here and there makes no other language: such text is not looked through sign by sign. */
const plainExtraShare = 0.03;

const unitKind = (unit: number): number => kinds[unit] ?? 0;
const isWord = (value: string, at: number): boolean => (unitKind(value.charCodeAt(at)) & word) !== 0;

/** Looks at a possible run from its end: the first sign that is none of it, a few places back, rules out all before. */
function withoutEncoded(value: string): string {
  let kept = "";
  let keptTo = 0;
  let from = 0;
  while (from + encodedRunMin <= value.length) {
    let at = from + encodedRunMin - 1;
    while (at >= from && isWord(value, at)) at -= 1;
    if (at >= from) {
      from = at + 1;
      continue;
    }
    let to = from + encodedRunMin;
    while (to < value.length && isWord(value, to)) to += 1;
    if (isEncoded(value, { from, to: Math.min(to, from + judgedCharsMax) })) {
      kept += value.slice(keptTo, from);
      keptTo = to;
    }
    from = to + 1;
  }
  return keptTo === 0 ? value : kept + value.slice(keptTo);
}

/**
 * Rules of dashes, paths and long names are runs too. Encoded data goes from digits to letters and from small letters
 * to capitals at every other character, words at every sixth. From a capital to small letters is how a word begins: it
 * tells nothing.
 */
function isEncoded(value: string, { from, to }: { readonly from: number; readonly to: number }): boolean {
  let changes = 0;
  let alphanumerics = 0;
  let before = 0;
  for (let at = from; at < to; at += 1) {
    const here = alphanumericKind(value.charCodeAt(at));
    if (here === 0) continue;
    alphanumerics += 1;
    if (before !== 0 && here !== before && !(before === capital && here === small)) changes += 1;
    before = here;
  }
  return changes > encodedChangeShare * alphanumerics;
}

const small = 1;
const capital = 2;
const digitKind = 3;

function alphanumericKind(unit: number): number {
  if (unit >= 0x61) return unit <= 0x7a ? small : 0;
  if (unit >= 0x41) return unit <= 0x5a ? capital : 0;
  return unit >= 0x30 && unit <= 0x39 ? digitKind : 0;
}

interface Sample {
  readonly symbols: number;
  readonly numbers: number;
}

/** How many signs and bytes of numbers a whole text has, from a look at some places of it. */
function sampleText(value: string): Sample {
  const last = value.length - placeChars - 1;
  if (last < 1) return { symbols: 0, numbers: /\d/.test(value) ? value.length : 0 };
  const places = Math.min(placesMax, Math.ceil(value.length / placeChars));
  // In step with no line length, and all over the text.
  const stride = Math.ceil(last * goldenShare);
  let symbols = 0;
  let apart = 0;
  for (let place = 0, from = 1; place < places; place += 1) {
    let before = unitKind(value.charCodeAt(from - 1));
    let here = unitKind(value.charCodeAt(from));
    // Never looks behind either end: one such look makes every later one several times slower.
    for (let at = from; at < from + placeChars; at += 1) {
      const behind = unitKind(value.charCodeAt(at + 1));
      symbols += here & symbol;
      if ((before | here | behind) < digit) apart += 1;
      before = here;
      here = behind;
    }
    from += stride;
    if (from > last) from -= last;
  }
  const seen = places * placeChars;
  const each = value.length / seen;
  return { symbols: (symbols / symbol) * each, numbers: Math.round((seen - apart) * each) };
}

const placesMax = 75;
const placeChars = 4;
/** Multiples of it, taken round, leave the most even gaps. */
const goldenShare = 0.618034;

/** Han, kana, hangul and their full-width signs: about one token a character. */
const isWide = (unit: number): boolean => (unit >= 0x2e80 && unit <= 0xd7ff) || (unit >= 0xf900 && unit <= 0xffef);
