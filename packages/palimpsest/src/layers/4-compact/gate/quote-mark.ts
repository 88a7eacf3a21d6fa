import { findFencedLines, parseHeading, userMessagesTitle } from "../summary-sections.ts";

/**
 * A part of a summary that is marked as the user's own words:
 *
 * - `message`: each line under All User Messages;
 * - `announced`: each line of the block behind "The user asked:" and the like, or under a heading "User";
 * - `said`: what follows "User asked:" on its line: the quoted parts if it begins with a quote, else all of it;
 * - `labelled`: the same behind a bare "User:";
 * - `quoted`: parts in quotes behind "the user prefers" and the like.
 *
 * A mark is within one line. Code in fences has none, except under All User Messages.
 */
export interface QuoteMark {
  readonly kind: "message" | "announced" | "said" | "labelled" | "quoted";
  readonly words: string;
  /** Position of the words in the line. */
  readonly from: number;
  readonly to: number;
  /** Where the text begins that marks them. */
  readonly start: number;
}

export interface MarkedLine {
  readonly line: string;
  readonly marks: readonly QuoteMark[];
  /** For announced words: index of the line that announces them. */
  readonly announcedAt?: number;
}

export const findMarkedQuotes = (summary: string): readonly string[] =>
  markLines(summary).flatMap(({ marks }) => marks.map(({ words }) => words));

/** Added to an announcement whose text is not a quote. */
export const notTheirWords = "(not in their words)";

export function markLines(summary: string): readonly MarkedLine[] {
  const lines = summary.split("\n");
  const reader = new LineReader(findFencedLines(lines));
  return lines.map((line, at) => reader.read(line, at));
}

interface Announced {
  readonly at: number;
  readonly block: "awaited" | "begun";
  /** What ends it: a blank line after its first block, or the next heading. */
  readonly until: "blank" | "heading";
}

/** Reads lines in order, since the marks of a line depend on the lines before it. */
class LineReader {
  readonly #fenced: ReadonlySet<number>;
  #section: "messages" | "other" = "other";
  #announced: Announced | undefined;

  constructor(fenced: ReadonlySet<number>) {
    this.#fenced = fenced;
  }

