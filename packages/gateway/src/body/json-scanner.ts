import { depthMax } from "./limits.ts";

/** What every function here returns if the bytes are not JSON. */
export const invalid = -1;

export const [quote, comma] = [0x22, 0x2c];
export const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];
const [colon, backslash, minus, plus, dot, zero, nine] = [0x3a, 0x5c, 0x2d, 0x2b, 0x2e, 0x30, 0x39];

/**
 * Finds where JSON values end in UTF-8 bytes, without making them. As strict as `JSON.parse` of the decoded text; bytes that
 * are no UTF-8 are allowed in strings, where decoding replaces them. Values nested deeper than `depthMax` are invalid.
 */
export class JsonScanner {
  readonly #bytes: Uint8Array;
  /** What is open at each depth: its closing byte. */
  readonly #closers = new Uint8Array(depthMax + 1);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** `at` is the first byte of a value. Returns the offset after it. */
  skipValue(at: number): number {
    const bytes = this.#bytes;
    const closers = this.#closers;
    let depth = 0;
    for (;;) {
      const first = bytes[at];
      if (first === openBrace || first === openBracket) {
        const closer = first + 2;
        at = skipSpace(bytes, at + 1);
        if (bytes[at] === closer) at += 1;
        else {
          if (depth === depthMax) return invalid;
          depth += 1;
          closers[depth] = closer;
          if (closer === closeBrace) at = skipKey(bytes, at);
          if (at === invalid) return invalid;
          continue;
        }
      } else at = skipScalar(bytes, at);
      // After a value: close what ends here, until another value follows.
      for (;;) {
        if (at === invalid || depth === 0) return at;
        at = skipSpace(bytes, at);
        const next = bytes[at];
        if (next === comma) {
          at = skipSpace(bytes, at + 1);
          if (closers[depth] === closeBrace) at = skipKey(bytes, at);
          if (at === invalid) return invalid;
          break;
        }
        if (next !== closers[depth]) return invalid;
        depth -= 1;
        at += 1;
      }
    }
  }
}

export function skipSpace(bytes: Uint8Array, at: number): number {
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab) break;
  }
  return at;
}

/** `at` is the first byte of a member's name. Returns the first byte of its value. */
function skipKey(bytes: Uint8Array, at: number): number {
  const end = skipString(bytes, at);
  return end === invalid ? invalid : skipColon(bytes, end);
}

/** `at` is after a member's name. Returns the first byte of its value. */
export function skipColon(bytes: Uint8Array, at: number): number {
  const colonAt = skipSpace(bytes, at);
  return bytes[colonAt] === colon ? skipSpace(bytes, colonAt + 1) : invalid;
}

/** `at` should be the quote that opens a string. */
export function skipString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return invalid;
  const { length } = bytes;
  at += 1;
  while (at < length) {
    const byte = bytes[at];
    if (byte === backslash) {
      const width = escapeWidths[bytes[at + 1] ?? 0];
      if (width !== simpleEscape && (width !== unicodeEscape || !areHexDigits(bytes, at + 2))) return invalid;
      at += width;
    } else if (byte === quote) return at + 1;
    else if (byte === undefined || byte < space) return invalid;
    else at += 1;
  }
  return invalid;
}

const [simpleEscape, unicodeEscape] = [2, 6];
/** Bytes of an escape, by the byte after the backslash; 0 if there is none with it. */
const escapeWidths = new Uint8Array(256);
for (const character of '"\\/bfnrt') escapeWidths[character.charCodeAt(0)] = simpleEscape;
escapeWidths["u".charCodeAt(0)] = unicodeEscape;

function areHexDigits(bytes: Uint8Array, at: number): boolean {
  for (let digit = at; digit < at + 4; digit += 1) if (!isHexDigit(bytes[digit])) return false;
  return true;
}

function isHexDigit(byte: number | undefined): boolean {
  if (isDigit(byte)) return true;
  const lowerCase = (byte ?? 0) | 0x20;
  return lowerCase >= 0x61 && lowerCase <= 0x66;
}

function skipScalar(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === quote) return skipString(bytes, at);
  for (const literal of literals) if (first === literal[0]) return skipLiteral(bytes, at, literal);
  return skipNumber(bytes, at);
}

const literals: readonly Uint8Array[] = ["true", "false", "null"].map((text) => Buffer.from(text));

function skipLiteral(bytes: Uint8Array, at: number, literal: Uint8Array): number {
  return literal.every((byte, index) => bytes[at + index] === byte) ? at + literal.length : invalid;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === minus) at += 1;
  // A number has no digits after a leading zero: what follows is then refused by the caller.
  at = bytes[at] === zero ? at + 1 : skipDigits(bytes, at);
  if (at !== invalid && bytes[at] === dot) at = skipDigits(bytes, at + 1);
  if (at === invalid || ((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, sign === plus || sign === minus ? at + 2 : at + 1);
}

/** Skips one or more digits. */
function skipDigits(bytes: Uint8Array, at: number): number {
  if (!isDigit(bytes[at])) return invalid;
  while (isDigit(bytes[at])) at += 1;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}
