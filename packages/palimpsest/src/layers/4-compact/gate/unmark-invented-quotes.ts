import { escapeRegExp } from "../../../text/fill-template.ts";
import { clipText } from "../../clip-text.ts";
import { changeCharsMax, nearQuoteCharsMax, quotePartCharsMin, quotePassesMax } from "../limits.ts";
import { endWithout, type QuoteMark, type MarkedLine, markLines, notTheirWords, quotesIn } from "./quote-mark.ts";

export interface CleanedText {
  readonly text: string;
  /** One line for each, for the user. */
  readonly changes: readonly string[];
}

/**
 * Removes quotes from a summary that the user never said: afterwards every string that is marked as the user's is a
 * substring of one of their messages. A quote that differs in case, spaces or the last sign is corrected; lines that
 * are nothing but an invented quote are removed; text in a sentence or a list stays and loses its marks.
 */
export function unmarkInventedQuotes(summary: string, userMessages: readonly string[]): CleanedText {
  const userText = new UserText(userMessages);
  const changes: string[] = [];
  let text = summary;
  // Removing marks can uncover others.
  for (let pass = 0; ; pass += 1) {
    const next = (pass < quotePassesMax ? rewritePass : removalPass)(text, userText);
    if (next.changes.length === 0) return { text, changes };
    changes.push(...next.changes);
    text = next.text;
  }
}

/**
 * The user's messages, for looking up quotes. A quote is within one line, so it never matches the separator between
 * messages.
 */
class UserText {
  readonly #text: string;
  /**
   * Normalised text, without what a quote may differ in. It identifies most invented quotes at a fraction of the cost.
   */
  readonly #loose: string;
  readonly #found = new Map<string, string | undefined>();
  readonly #held = new Map<string, boolean>();

  constructor(messages: readonly string[]) {
    this.#text = messages.join("\n\0\n");
    this.#loose = loose(this.#text);
  }

  /** The words as the user wrote them, in one line. */
  exactly(words: string): string | undefined {
    if (!this.#found.has(words)) this.#found.set(words, this.#text.includes(words) ? words : this.#nearly(words));
    return this.#found.get(words);
  }

  /** The same, even if the user wrote them in several lines. */
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

/** The quote without the signs that end a sentence or mark a cut. */
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
          .map((part) => escapeRegExp(part))
          .join(`["“”'‘’]`),
      )
      .join(gap),
    "iu",
  );

function rewritePass(text: string, userText: UserText): CleanedText {
  const lines = markLines(text);
  const reworded = new Set(lines.flatMap((line) => (isRetelling(line, userText) ? [line.announcedAt] : [])));
  return joinRewritten(
    lines.map((line, at) => {
      if (reworded.has(at)) return reword(line.line);
      return reworded.has(line.announcedAt) && isRetelling(line, userText) ? undefined : rewrite(line, userText);
    }),
    lines,
  );
}

/** A last resort that always terminates: every pass removes lines. */
const removalPass = (text: string, userText: UserText): CleanedText => {
  const lines = markLines(text);
  return joinRewritten(
    lines.map(({ marks }) => {
      const wrong = marks.find(({ words }) => userText.exactly(words) !== words);
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
  return { text, changes: rewritten.flatMap((line) => (line === undefined ? [] : [line.change])) };
}

/** An announced text that is in no message, but not set as a quote either: it retells in other words what was asked. */
const isRetelling = ({ line, marks, announcedAt }: MarkedLine, userText: UserText): boolean =>
  announcedAt !== undefined && !isSetAsQuote(line) && marks.some(({ words }) => userText.exactly(words) === undefined);

const isSetAsQuote = (line: string): boolean => /^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?[>"“„«'‘]/.test(line);

const reword = (line: string): RewrittenLine => {
  const colon = /:[*_\s]*$/.exec(line)?.index ?? line.trimEnd().length;
  return {
    lines: [`${line.slice(0, colon).trimEnd()} ${notTheirWords}${line.slice(colon)}`],
    change: `Noted that a list is not in the user's words: ${quoteShort(line)}`,
  };
};

function rewrite({ line, marks }: MarkedLine, userText: UserText): RewrittenLine | undefined {
  const wrong = marks.filter(({ words }) => userText.exactly(words) !== words);
  const [first] = wrong;
  if (first === undefined) return undefined;
  const invented = wrong.find(({ words }) => userText.exactly(words) === undefined);
  return invented === undefined
    ? correctQuotes(line, { wrong, userText })
    : unmarkQuote(line, { invented, marks, userText });
}

function correctQuotes(
  line: string,
  { wrong, userText }: { wrong: readonly QuoteMark[]; userText: UserText },
): RewrittenLine {
  const right = wrong.reduceRight(
    (text, { words, from, to }) => text.slice(0, from) + (userText.exactly(words) ?? words) + text.slice(to),
    line,
  );
  return {
    lines: [right],
    change: `Corrected a quote of the user: ${quoteShort(wrong.map(({ words }) => words).join(" "))}`,
  };
}

interface InventedQuote {
  readonly invented: QuoteMark;
  readonly marks: readonly QuoteMark[];
  readonly userText: UserText;
}

function unmarkQuote(line: string, { invented, marks, userText }: InventedQuote): RewrittenLine {
  switch (invented.kind) {
    case "message": {
      const right = wordsKept(line, { invented, userText });
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
              userText.exactly(words) === undefined ? text.slice(0, from - 1) + words + text.slice(to + 1) : text,
            line,
          ),
        ],
        change: `Took quotation marks off words that the user did not write: ${quoteShort(invented.words)}`,
      };
  }
}

/**
 * The parts of a line under All User Messages that are the user's: what is in quotes, else all of it, as they wrote it.
 * Models shorten long messages with an ellipsis or a note in brackets; the parts around these are checked separately.
 */
function wordsKept(
  line: string,
  { invented, userText }: Pick<InventedQuote, "invented" | "userText">,
): readonly string[] {
  const quotes = quotesIn(line);
  const outer = line.slice(line.search(/["“]/) + 1, Math.max(line.lastIndexOf('"'), line.lastIndexOf("”")));
  const whole = userText.inLines(quotes.length === 0 ? invented.words : outer);
  if (whole !== undefined) return [whole];
  return (quotes.length === 0 ? [invented.words] : quotes).flatMap((quote) => {
    const exact = userText.inLines(quote);
    if (exact !== undefined) return [exact];
    const parts = quote.split(/\.{3}|…|\[[^\]]*\]/).map((part) => part.trim());
    return parts.flatMap((part) => (part.length < quotePartCharsMin ? [] : (userText.inLines(part) ?? [])));
  });
}

/** The heading of a line that has words behind it. */
const headingPart = (line: string, { start }: QuoteMark): readonly string[] =>
  start === 0 ? [] : [line.slice(0, start).trimEnd()];

const removalNote = (words: string): string =>
  `Removed a line in the user's name that is in no message: ${quoteShort(words)}`;
const quoteShort = (words: string): string =>
  JSON.stringify(clipText(words.trim().replaceAll(/\s+/g, " "), changeCharsMax));
