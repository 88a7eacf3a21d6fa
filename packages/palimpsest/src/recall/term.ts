/**
 * The terms of a text: what a query and a text must share for one to find the other. For `src/loop/scanForward.ts` these
 * are
 *
 *   parts      src · loop · scan · forward · ts      cut at capitals and underscores
 *   words      scanforward                           letters, digits, underscores
 *   names      scanforward.ts                        words joined by a dot, hyphen or @
 *   paths      src/loop/scanforward.ts               names joined by a slash
 *
 * each only if it is longer than the one above it. Case and accents do not count. Scripts written without spaces yield
 * every character and every pair of adjacent characters.
 *
 * A term is a hash of 32 bits: a string for each of a million terms would cost more than all the rest. One query word in
 * 40,000 has the hash of another word of a large session (100,000 terms); then one text too many is found.
 */
export type Term = number;

/** `end` is where the term ends in the text. */
type OnTerm = (term: Term, end: number) => void;

/** Calls `onTerm` for each term, in the order in which they end. */
export function eachTerm(
  { text, from = 0, to = text.length }: { readonly text: string; readonly from?: number; readonly to?: number },
  onTerm: OnTerm,
): void {
  const reader = new TermReader(text, onTerm);
  reader.read(from, to);
}

/** The distinct terms, in the order in which they first end. */
export function collectTerms(text: string): readonly Term[] {
  const terms = new Set<Term>();
  eachTerm({ text }, (term) => terms.add(term));
  return [...terms];
}

/**
 * Names and paths grow word by word; anything but a single joint or slash between two words ends both. Allocates no
 * object per word: there are hundreds of thousands, and most of the cost of a search is here.
 */
class TermReader {
  readonly #text: string;
  readonly #onTerm: OnTerm;
  /** Hash of the word that was read last. */
  #word: Term = 0;
  #name: Term = 0;
  #words = 0;
  #path: Term = 0;
  #names = 0;
  #end = 0;
  #isBehindJoint = false;

  constructor(text: string, onTerm: OnTerm) {
    this.#text = text;
    this.#onTerm = onTerm;
  }

  read(from: number, to: number): void {
    const text = this.#text;
    for (let at = from; at < to;) {
      const kind = charKind(text.charCodeAt(at));
      if (kind === other) {
        if (this.#words + this.#names > 0) this.#endPath();
        at += 1;
      } else if (kind === joint || kind === slash) {
        this.#join(kind);
        at += 1;
      } else if (kind === unspaced) {
        this.#endPath();
        at = this.#readUnspaced(at, to);
      } else {
        at = this.#readWord(at, to);
        this.#addWord(at);
      }
    }
    this.#endPath();
  }

  /**
   * Reads a word from its first character and returns its end. Reports its parts and, if there are several, the whole.
   */
  #readWord(from: number, to: number): number {
    const text = this.#text;
    let part = hashSeed;
    let parts = 0;
    let partStart = from;
    let before = other;
    let at = from;
    for (; at < to; at += 1) {
      const code = text.charCodeAt(at);
      const kind = charKind(code);
      if (kind === small) part = code < 0x80 ? Math.imul(part ^ code, hashPrime) : hashStep(part, code);
      else if (kind === capital || kind === underscore) {
        if (kind === underscore || before === small || isSmallLetter(text.charCodeAt(at + 1))) {
          if (at > partStart) {
            this.#onTerm(part, at);
            parts += 1;
          }
          part = hashSeed;
          partStart = kind === underscore ? at + 1 : at;
        }
        if (kind === capital) part = hashStep(part, code);
      } else break;
      before = kind;
    }
    if (at > partStart) {
      this.#onTerm(part, at);
      parts += 1;
    }
    this.#word = parts > 1 || at === partStart ? this.#hashWord(from, at) : part;
    if (parts > 1) this.#onTerm(this.#word, at);
    return at;
  }

