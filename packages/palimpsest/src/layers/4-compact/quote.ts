import type { EntryId } from "../../schema/brand.ts";
import { clipText, type CountText, headWithinTokens, tailWithinTokens, type FitOptions } from "../clip-text.ts";
import type { UserMessage } from "./facts/session-facts.ts";
import {
  idCharsMax,
  excerptNameCharsMax,
  excerptNamesShareMax,
  excerptSearchChars,
  excerptTokensMin,
  settlingShareMax,
} from "./limits.ts";
import { findFencedLines } from "./summary-sections.ts";

/**
 * An excerpt of a text that does not fit: its head, its tail, and the lines between them that settle something, because
 * a ban in the middle of a long message binds no less. Word for word and in order. Where something is left out it says
 * how much, and which names in it occur nowhere else in the excerpt. At most `tokensMax` besides one omission mark.
 */
export function createExcerpt(text: string, { tokensMax, count }: FitOptions): string {
  const tail = tailWithinTokens(text, { tokensMax: tokensMax / 3, count });
  const before = text.slice(0, text.length - tail.length);
  const isLong = tokensMax >= excerptTokensMin;
  const namesMax = isLong ? tokensMax * excerptNamesShareMax : 0;
  const settlingMax = isLong ? tokensMax * settlingShareMax : 0;
  const headFor = (settlingTokens: number): string =>
    headWithinTokens(before, { tokensMax: (tokensMax * 2) / 3 - namesMax - settlingTokens, count });
  const settling = settlingSpans(before, { from: headFor(settlingMax).length, tokensMax: settlingMax, count });
  const head = headFor(settling.tokens);
  const spans = [
    { from: 0, to: head.length },
    ...settling.spans.filter(({ from }) => from >= head.length),
    { from: before.length, to: text.length },
  ];
  return joinSpans({ text, spans, names: new NamesLeftOut({ tokensMax: namesMax, count }) });
}

/** The text that replaces what is cut. */
export const omissionMark = (chars: number, names: readonly string[] = []): string =>
  `[… ${chars} characters left out${names.length === 0 ? "" : `, with ${names.join(", ")}`} …]`;

interface Span {
  readonly from: number;
  readonly to: number;
}

interface SettlingOutcome {
  readonly spans: readonly Span[];
  /** Including an omission mark before each. */
  readonly tokens: number;
}

/** Only lines of prose: fenced code settles nothing. */
function settlingSpans(
  text: string,
  { from, tokensMax, count }: FitOptions & { readonly from: number },
): SettlingOutcome {
  if (tokensMax <= 0) return { spans: [], tokens: 0 };
  const spans: Span[] = [];
  const mark = lineCost(omissionMark(excerptSearchChars), count);
  let used = 0;
  let isCode = false;
  let at = 0;
  for (const line of text.slice(0, from + excerptSearchChars).split("\n")) {
    const span = { from: at, to: at + line.length };
    at = span.to + 1;
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    if (isCode || span.from < from || !settles.test(line)) continue;
    const cost = mark + lineCost(line, count);
    if (used + cost > tokensMax) continue;
    used += cost;
    spans.push(span);
  }
  return { spans, tokens: used };
}

const lineCost = (line: string, count: CountText): number => count(`${line}\n`);

