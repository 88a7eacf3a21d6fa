import { clipText } from "../../clip-text.ts";
import { changeCharsMax, nearQuoteCharsMax, quotePartCharsMin, quotePassesMax } from "../limits.ts";
import { endWithout, type QuoteMark, type MarkedLine, markLines, notTheirWords, quotesIn } from "./quote-mark.ts";

export interface CleanedText {
  readonly text: string;
  /** A line for each, for a person. */
  readonly changes: readonly string[];
}

/**
 * Takes out of a summary what it puts into the user's mouth: afterwards every string that is marked as the user's is a
 * substring of one of their messages. A quote that differs in case, spaces or the last sign is set right; lines that are
 * nothing but an invented quote go; what is told in a sentence or a list stays, and loses its marks.
 */
export function unmarkInventedQuotes(summary: string, userMessages: readonly string[]): CleanedText {
  const said = new UserText(userMessages);
  const changes: string[] = [];
  let text = summary;
  // Taking marks away can uncover others.
  for (let pass = 0; ; pass += 1) {
    const next = (pass < quotePassesMax ? rewritePass : removingPass)(text, said);
    if (next.changes.length === 0) return { text, changes };
    changes.push(...next.changes);
    text = next.text;
  }
}

/** What the user said, to look quotes up in. A quote lies in one line, so what joins two messages is in none. */
class UserText {
  readonly #text: string;
  /** Without what a quote may differ in: most of what is invented is known as such by it, at a fraction of the cost. */
  readonly #loose: string;
  readonly #found = new Map<string, string | undefined>();
  readonly #held = new Map<string, boolean>();

  constructor(messages: readonly string[]) {
    this.#text = messages.join("\n\0\n");
    this.#loose = loose(this.#text);
  }

