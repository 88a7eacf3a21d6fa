import { clipped } from "../1-offload/cut.ts";
import { changeCharsMax, nearQuoteCharsMax, quotePartCharsMin, quotePassesMax } from "./limits.ts";
import { endWithout, type Mark, type MarkedLine, markedLines, notTheirWords, quotesIn } from "./quote-marks.ts";

export interface Unmarked {
  readonly text: string;
  /** A line for each, for a person. */
  readonly changes: readonly string[];
}

/**
 * Takes out of a summary what it puts into the user's mouth: afterwards every string that is marked as the user's is a
 * substring of one of their messages. A quote that differs in case, spaces or the last sign is set right; lines that are
 * nothing but an invented quote go; what is told in a sentence or a list stays, and loses its marks.
 */
export function unmarkInventedQuotes(summary: string, userMessages: readonly string[]): Unmarked {
  const said = new Said(userMessages);
  const changes: string[] = [];
  let text = summary;
  // Taking marks away can uncover others.
  for (let pass = 0; ; pass += 1) {
    const next = (pass < quotePassesMax ? rewrittenPass : removingPass)(text, said);
    if (next.changes.length === 0) return { text, changes };
    changes.push(...next.changes);
    text = next.text;
  }
}

/** What the user said, to look quotes up in. A quote lies in one line, so what joins two messages is in none. */
class Said {
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
    const words = closed(quote);
    return (
      this.exactly(quote) ??
      (this.#mayHold(words) ? looseForm(words, String.raw`\s+`).exec(this.#text)?.[0] : undefined)
    );
  }

  #nearly(quote: string): string | undefined {
    const words = closed(quote);
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
const closed = (quote: string): string => quote.slice(0, endWithout(/[\s….,;:!?]/, quote)).trimStart();

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

function rewrittenPass(text: string, said: Said): Unmarked {
  const lines = markedLines(text);
  const reworded = new Set(lines.flatMap((line) => (isRetelling(line, said) ? [line.announcedAt] : [])));
  return joined(
    lines.map((line, at) => {
      if (reworded.has(at)) return reword(line.line);
      return reworded.has(line.announcedAt) && isRetelling(line, said) ? undefined : rewrite(line, said);
    }),
    lines,
  );
}

/** A last resort that always ends: every pass takes lines away. */
const removingPass = (text: string, said: Said): Unmarked => {
  const lines = markedLines(text);
  return joined(
    lines.map(({ marks }) => {
      const wrong = marks.find(({ words }) => said.exactly(words) !== words);
      return wrong === undefined ? undefined : { lines: [], change: removed(wrong.words) };
    }),
    lines,
  );
};

interface Rewritten {
  readonly lines: readonly string[];
  readonly change: string;
}

function joined(rewritten: readonly (Rewritten | undefined)[], lines: readonly MarkedLine[]): Unmarked {
  const text = lines.flatMap(({ line }, at) => rewritten[at]?.lines ?? [line]).join("\n");
  return { text, changes: rewritten.flatMap((one) => (one === undefined ? [] : [one.change])) };
}

/** Announced and in no message, but not set as a quote either: somebody tells in other words what was asked. */
const isRetelling = ({ line, marks, announcedAt }: MarkedLine, said: Said): boolean =>
  announcedAt !== undefined && !isSetAsQuote(line) && marks.some(({ words }) => said.exactly(words) === undefined);

const isSetAsQuote = (line: string): boolean => /^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?[>"“„«'‘]/.test(line);

const reword = (line: string): Rewritten => {
  const colon = /:[*_\s]*$/.exec(line)?.index ?? line.trimEnd().length;
  return {
    lines: [`${line.slice(0, colon).trimEnd()} ${notTheirWords}${line.slice(colon)}`],
    change: `Said of a list that it is not in the user's words: ${told(line)}`,
  };
};

function rewrite({ line, marks }: MarkedLine, said: Said): Rewritten | undefined {
  const wrong = marks.filter(({ words }) => said.exactly(words) !== words);
  const [first] = wrong;
  if (first === undefined) return undefined;
  const invented = wrong.find(({ words }) => said.exactly(words) === undefined);
  return invented === undefined ? corrected(line, { wrong, said }) : unmarked(line, { invented, marks, said });
}

function corrected(line: string, { wrong, said }: { wrong: readonly Mark[]; said: Said }): Rewritten {
  const right = wrong.reduceRight(
    (text, { words, from, to }) => text.slice(0, from) + (said.exactly(words) ?? words) + text.slice(to),
    line,
  );
  return {
    lines: [right],
    change: `Set a quote of the user right: ${told(wrong.map(({ words }) => words).join(" "))}`,
  };
}

interface Invented {
  readonly invented: Mark;
  readonly marks: readonly Mark[];
  readonly said: Said;
}

function unmarked(line: string, { invented, marks, said }: Invented): Rewritten {
  switch (invented.kind) {
    case "message": {
      const right = wordsKept(line, { invented, said });
      const lines = [...headOf(line, invented), ...right.map((words) => `- "${words}"`)];
      return {
        lines,
        change: right.length === 0 ? removed(line) : `Kept of a line only what the user wrote: ${told(line)}`,
      };
    }
    case "announced":
      return { lines: [], change: removed(line) };
    case "said": {
      const before = line.slice(0, invented.start).trimEnd();
      return { lines: /[\p{L}\p{N}]/u.test(before) ? [before] : [], change: removed(line.slice(invented.start)) };
    }
    case "labelled":
      return {
        lines: [`${line.slice(0, line.indexOf(":")).trimEnd()} –${line.slice(line.indexOf(":") + 1)}`],
        change: `Took a label in the user's name off a line: ${told(line)}`,
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
        change: `Took quotation marks off words that the user did not write: ${told(invented.words)}`,
      };
  }
}

/**
 * What of a line under All User Messages is the user's: what stands in quotes, else all of it, as they wrote it. Models
 * shorten long messages by an ellipsis or a note in brackets: the parts around these count one by one.
 */
function wordsKept(line: string, { invented, said }: Pick<Invented, "invented" | "said">): readonly string[] {
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
const headOf = (line: string, { start }: Mark): readonly string[] =>
  start === 0 ? [] : [line.slice(0, start).trimEnd()];

const removed = (words: string): string => `Removed a line in the user's name that is in no message: ${told(words)}`;
const told = (words: string): string => JSON.stringify(clipped(words.trim().replaceAll(/\s+/g, " "), changeCharsMax));
