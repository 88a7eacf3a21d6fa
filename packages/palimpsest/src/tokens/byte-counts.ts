import { type Block, compactionBlockText } from "../schema/block.ts";
import { type JsonObject, textField } from "../schema/json.ts";
import { encodedChangeShare, encodedRunMin, judgedCharsMax } from "./limits.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { Item } from "../transcript/item.ts";

/**
 * Bytes of content by class. Tokenizers differ, but within one class a byte always costs about the same. So a rate per
 * class, learned from the provider's counts, gives good estimates of what has not been counted yet.
 */
export interface ByteCounts {
  prose: number;
  code: number;
  /** Digits and their neighbours: tokenizers split numbers into groups of three, and each separator is a token of its own. */
  numbers: number;
  json: number;
  cjk: number;
  base64: number;
  emoji: number;
  /** Not bytes: the number of images and documents, each with a flat cost. */
  media: number;
  /** Not bytes: the tokens of the whole content by the caller's tokenizer; 0 if there is none. */
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

/** Unrolled by hand: a loop over the names would cost several times as much, and this runs for every block that is counted. */
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

/** Code has more symbols than prose. There is a gap between the two, so the exact value does not matter. */
const codeSymbolShare = 0.07;

const word = 1;
const symbol = 2;
const digit = 4;
const symbols = '!"#$%&()*+/:;<=>@[\\]^_`{|}~';
/**
 * A table of all UTF-16 units, so that a look-up needs no bounds check, which would cost a fifth of the scan. Only
 * ASCII units have a kind.
 */
const kinds = new Uint8Array(0x10000);
for (let code = 0; code < 0x80; code += 1) {
  const character = String.fromCharCode(code);
  const isWordCharacter = /[A-Za-z0-9+/=_-]/.test(character);
  kinds[code] =
    (isWordCharacter ? word : 0) | (symbols.includes(character) ? symbol : 0) | (/\d/.test(character) ? digit : 0);
}

interface ScanResult {
  readonly ascii: number;
  readonly other: number;
  /** The text without its encoded data. */
  readonly unencoded: string;
}

/** Runs over everything that is ever counted. Most text is ASCII and takes a path that reads only some of its characters. */
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

/** Text with only an occasional dash or accent is not scanned character by character. */
const plainExtraShare = 0.03;

const unitKind = (unit: number): number => kinds[unit] ?? 0;
const isWord = (value: string, at: number): boolean => (unitKind(value.charCodeAt(at)) & word) !== 0;

/** Checks each possible run from its end: a character that can't be part of it rules out every run that contains it. */
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
 * Rows of dashes, paths and long names are runs too. Encoded data changes between digits, lower case and upper case at
 * every other character, words at every sixth. A change from upper to lower case does not count: words begin like that.
 */
function isEncoded(value: string, { from, to }: { readonly from: number; readonly to: number }): boolean {
  let changes = 0;
  let alphanumerics = 0;
  let before = 0;
  for (let at = from; at < to; at += 1) {
    const here = alphanumericKind(value.charCodeAt(at));
    if (here === 0) continue;
    alphanumerics += 1;
    if (before !== 0 && here !== before && !(before === upperCase && here === lowerCase)) changes += 1;
    before = here;
  }
  return changes > encodedChangeShare * alphanumerics;
}

const lowerCase = 1;
const upperCase = 2;
const digitKind = 3;

function alphanumericKind(unit: number): number {
  if (unit >= 0x61) return unit <= 0x7a ? lowerCase : 0;
  if (unit >= 0x41) return unit <= 0x5a ? upperCase : 0;
  return unit >= 0x30 && unit <= 0x39 ? digitKind : 0;
}

/** Estimates the number of symbols and of bytes of numbers in a text from samples of it. */
function sampleText(value: string): { readonly symbols: number; readonly numbers: number } {
  const last = value.length - sampleChars - 1;
  if (last < 1) return { symbols: 0, numbers: /\d/.test(value) ? value.length : 0 };
  const samples = Math.min(samplesMax, Math.ceil(value.length / sampleChars));
  // Spreads the samples over the text without falling into step with its line length.
  const stride = Math.ceil(last * goldenShare);
  let symbolSum = 0;
  let awayFromDigits = 0;
  for (let sample = 0, from = 1; sample < samples; sample += 1) {
    let before = unitKind(value.charCodeAt(from - 1));
    let here = unitKind(value.charCodeAt(from));
    // Never reads past either end: one such access makes every later one several times slower.
    for (let at = from; at < from + sampleChars; at += 1) {
      const after = unitKind(value.charCodeAt(at + 1));
      symbolSum += here & symbol;
      if ((before | here | after) < digit) awayFromDigits += 1;
      before = here;
      here = after;
    }
    from += stride;
    if (from > last) from -= last;
  }
  const sampledChars = samples * sampleChars;
  const weight = value.length / sampledChars;
  return {
    symbols: (symbolSum / symbol) * weight,
    numbers: Math.round((sampledChars - awayFromDigits) * weight),
  };
}

const samplesMax = 75;
const sampleChars = 4;
/** The golden ratio: its multiples modulo 1 are spread most evenly. */
const goldenShare = 0.618034;

/** Han, kana, hangul and full-width characters: about one token each. */
const isWide = (unit: number): boolean => (unit >= 0x2e80 && unit <= 0xd7ff) || (unit >= 0xf900 && unit <= 0xffef);

/**
 * Where the tokens of a view come from. Some names have a kind after a dot: `results.Read`, `attachments.file`. The
 * fixed part (system prompt, tools, what a client sends and never logs) is in no block; the report adds it.
 */
export interface CategoryCount {
  readonly bytes: ByteCounts;
  blocks: number;
}

/** Bytes by category, kept up to date block by block. */
export class CategoryBytes {
  readonly counts = new Map<string, CategoryCount>();
  readonly #categoryByBlock = new WeakMap<Block, string>();
  readonly #toolByCall = new Map<ToolUseId, string>();

  reset(): void {
    this.counts.clear();
    this.#toolByCall.clear();
  }

  add(block: Block, bytes: ByteCounts, item: Item | undefined): void {
    if (block.type === "tool_use") this.#toolByCall.set(block.id, block.name);
    const category = this.#categorize(block, item);
    this.#categoryByBlock.set(block, category);
    this.#change(category, bytes, 1);
  }

  remove(block: Block, bytes: ByteCounts): void {
    this.#change(this.#categoryByBlock.get(block) ?? "other", bytes, -1);
  }

  #change(category: string, bytes: ByteCounts, times: 1 | -1): void {
    const known = this.counts.get(category) ?? { bytes: noBytes(), blocks: 0 };
    addBytes(known.bytes, bytes, times);
    known.blocks += times;
    if (known.blocks === 0) this.counts.delete(category);
    else this.counts.set(category, known);
  }

  #categorize(block: Block, item: Item | undefined): string {
    switch (block.type) {
      case "tool_use":
        return `requests.${block.name}`;
      case "tool_result":
        return `results.${this.#toolByCall.get(block.tool_use_id) ?? "unknown"}`;
      case "thinking":
      case "redacted_thinking":
        return "thinking";
      case "text":
        return textCategory(block.text, item);
      default:
        return "other";
    }
  }
}

const localCommand = /<local-command-(?:stdout|stderr)>/;

function textCategory(text: string, item: Item | undefined): string {
  if (item?.role === "assistant") return "assistant";
  if (item?.instructions === true) return "instructions";
  if (item?.attachment !== undefined) return `attachments.${item.attachment}`;
  if (item?.summary === true) return "summary";
  return localCommand.test(text) ? "localCommandOutput" : "human";
}
