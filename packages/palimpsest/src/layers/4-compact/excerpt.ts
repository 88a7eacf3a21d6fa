import { beginningOf, type CountText, endingOf, type FitOptions } from "./fit.ts";
import {
  excerptNameCharsMax,
  excerptNamesShareMax,
  excerptSearchChars,
  excerptTokensMin,
  settlingShareMax,
} from "./ledger-limits.ts";

/**
 * Of a text that does not fit: its head, its tail, and the lines between them that settle something, for what is ruled
 * out in the middle of a long message binds no less. Word for word and in order; where something is left out, how much,
 * and the names in it that stand nowhere else here. At most `tokensMax` besides one mark of what is left out.
 */
export function excerptOf(text: string, { tokensMax, count }: FitOptions): string {
  const tail = endingOf(text, { tokensMax: tokensMax / 3, count });
  const before = text.slice(0, text.length - tail.length);
  const isLong = tokensMax >= excerptTokensMin;
  const namesMax = isLong ? tokensMax * excerptNamesShareMax : 0;
  const settlingMax = isLong ? tokensMax * settlingShareMax : 0;
  const headOf = (settlingTokens: number): string =>
    beginningOf(before, { tokensMax: (tokensMax * 2) / 3 - namesMax - settlingTokens, count });
  const settling = settlingSpans(before, { from: headOf(settlingMax).length, tokensMax: settlingMax, count });
  const head = headOf(settling.tokens);
  const spans = [
    { from: 0, to: head.length },
    ...settling.spans.filter(({ from }) => from >= head.length),
    { from: before.length, to: text.length },
  ];
  return joined({ text, spans, names: new NamesLeftOut({ tokensMax: namesMax, count }) });
}

/** Stands in place of what is cut. */
export const leftOut = (chars: number, names: readonly string[] = []): string =>
  `[… ${chars} characters left out${names.length === 0 ? "" : `, with ${names.join(", ")}`} …]`;

interface Span {
  readonly from: number;
  readonly to: number;
}

interface SettlingOptions extends FitOptions {
  readonly from: number;
}

interface Settling {
  readonly spans: readonly Span[];
  /** With a mark before each. */
  readonly tokens: number;
}

/** Lines of prose: what is in a fence is code, and code settles nothing. */
function settlingSpans(text: string, { from, tokensMax, count }: SettlingOptions): Settling {
  if (tokensMax <= 0) return { spans: [], tokens: 0 };
  const spans: Span[] = [];
  const mark = costOf(leftOut(excerptSearchChars), count);
  let used = 0;
  let isCode = false;
  let at = 0;
  for (const line of text.slice(0, from + excerptSearchChars).split("\n")) {
    const span = { from: at, to: at + line.length };
    at = span.to + 1;
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    if (isCode || span.from < from || !settles.test(line)) continue;
    const cost = mark + costOf(line, count);
    if (used + cost > tokensMax) continue;
    used += cost;
    spans.push(span);
  }
  return { spans, tokens: used };
}

const costOf = (line: string, count: CountText): number => count(`${line}\n`);

const settles =
  /\b(?:must|never|always|(?:do|does|should|may) not|(?:do|does|should|must|ca)n['’]t|cannot|should|instead|rather than|no longer|only|prefer|keep|ensure|make sure|required?)\b/i;

interface Joining {
  readonly text: string;
  /** In order; none begins before the one in front of it ends. */
  readonly spans: readonly Span[];
  readonly names: NamesLeftOut;
}

/** What lies apart by blanks alone stands together as it was; between others is said what is missing. */
function joined({ text, spans, names }: Joining): string {
  names.knows(spans.map(({ from, to }) => text.slice(from, to)));
  let excerpt = "";
  let at = 0;
  for (const { from, to } of spans) {
    const gap = text.slice(at, from);
    const isBlank = gap.trim() === "";
    const mark = isBlank ? gap : `${excerpt === "" ? "" : "\n"}${leftOut(gap.length, names.of(gap))}\n`;
    excerpt += mark + text.slice(from, to);
    at = to;
  }
  return excerpt;
}

/** Names that nobody can guess: paths, files, flags, identifiers, numbers. Each once, the first ones that fit. */
class NamesLeftOut {
  readonly #count: CountText;
  readonly #known = new Set<string>();
  #left: number;

  constructor({ tokensMax, count }: FitOptions) {
    this.#count = count;
    this.#left = tokensMax;
  }

  knows(texts: readonly string[]): void {
    if (this.#left > 0) for (const text of texts) for (const name of namesIn(text)) this.#known.add(name);
  }

  of(gap: string): readonly string[] {
    if (this.#left <= 0) return [];
    const fitting: string[] = [];
    for (const name of namesIn(gap.slice(0, excerptSearchChars))) {
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      const cost = this.#count(`${name}, `);
      if (cost > this.#left) continue;
      this.#left -= cost;
      fitting.push(name);
    }
    return fitting;
  }
}

/** No sign that could open or close a tag, or end the mark, is part of one. */
function* namesIn(text: string): Generator<string> {
  for (const [word] of text.matchAll(/[\w$@~/.#%:-]+/g)) {
    const name = word.replace(/^[.:]+(?=\w)/, "").replace(/[.:-]+$/, "");
    if (name.length <= excerptNameCharsMax && (isName.test(name) || isCamel.test(name))) yield name;
  }
}

const isName = /^--?[a-z][\w-]+$|\w[/_]\w|\.[a-z]\w{0,4}$|^[/~]\S*\w|[a-z]\d|\d[a-z]|\d\d/i;
const isCamel = /[a-z\d][A-Z]/;
