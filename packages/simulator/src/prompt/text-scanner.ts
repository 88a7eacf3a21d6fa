/**
 * Kinds of UTF-16 code units, as far as they matter for cutting a text into tokens. They are numbers because they are
 * looked up for every unit.
 */
const characterKind = {
  /** Past the end of the text. */
  none: 0,
  lower: 1,
  upper: 2,
  /** A Latin letter with a diacritic: a lower-case letter that costs more. */
  marked: 3,
  digit: 4,
  sign: 5,
  blank: 6,
  lineEnd: 7,
  /** Each unit has a cost of its own. */
  other: 8,
} as const;

/**
 * Costs of units of kind `other`, in hundredths of a token: averages of running text, spaces between words included.
 */
const otherCosts: readonly (readonly [from: number, to: number, cost: number])[] = [
  // Two bytes per letter: Greek, Cyrillic, Armenian and Hebrew, Arabic.
  [0x0370, 0x03ff, 36],
  [0x0400, 0x052f, 28],
  [0x0530, 0x05ff, 40],
  [0x0600, 0x07ff, 33],
  // Three bytes per letter: the scripts of India and South-East Asia, and scripts with hardly any tokens of their own.
  [0x0800, 0x10ff, 40],
  [0x1100, 0x1dff, 90],
  // Arrows, mathematics, box drawing, dingbats: some have a token, most need two.
  [0x2070, 0x24ff, 120],
  [0x2500, 0x25ff, 60],
  [0x2600, 0x2e7f, 150],
  // East Asian radicals and punctuation, kana, Han, Hangul, full width.
  [0x2e80, 0x303f, 85],
  [0x3040, 0x30ff, 72],
  [0x3100, 0x33ff, 150],
  [0x3400, 0x4dbf, 200],
  [0x4e00, 0x9fff, 72],
  [0xa000, 0xabff, 150],
  [0xac00, 0xd7ff, 68],
  // Surrogates: emoji and rare characters, two or three tokens per pair.
  [0xd800, 0xdfff, 105],
  [0xe000, 0xf8ff, 200],
  [0xf900, 0xfdff, 150],
  [0xfe00, 0xfe0f, 60],
  [0xfe10, 0xfeff, 150],
  [0xff00, 0xffef, 85],
  [0xfff0, 0xffff, 100],
];

/** By code unit: one lookup instead of a chain of comparisons, for 64 KiB. */
const kindByUnit: Uint8Array = buildKindTable();
const otherCostByUnit: Uint8Array = buildOtherCostTable();

function buildKindTable(): Uint8Array {
  const table = new Uint8Array(0x1_0000).fill(characterKind.other);
  table.fill(characterKind.sign, 0, 0xc0);
  table.fill(characterKind.lower, 0x61, 0x7b);
  table.fill(characterKind.upper, 0x41, 0x5b);
  table.fill(characterKind.digit, 0x30, 0x3a);
  table.fill(characterKind.marked, 0xc0, 0x370);
  table.fill(characterKind.sign, 0x2000, 0x2070);
  for (const unit of [0x09, 0x0b, 0x0c, 0x20, 0xa0, 0x3000]) table[unit] = characterKind.blank;
  for (const unit of [0x0a, 0x0d]) table[unit] = characterKind.lineEnd;
  return table;
}

function buildOtherCostTable(): Uint8Array {
  const table = new Uint8Array(0x1_0000);
  for (const [from, to, cost] of otherCosts) table.fill(cost, from, to + 1);
  return table;
}

/**
 * Cuts a text into the pieces that a byte-pair encoding starts from, in one pass: words with the one punctuation mark
 * or blank before them, at most three digits, runs of punctuation with the line ends after them, runs of blanks. Costs
 * are in hundredths of a token and are averages: of words of seven letters after a space nearly all are one token, of
 * those glued to a punctuation mark every second is two.
 */
export class TextScanner {
  readonly #text: string;
  #at = 0;
  #cost = 0;
  /** Costs of a word that begins here; they depend on what stands before it. */
  #wordCosts = costs.bare;
  /** Start of the run since the last character that does not occur in encoded data. */
  #runFrom = 0;
  #runCost = 0;
  #runCapitals = 0;
  #runNumbers = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** At least one for a text that is not empty. */
  count(): number {
    const { length } = this.#text;
    while (this.#at < length) this.#piece();
    this.#endRun();
    return length === 0 ? 0 : Math.max(1, Math.round(this.#cost / 100));
  }

  #piece(): void {
    switch (this.#kindAt(this.#at)) {
      case characterKind.lower:
      case characterKind.marked:
      case characterKind.upper:
        this.#word();
        break;
      case characterKind.digit:
        this.#digits();
        break;
      case characterKind.sign:
        this.#signs();
        break;
      case characterKind.blank:
        this.#blanks();
        break;
      case characterKind.lineEnd:
        this.#lineEnds();
        break;
      default:
        this.#other();
    }
  }

  /**
   * Capitals, then lower-case letters, as far as they go: `camelCase` is two words, `HTTPServer` is one and costs like
   * two.
   */
  #word(): void {
    const from = this.#at;
    const smallFrom = this.#skip(characterKind.upper, from);
    const capitals = smallFrom - from;
    this.#at = this.#skip(characterKind.lower, smallFrom);
    if (this.#kindAt(this.#at) === characterKind.marked) this.#markedWord();
    const small = this.#at - smallFrom;
    if (capitals > 0) this.#runCapitals += 1;
    if (capitals < 2) {
      const table = capitals === 1 && this.#wordCosts === costs.bare ? costs.spaced : this.#wordCosts;
      this.#cost += tableCost(table, capitals + small);
    } else if (small === 0) this.#cost += tableCost(costs.capitals, capitals);
    else this.#cost += tableCost(costs.capitals, capitals - 1) + tableCost(costs.spaced, small + 1);
    this.#wordCosts = costs.bare;
  }

  /** The rest of a word from its first letter with a diacritic on. */
  #markedWord(): void {
    while (this.#kindAt(this.#at) === characterKind.marked) {
      this.#cost += markCost;
      this.#at = this.#skip(characterKind.lower, this.#at + 1);
    }
  }

  #digits(): void {
    const from = this.#at;
    this.#at = this.#skip(characterKind.digit, from);
    this.#runNumbers += 1;
    this.#cost += Math.ceil((this.#at - from) / 3) * 100;
    this.#wordCosts = costs.bare;
  }