  read(line: string, at: number): MarkedLine {
    const isFenced = this.#fenced.has(at);
    const heading = isFenced ? undefined : parseHeading(line);
    if (heading !== undefined) {
      this.#announced = labelHeading.test(line) ? { at, block: "awaited", until: "heading" } : undefined;
      this.#section = heading.title === userMessagesTitle ? "messages" : "other";
      const offset = line.length - heading.rest.length;
      return { line, marks: this.#section === "messages" ? wholeMark(line, { kind: "message", offset }) : [] };
    }
    if (this.#section === "messages") return { line, marks: wholeMark(line, { kind: "message", offset: 0 }) };
    return isFenced ? { line, marks: [] } : this.#readProse(line, at);
  }

  #readProse(line: string, at: number): MarkedLine {
    if (line.trim() === "") {
      if (this.#announced?.block === "begun" && this.#announced.until === "blank") this.#announced = undefined;
      return { line, marks: [] };
    }
    if (this.#announced !== undefined) {
      const announcedAt = this.#announced.at;
      this.#announced = { ...this.#announced, block: "begun" };
      return { line, marks: wholeMark(line, { kind: "announced", offset: 0 }), announcedAt };
    }
    const marks = proseMarks(line);
    if (marks === "announcement") {
      this.#announced = { at, block: "awaited", until: "blank" };
      return { line, marks: [] };
    }
    return { line, marks };
  }
}

const people = "(?:user|human|person|customer)";
const subject = String.raw`\b(?:the\s+)?${people}`;
const adverbs = String.raw`(?:\s+(?:has|had|then|also|later|just|now|next|first|finally|again|explicitly|clearly|originally|initially))*`;
const verbs =
  "asked|asks|said|says|wrote|writes|requested|requests|told|instructed|instructs|ordered|demanded|demands|replied|answered|responded|confirmed|approved|stated|insisted|typed|wants|wanted|commanded|directed|decided|added|noted|mentioned|explained|clarified|specified|repeated|emphasi[sz]ed|declared|commented|remarked|reminded|authori[sz]ed";
/** After these verbs, only text in quotation marks counts as the user's. */
const leanings =
  "prefers|preferred|needs|needed|expects|expected|likes|liked|suggests|suggested|reports|reported|complained|chose|picked|agreed|allowed|permitted|gave|sent|entered|quoted|rejected|refused|declined|called|named";
/** Verbs that only people do, so that "they" means the user. */
const asking = "asked|asks|requested|instructed|ordered|demanded|insisted|typed";
const nouns = "message|request|prompt|instruction|instructions|words|question|feedback|reply|answer|order|command";
const fillers = String.raw`(?:\s+(?:for|that|me|us|to|the|assistant|agent|you|following|this|as|follows|in|reply|verbatim|explicitly|again|then|later|now|here|was|were|is|are)){0,5}`;
const behind = String.raw`(?:\s*#?\d{1,4})?(?:\s*\((?!not in their words)[^)\n]{0,60}\))?[*_]{0,3}\s*:[*_]{0,3}`;
const ofPeople = String.raw`\b(?:${nouns}|verbatim|quote|quoted)(?:\s+\w+)?\s+(?:from|of|by)\s+(?:the\s+)?${people}`;
const they = String.raw`\b(?:they|he|she)${adverbs}`;

const saidForm = new RegExp(
  String.raw`(?:${subject}(?:${adverbs}\s+(?:${verbs})|(?:['’]s)?(?:\s+\w+)?\s+(?:${nouns}))|${ofPeople}|${they}\s+(?:${asking}))${fillers}${behind}`,
  "i",
);
const labelForm = new RegExp(String.raw`^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+|>\s*)*[*_]{0,3}(?:the\s+)?user${behind}`, "i");
/** The label alone on a line, set as a heading. */
const label = String.raw`(?:the\s+)?(?:user|human)(?:['’]s)?(?:\s+(?:message|request|prompt|words|input|said|asked|wrote|says))?`;
const labelHeading = new RegExp(String.raw`^\s{0,3}#{1,6}\s+[*_]{0,3}${label}[*_]{0,3}\s*:?[*_]{0,3}[\s#]*$`, "i");
const labelLine = new RegExp(String.raw`^\s*(?:>\s*)*(?:\*\*|__)${label}\s*:?(?:\*\*|__)\s*:?\s*$`, "i");

/** Single quotes are apostrophes too: those open nothing after a letter, and close nothing before one. */
const opensSingle = String.raw`(?<=^|[\s(:,])['‘](?=\S)`;
const quotingForm = new RegExp(
  String.raw`(?:${subject}(?:${adverbs}\s+(?:${verbs}|${leanings})|['’]s(?:\s+\w+)?\s+(?:${nouns}))|${ofPeople}|${they}\s+(?:${verbs}))\b[^.;"“”„«${"`"}\n]{0,60}?(?=["“„«]|${opensSingle})`,
  "i",
);
const doubleQuotes = [String.raw`"([^"\n]*)(?:"|$)`, String.raw`“([^”\n]*)(?:”|$)`];
/** A quote that is not closed extends to the end of the line. */
const doubleForm = new RegExp(doubleQuotes.join("|"), "g");
const quoteForm = new RegExp(
  [
    ...doubleQuotes,
    String.raw`„([^“”\n]*)(?:[“”]|$)`,
    String.raw`«([^»\n]*)(?:»|$)`,
    String.raw`${opensSingle}((?:[^'’\n]|['’](?=[\p{L}\p{N}]))*)(?:['’]|$)`,
  ].join("|"),
  "gu",
);

function proseMarks(line: string): readonly QuoteMark[] | "announcement" {
  if (labelLine.test(line)) return "announcement";
  const said = saidForm.exec(line);
  const labelled = said === null ? labelForm.exec(line) : null;
  const found = said ?? labelled;
  if (found !== null) {
    const kind = said === null ? "labelled" : "said";
    const end = found.index + found[0].length;
    if (!/[\p{L}\p{N}]/u.test(line.slice(end))) return "announcement";
    const isQuoted = /^\s*["“„«'‘]/.test(line.slice(end));
    // Without quotation marks it is unclear who "they" are.
    if (!isQuoted && /^(?:they|he|she)\b/i.test(found[0])) return [];
    const marks = isQuoted ? findQuotedParts(line, { kind, offset: end }) : wholeMark(line, { kind, offset: end });
    return marks.map((mark) => ({ ...mark, start: found.index }));
  }
  const quoting = quotingForm.exec(line);
  return quoting === null ? [] : findQuotedParts(line, { kind: "quoted", offset: quoting.index + quoting[0].length });
}

interface MarkPlace {
  readonly kind: QuoteMark["kind"];
  readonly offset: number;
}

function findQuotedParts(
  line: string,
  { kind, offset, form = quoteForm }: MarkPlace & { readonly form?: RegExp },
): readonly QuoteMark[] {
  return [...line.slice(offset).matchAll(form)].flatMap((found) => {
    const words = found.slice(1).find((part) => part !== undefined) ?? "";
    const start = offset + found.index;
    return isWords(words) ? [{ kind, words, start, from: start + 1, to: start + 1 + words.length }] : [];
  });
}

const lead = /^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+|>\s*)*["“”„'‘’`*_«\s]*/;
const trail = /["“”'‘’`*_»\s]/;

/** Marks the line without list and quote signs. */
function wholeMark(line: string, { kind, offset }: MarkPlace): readonly QuoteMark[] {
  const body = line.slice(offset);
  const from = offset + (lead.exec(body)?.[0].length ?? 0);
  const words = line.slice(from, endWithout(trail, line));
  return isWords(words) ? [{ kind, words, start: offset, from, to: from + words.length }] : [];
}

/** Character by character: an expression that ends in `*$` takes quadratic time on a long run. */
export function endWithout(signs: RegExp, text: string): number {
  let end = text.length;
  while (end > 0 && signs.test(text.charAt(end - 1))) end -= 1;
  return end;
}

const isWords = (words: string): boolean => /[\p{L}\p{N}]/u.test(words) && !/^none[.]?$/i.test(words);

/** The parts of a line in double quotes. */
export const quotesIn = (line: string): readonly string[] =>
  findQuotedParts(line, { kind: "quoted", offset: 0, form: doubleForm }).map(({ words }) => words);