  /** The hash of a word with several parts: underscores count between them, not around them. */
  #hashWord(from: number, to: number): Term {
    let word = hashSeed;
    let isBehindUnderscore = false;
    for (let at = from; at < to; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code !== underscoreCode) {
        if (isBehindUnderscore && word !== hashSeed) word = Math.imul(word ^ underscoreCode, hashPrime);
        word = hashStep(word, code);
      }
      isBehindUnderscore = code === underscoreCode;
    }
    return word;
  }

  #readUnspaced(from: number, to: number): number {
    const text = this.#text;
    let before: Term | undefined;
    let at = from;
    while (at < to && charKind(text.charCodeAt(at)) === unspaced) {
      const code = text.codePointAt(at) ?? 0;
      at += code > 0xff_ff ? 2 : 1;
      const term = Math.imul(hashSeed ^ code, hashPrime);
      this.#onTerm(term, Math.min(at, to));
      if (before !== undefined) this.#onTerm(Math.imul(before ^ code, hashPrime), Math.min(at, to));
      before = term;
    }
    return at;
  }

  #addWord(end: number): void {
    this.#name = this.#words === 0 ? this.#word : Math.imul(this.#name, jointPrime) ^ this.#word;
    this.#words += 1;
    this.#end = end;
    this.#isBehindJoint = false;
  }

  #join(kind: typeof joint | typeof slash): void {
    if (this.#isBehindJoint) this.#endPath();
    else if (kind === slash) this.#endName();
    this.#isBehindJoint = this.#words + this.#names > 0;
  }

  #endName(): void {
    if (this.#words === 0) return;
    if (this.#words > 1) this.#onTerm(this.#name, this.#end);
    this.#path = this.#names === 0 ? this.#name : Math.imul(this.#path, slashPrime) ^ this.#name;
    this.#names += 1;
    this.#words = 0;
  }

  #endPath(): void {
    this.#endName();
    if (this.#names > 1) this.#onTerm(this.#path, this.#end);
    this.#names = 0;
    this.#isBehindJoint = false;
  }
}

/** FNV-1a, which is short and good enough for words. */
const hashSeed = 0x81_1c_9d_c5 | 0;
const hashPrime = 0x01_00_01_93;
/** Different primes, so that a name does not hash like the word its letters would make. */
const jointPrime = 0x9e_37_79_b1 | 0;
const slashPrime = 0x85_eb_ca_6b | 0;

/** Ignores case and accents. */
function hashStep(hash: Term, code: number): Term {
  const folded = code < foldedCodesSize ? (foldedCodes[code] ?? code) : code;
  return folded === accent ? hash : Math.imul(hash ^ folded, hashPrime);
}

const other = 0;
/** Letters other than capitals, and digits. */
const small = 1;
const capital = 2;
const underscore = 3;
const joint = 4;
const slash = 5;
const unspaced = 6;
type Kind =
  | typeof other
  | typeof small
  | typeof capital
  | typeof underscore
  | typeof joint
  | typeof slash
  | typeof unspaced;

const underscoreCode = 0x5f;

const asciiKind = (character: string): Kind => {
  if (/[a-z\d]/.test(character)) return small;
  if (/[A-Z]/.test(character)) return capital;
  if (character === "_") return underscore;
  if (/[.@-]/.test(character)) return joint;
  return /[/\\]/.test(character) ? slash : other;
};
/** By a table and ranges: testing the properties of every character would cost more than all the rest. */
const tableSize = 0x0e00;
const wordCharacter = /[\p{L}\p{M}\p{Nd}]/u;
const tableKinds = Uint8Array.from({ length: tableSize }, (_, code) => {
  const character = String.fromCharCode(code);
  if (code < 0x80) return asciiKind(character);
  return wordCharacter.test(character) ? small : other;
});

const charKind = (code: number): number => (code < tableSize ? (tableKinds[code] ?? other) : wideKind(code));

/** Only a letter from `a` to `z` marks the end of the first part of `HTTPServer`. */
const isSmallLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a;

function wideKind(code: number): Kind {
  if (unspacedRanges.some(([first, last]) => code >= first && code <= last)) return unspaced;
  return signRanges.some(([first, last]) => code >= first && code <= last) ? other : small;
}

/** Thai and Lao, Burmese, Khmer, kana, Han with its marks, Hangul; first halves of rarer Han characters and of pictographs. */
const unspacedRanges: readonly (readonly [number, number])[] = [
  [0x4e00, 0x9fff],
  [0x3040, 0x30ff],
  [0xac00, 0xd7af],
  [0x0e00, 0x0eff],
  [0x1000, 0x109f],
  [0x1780, 0x17ff],
  [0x3400, 0x4dbf],
  [0xf900, 0xfaff],
  [0xff66, 0xff9d],
  [0x3005, 0x3007],
  [0xd840, 0xd8bf],
  [0xd83c, 0xd83e],
];
/** Punctuation, arrows, lines and boxes, private use, fullwidth punctuation, the byte order mark. */
const signRanges: readonly (readonly [number, number])[] = [
  [0x2000, 0x2bff],
  [0x3000, 0x303f],
  [0xe000, 0xf8ff],
  [0xfe00, 0xff0f],
  [0xff1a, 0xff20],
];

/** Latin, Greek and Cyrillic letters without case and accents. A combining accent belongs to the letter before it. */
const foldedCodesSize = 0x530;
const accent = 0;
const foldedCodes = Uint16Array.from({ length: foldedCodesSize }, (_, code) =>
  code >= 0x300 && code <= 0x36f
    ? accent
    : String.fromCharCode(code).normalize("NFD").charAt(0).toLowerCase().charCodeAt(0),
);