  /**
   * A single punctuation mark goes with the word after it; several are a piece, and so is one without a word after it.
   */
  #signs(): void {
    const from = this.#at;
    let changes = 0;
    if (!isEncoded(this.#text.charCodeAt(from))) this.#endRun();
    for (this.#at += 1; this.#kindAt(this.#at) === characterKind.sign; this.#at += 1)
      if (this.#text.charCodeAt(this.#at) !== this.#text.charCodeAt(this.#at - 1)) changes += 1;
    const many = this.#at - from;
    // A blank before it has already made it a piece.
    if (many === 1 && this.#wordCosts !== costs.spaced && isWord(this.#kindAt(this.#at))) {
      this.#wordCosts = costs.glued;
    } else {
      this.#cost += tableCost(costs.signs, Math.min(many, 2 * changes + 1));
      this.#at = this.#skip(characterKind.lineEnd, this.#at);
      this.#wordCosts = costs.bare;
    }
    if (!isEncoded(this.#text.charCodeAt(from))) this.#startRun();
  }

  /**
   * The last blank belongs to what follows, the others are a piece; blanks at the end of a line belong to the line end.
   */
  #blanks(): void {
    this.#endRun();
    const from = this.#at;
    this.#at = this.#skip(characterKind.blank, from);
    const many = this.#at - from;
    const next = this.#kindAt(this.#at);
    if (next !== characterKind.lineEnd) {
      if (many > 1) this.#cost += 100 * Math.ceil(many / blankRunMax);
      if (next === characterKind.digit || next === characterKind.none) this.#cost += 100;
    }
    this.#wordCosts = costs.spaced;
    this.#startRun();
  }

  #lineEnds(): void {
    this.#endRun();
    this.#at = this.#skip(characterKind.lineEnd, this.#at);
    this.#cost += 100;
    this.#wordCosts = costs.bare;
    this.#startRun();
  }

  #other(): void {
    this.#endRun();
    this.#cost += otherCostByUnit[this.#text.charCodeAt(this.#at)] ?? 0;
    this.#at += 1;
    this.#wordCosts = costs.bare;
    this.#startRun();
  }

  #startRun(): void {
    this.#runFrom = this.#at;
    this.#runCost = this.#cost;
    this.#runCapitals = 0;
    this.#runNumbers = 0;
  }

  /** Whether a run was encoded data is known only at its end; then the cost counted for its pieces is replaced. */
  #endRun(): void {
    const length = this.#at - this.#runFrom;
    if (length < encodedRunMin || this.#runCapitals * 7 < length || this.#runNumbers * 20 < length) return;
    this.#cost = this.#runCost + length * encodedCost;
  }

  /**
   * Where a run of one kind ends. The bound is checked first: one read past the end makes every later read several
   * times slower.
   */
  #skip(of: number, from: number): number {
    const text = this.#text;
    let at = from;
    while (at < text.length && kindByUnit[text.charCodeAt(at)] === of) at += 1;
    return at;
  }

  #kindAt(at: number): number {
    const text = this.#text;
    return at < text.length ? (kindByUnit[text.charCodeAt(at)] ?? characterKind.none) : characterKind.none;
  }
}

/**
 * By length; the last number is what each further letter adds. Measured on prose, code, JSON and logs with a public
 * encoding of 200,000 tokens.
 */
const costs = {
  /** After a blank, or a capital that begins a part of a name. */
  spaced: Uint16Array.of(0, 100, 100, 101, 103, 103, 106, 104, 109, 116, 118, 122, 130, 140, 20),
  /** At the start of a line, after digits or several punctuation marks. */
  bare: Uint16Array.of(0, 100, 100, 107, 110, 107, 113, 114, 135, 140, 155, 165, 185, 250, 40),
  /** After one punctuation mark: `.length`, `_id`, `(value`. */
  glued: Uint16Array.of(0, 100, 106, 127, 133, 128, 136, 148, 190, 190, 225, 225, 260, 300, 40),
  capitals: Uint16Array.of(0, 100, 103, 119, 125, 140, 170, 200, 280, 300, 45),
  signs: Uint16Array.of(0, 100, 101, 118, 150, 180, 205, 245, 300, 50),
} as const;

function tableCost(table: Uint16Array, length: number): number {
  const last = table.length - 2;
  return length <= last ? (table[length] ?? 0) : (table[last] ?? 0) + (length - last) * (table[last + 1] ?? 0);
}

const markCost = 25;
/** Spaces that fit into one token. */
const blankRunMax = 80;
/** Shorter runs are names. Base64 mixes capitals, lower-case letters and digits evenly; names and hashes do not. */
const encodedRunMin = 32;
const encodedCost = 68;

const isWord = (here: number): boolean => here >= characterKind.lower && here <= characterKind.marked;

/** Plus, slash and equals are what base64 has besides letters and digits; minus and underscore in its URL variant. */
const isEncoded = (unit: number): boolean =>
  unit === 0x2b || unit === 0x2f || unit === 0x3d || unit === 0x2d || unit === 0x5f;