const settles =
  /\b(?:must|never|always|(?:do|does|should|may) not|(?:do|does|should|must|ca)n['’]t|cannot|should|instead|rather than|no longer|only|prefer|keep|ensure|make sure|required?)\b/i;

interface JoinInput {
  readonly text: string;
  /** In order and without overlaps. */
  readonly spans: readonly Span[];
  readonly names: NamesLeftOut;
}

/** Spans that only blanks separate are joined as they were; between others an omission mark says what is missing. */
function joinSpans({ text, spans, names }: JoinInput): string {
  names.knows(spans.map(({ from, to }) => text.slice(from, to)));
  let excerpt = "";
  let at = 0;
  for (const { from, to } of spans) {
    const gap = text.slice(at, from);
    const isBlank = gap.trim() === "";
    const mark = isBlank ? gap : `${excerpt === "" ? "" : "\n"}${omissionMark(gap.length, names.of(gap))}\n`;
    excerpt += mark + text.slice(from, to);
    at = to;
  }
  return excerpt;
}

/** Names that can't be guessed: paths, files, flags, identifiers, numbers. Each once, the first ones that fit. */
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

/** A name contains no character that could open or close a tag, or end the mark. */
function* namesIn(text: string): Generator<string> {
  for (const [word] of text.matchAll(/[\w$@~/.#%:-]+/g)) {
    const name = word.replace(/^[.:]+(?=\w)/, "").replace(/[.:-]+$/, "");
    if (name.length <= excerptNameCharsMax && (isName.test(name) || isCamel.test(name))) yield name;
  }
}

const isName = /^--?[a-z][\w-]+$|\w[/_]\w|\.[a-z]\w{0,4}$|^[/~]\S*\w|[a-z]\d|\d[a-z]|\d\d/i;
const isCamel = /[a-z\d][A-Z]/;

/**
 * A summary is in the user's turn, inside a tag of ours. Text in it must not look like the end of that tag, like a tag
 * whose content models take for the engine's, or like the beginning of another turn. A character is inserted into each
 * such form, which breaks it but leaves it readable. A second pass finds nothing.
 */
export const escapeImitations = (text: string): string => applyForms(turns, applyForms(tagForms, text));

/**
 * The same, but lines of code in closed fences may look like turns: `system: linux` opens none there. Tags are escaped
 * everywhere.
 */
export function escapeProseImitations(text: string): string {
  const lines = text.split("\n");
  const fenced = findFencedLines(lines);
  const prose = lines.map((line, at) => (fenced.has(at) ? line : applyForms(turns, line)));
  return applyForms(tagForms, prose.join("\n"));
}

const applyForms = (forms: readonly ImitationForm[], text: string): string =>
  forms.reduce((escaped, { form, instead }) => escaped.replaceAll(form, instead), text);

interface ImitationForm {
  readonly form: RegExp;
  readonly instead: string;
}

/** Tags that known clients put into user turns, and those around calls. */
const tags = [
  "system-reminder",
  "system",
  "persisted-output",
  String.raw`user-messages?(?:-\d+)?`,
  "task-notification",
  "command-[a-z-]+",
  "local-command-[a-z-]+",
  "bash-[a-z-]+",
  "user-prompt-submit-hook",
  "user-memory-input",
  "function_calls",
  "function_results",
  "antml:[a-z_]+",
  "invoke",
  "tool_use",
  "tool_result",
].join("|");

const roles = "(?:user|human|assistant)";

const tagForms: readonly ImitationForm[] = [
  // <system-reminder>, </system-reminder>, also with attributes
  { form: new RegExp(String.raw`<(?=\s{0,3}\/?\s{0,3}(?:${tags})(?:[\s/][^<>]*)?(?:>|$))`, "gi"), instead: "<\\" },
  // <|im_start|>, <|system|>
  { form: /<(?=\|[\w-]+\|>)/g, instead: "<\\" },
  // [INST], <<SYS>>
  { form: /\[(?=\/?INST\])/g, instead: "[\\" },
  { form: /<(?=<\/?SYS>>)/g, instead: "<\\" },
];

const turns: readonly ImitationForm[] = [
  // <user>…</user>; a lone <user> in a line is a name to be filled in.
  { form: new RegExp(String.raw`^([^\S\n]*)<(?=${roles}>)`, "gm"), instead: "$1<\\" },
  { form: new RegExp(String.raw`<(?=${roles}>[^\n]{0,300}<\/${roles}>)`, "g"), instead: "<\\" },
  { form: new RegExp(String.raw`<(?=\/${roles}>)`, "g"), instead: "<\\" },
  // A line that opens a turn. Turns of the user are quotes, and are checked as such.
  { form: /^([^\S\n]*(?:\*\*)?(?:human|assistant|system|developer)(?:\*\*)?)[^\S\n]*:/gim, instead: "$1 –" },
  { form: /^([^\S\n]*)\[(system(?: (?:message|notice|prompt))?)\]/gim, instead: "$1($2)" },
];

/** Tags that a summary uses: text from the history must neither open nor close one. */
const summaryTags = /<(?=\/?(?:user-messages?|reply|plan|note|summary|analysis)\b)/gi;

/** Text of the history as part of one of our lines: without line ends and our tags, at most so long. */
export function asLine(text: string, charsMax: number): string {
  const line = clipText(text, 2 * charsMax)
    .replaceAll(/\s+/g, " ")
    .trim();
  const cut = sanitizeText(clipText(line, charsMax));
  const isCut = line.length > charsMax || text.length > 2 * charsMax;
  return (isCut ? `${cut.trimEnd()}…` : cut).toWellFormed();
}

/** Text of the history as lines of our own, likewise. */
export const sanitizeText = (text: string): string => escapeSummaryTags(escapeImitations(text));

export const escapeSummaryTags = (text: string): string => text.replaceAll(summaryTags, "<\\");

/**
 * A tag that none of the texts can open or close, nor the outer tag around all of them. So the texts stand inside byte
 * for byte, and what one of them pastes is no quote of ours.
 */
export function tagFor(texts: Iterable<string>): string {
  const taken = new Set<string>();
  for (const text of texts)
    for (const [, suffix = ""] of text.matchAll(/<\s*\/?\s*user-messages?(-\d+)?/gi)) taken.add(suffix);
  if (!taken.has("")) return "user-message";
  let serial = 2;
  while (taken.has(`-${serial}`)) serial += 1;
  return `user-message-${serial}`;
}

/** The tag around all quotes in that tag. */
export const outerTag = (tag: string): string => tag.replace("user-message", "user-messages");

interface QuoteOptions {
  readonly tag: string;
  /** For the quoted words, without the tag. */
  readonly tokensMax: number;
  readonly count: CountText;
  readonly mark?: string | undefined;
}

interface Quote {
  readonly text: string;
  readonly shown: "verbatim" | "cut";
}

/** A message of the user as data: whole, or an excerpt, with the id that brings back the whole. */
export function quoteMessage({ entry, text }: UserMessage, { tag, tokensMax, count, mark }: QuoteOptions): Quote {
  const opening = `<${tag} id="${idText(entry)}"${mark === undefined ? "" : ` ${mark}`}`;
  if (count(text) <= tokensMax) return { text: `${opening}>\n${text}\n</${tag}>`, shown: "verbatim" };
  return { text: `${opening}>\n${createExcerpt(text, { tokensMax, count })}\n</${tag}>`, shown: "cut" };
}

/** The most that a quote costs besides its words. */
export const frameTokens = (
  entry: EntryId,
  { tag, count }: { readonly tag: string; readonly count: CountText },
): number => count(`<${tag} id="${idText(entry)}">\n\n${omissionMark(999_999_999)}\n\n</${tag}>\n`);

/**
 * An id as it is written in our lines and tags. A log may use any ids, so characters that could end a line or tag are
 * replaced.
 */
export const idText = (entry: EntryId): string =>
  asLine(entry, idCharsMax).replaceAll(/[^\p{L}\p{N}_.:/+=@#…-]/gu, "\uFFFD");