  /** The same words as the user wrote them, in one line. */
  exactly(words: string): string | undefined {
    if (!this.#found.has(words)) this.#found.set(words, this.#text.includes(words) ? words : this.#nearly(words));
    return this.#found.get(words);
  }

  /** The same, also where the user wrote them in several lines. */
  inLines(quote: string): string | undefined {
    const words = trimQuoteEnd(quote);
    return (
      this.exactly(quote) ??
      (this.#mayHold(words) ? looseForm(words, String.raw`\s+`).exec(this.#text)?.[0] : undefined)
    );
  }

  #nearly(quote: string): string | undefined {
    const words = trimQuoteEnd(quote);
    if (!this.#mayHold(words)) return undefined;
    return this.#text.includes(words) ? words : looseForm(words, String.raw`[^\S\n]+`).exec(this.#text)?.[0];
  }

  #mayHold(words: string): boolean {
    if (words === "" || words.length > nearQuoteCharsMax) return false;
    const form = loose(words);
    if (!this.#held.has(form)) this.#held.set(form, this.#loose.includes(form));
    return this.#held.get(form) === true;
  }
}

/** Without the signs that a sentence or a cut ends with. */
const trimQuoteEnd = (quote: string): string => quote.slice(0, endWithout(/[\s….,;:!?]/, quote)).trimStart();

const loose = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/["“”'‘’]/g, "'")
    .replaceAll(/\s+/g, " ");

const looseForm = (words: string, gap: string): RegExp =>
  new RegExp(
    words
      .split(/\s+/)
      .map((word) =>
        word
          .split(/["“”'‘’]/)
          .map((part) => RegExp.escape(part))
          .join(`["“”'‘’]`),
      )
      .join(gap),
    "iu",
  );

function rewritePass(text: string, said: UserText): CleanedText {
  const lines = markLines(text);
  const reworded = new Set(lines.flatMap((line) => (isRetelling(line, said) ? [line.announcedAt] : [])));
  return joinRewritten(
    lines.map((line, at) => {
      if (reworded.has(at)) return reword(line.line);
      return reworded.has(line.announcedAt) && isRetelling(line, said) ? undefined : rewrite(line, said);
    }),
    lines,
  );
}

/** A last resort that always ends: every pass takes lines away. */
const removingPass = (text: string, said: UserText): CleanedText => {
  const lines = markLines(text);
  return joinRewritten(
    lines.map(({ marks }) => {
      const wrong = marks.find(({ words }) => said.exactly(words) !== words);
      return wrong === undefined ? undefined : { lines: [], change: removalNote(wrong.words) };
    }),
    lines,
  );
};

interface RewrittenLine {
  readonly lines: readonly string[];
  readonly change: string;
}

function joinRewritten(rewritten: readonly (RewrittenLine | undefined)[], lines: readonly MarkedLine[]): CleanedText {
  const text = lines.flatMap(({ line }, at) => rewritten[at]?.lines ?? [line]).join("\n");
  return { text, changes: rewritten.flatMap((one) => (one === undefined ? [] : [one.change])) };
}

/** Announced and in no message, but not set as a quote either: somebody tells in other words what was asked. */
const isRetelling = ({ line, marks, announcedAt }: MarkedLine, said: UserText): boolean =>
  announcedAt !== undefined && !isSetAsQuote(line) && marks.some(({ words }) => said.exactly(words) === undefined);

const isSetAsQuote = (line: string): boolean => /^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?[>"“„«'‘]/.test(line);

const reword = (line: string): RewrittenLine => {
  const colon = /:[*_\s]*$/.exec(line)?.index ?? line.trimEnd().length;
  return {
    lines: [`${line.slice(0, colon).trimEnd()} ${notTheirWords}${line.slice(colon)}`],
    change: `Said of a list that it is not in the user's words: ${quoteShort(line)}`,
  };
};

function rewrite({ line, marks }: MarkedLine, said: UserText): RewrittenLine | undefined {
  const wrong = marks.filter(({ words }) => said.exactly(words) !== words);
  const [first] = wrong;
  if (first === undefined) return undefined;
  const invented = wrong.find(({ words }) => said.exactly(words) === undefined);
  return invented === undefined ? correctQuotes(line, { wrong, said }) : unmarkQuote(line, { invented, marks, said });
}

function correctQuotes(line: string, { wrong, said }: { wrong: readonly QuoteMark[]; said: UserText }): RewrittenLine {
  const right = wrong.reduceRight(
    (text, { words, from, to }) => text.slice(0, from) + (said.exactly(words) ?? words) + text.slice(to),
    line,
  );
  return {
    lines: [right],
    change: `Set a quote of the user right: ${quoteShort(wrong.map(({ words }) => words).join(" "))}`,
  };
}

interface InventedQuote {
  readonly invented: QuoteMark;
  readonly marks: readonly QuoteMark[];
  readonly said: UserText;
}

function unmarkQuote(line: string, { invented, marks, said }: InventedQuote): RewrittenLine {
  switch (invented.kind) {
    case "message": {
      const right = wordsKept(line, { invented, said });
      const lines = [...headingPart(line, invented), ...right.map((words) => `- "${words}"`)];
      return {
        lines,
        change: right.length === 0 ? removalNote(line) : `Kept of a line only what the user wrote: ${quoteShort(line)}`,
      };
    }
    case "announced":
      return { lines: [], change: removalNote(line) };
    case "said": {
      const before = line.slice(0, invented.start).trimEnd();
      return { lines: /[\p{L}\p{N}]/u.test(before) ? [before] : [], change: removalNote(line.slice(invented.start)) };
    }
    case "labelled":
      return {
        lines: [`${line.slice(0, line.indexOf(":")).trimEnd()} –${line.slice(line.indexOf(":") + 1)}`],
        change: `Took a label in the user's name off a line: ${quoteShort(line)}`,
      };
    case "quoted":
      return {
        lines: [
          marks.reduceRight(
            (text, { words, from, to }) =>
              said.exactly(words) === undefined ? text.slice(0, from - 1) + words + text.slice(to + 1) : text,
            line,
          ),
        ],
        change: `Took quotation marks off words that the user did not write: ${quoteShort(invented.words)}`,
      };
  }
}

/**
 * What of a line under All User Messages is the user's: what stands in quotes, else all of it, as they wrote it. Models
 * shorten long messages by an ellipsis or a note in brackets: the parts around these count one by one.
 */
function wordsKept(line: string, { invented, said }: Pick<InventedQuote, "invented" | "said">): readonly string[] {
  const quotes = quotesIn(line);
  const outer = line.slice(line.search(/["“]/) + 1, Math.max(line.lastIndexOf('"'), line.lastIndexOf("”")));
  const whole = said.inLines(quotes.length === 0 ? invented.words : outer);
  if (whole !== undefined) return [whole];
  return (quotes.length === 0 ? [invented.words] : quotes).flatMap((quote) => {
    const exact = said.inLines(quote);
    if (exact !== undefined) return [exact];
    const parts = quote.split(/\.{3}|…|\[[^\]]*\]/).map((part) => part.trim());
    return parts.flatMap((part) => (part.length < quotePartCharsMin ? [] : (said.inLines(part) ?? [])));
  });
}

/** Of a heading with words behind it, the heading. */
const headingPart = (line: string, { start }: QuoteMark): readonly string[] =>
  start === 0 ? [] : [line.slice(0, start).trimEnd()];

const removalNote = (words: string): string =>
  `Removed a line in the user's name that is in no message: ${quoteShort(words)}`;
const quoteShort = (words: string): string =>
  JSON.stringify(clipText(words.trim().replaceAll(/\s+/g, " "), changeCharsMax));
