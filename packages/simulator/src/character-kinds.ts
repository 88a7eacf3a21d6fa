/** Kinds of UTF-16 code units, as far as they matter for cutting a text into tokens. Numbers, since they are looked up for every one. */
export const kind = {
  /** Behind the end of the text. */
  none: 0,
  lower: 1,
  upper: 2,
  /** A Latin letter with a mark: a small letter that costs more. */
  marked: 3,
  digit: 4,
  sign: 5,
  blank: 6,
  lineEnd: 7,
  /** Each unit has a cost of its own. */
  other: 8,
} as const;

/** What units of kind `other` cost, in hundredths of a token: averages of running text, spaces between words included. */
const otherCosts: readonly (readonly [from: number, to: number, cost: number])[] = [
  // Two bytes a letter: Greek, Cyrillic, Armenian and Hebrew, Arabic.
  [0x0370, 0x03ff, 36],
  [0x0400, 0x052f, 28],
  [0x0530, 0x05ff, 40],
  [0x0600, 0x07ff, 33],
  // Three bytes a letter: the scripts of India and South-East Asia, and what has hardly any words of its own.
  [0x0800, 0x10ff, 40],
  [0x1100, 0x1dff, 90],
  // Arrows, mathematics, frames, dingbats: some have a token, most need two.
  [0x2070, 0x24ff, 120],
  [0x2500, 0x25ff, 60],
  [0x2600, 0x2e7f, 150],
  // Radicals and signs of East Asia, kana, Han, Hangul, full width.
  [0x2e80, 0x303f, 85],
  [0x3040, 0x30ff, 72],
  [0x3100, 0x33ff, 150],
  [0x3400, 0x4dbf, 200],
  [0x4e00, 0x9fff, 72],
  [0xa000, 0xabff, 150],
  [0xac00, 0xd7ff, 68],
  // Halves of pairs: emoji and rare signs, two or three tokens together.
  [0xd800, 0xdfff, 105],
  [0xe000, 0xf8ff, 200],
  [0xf900, 0xfdff, 150],
  [0xfe00, 0xfe0f, 60],
  [0xfe10, 0xfeff, 150],
  [0xff00, 0xffef, 85],
  [0xfff0, 0xffff, 100],
];

/** By code unit: one look-up instead of a chain of comparisons, for 64 KiB. */
export const kindByUnit: Uint8Array = kinds();
export const otherCostByUnit: Uint8Array = costs();

function kinds(): Uint8Array {
  const table = new Uint8Array(0x1_0000).fill(kind.other);
  table.fill(kind.sign, 0, 0xc0);
  table.fill(kind.lower, 0x61, 0x7b);
  table.fill(kind.upper, 0x41, 0x5b);
  table.fill(kind.digit, 0x30, 0x3a);
  table.fill(kind.marked, 0xc0, 0x370);
  table.fill(kind.sign, 0x2000, 0x2070);
  for (const unit of [0x09, 0x0b, 0x0c, 0x20, 0xa0, 0x3000]) table[unit] = kind.blank;
  for (const unit of [0x0a, 0x0d]) table[unit] = kind.lineEnd;
  return table;
}

function costs(): Uint8Array {
  const table = new Uint8Array(0x1_0000);
  for (const [from, to, cost] of otherCosts) table.fill(cost, from, to + 1);
  return table;
}
