import { contentWords } from "../content-words.ts";
import { parseMemory } from "../directory/memory-text.ts";
import { findNames, splitSentences } from "../find-unsourced.ts";
import { stripLinks } from "./dead-links.ts";
import { factShareMin, factWordsExact } from "./limits.ts";
import { findRelativeDate, markDates, markRelativeDates, stripRelativeDates } from "./relative-dates.ts";
import { findNegated, spell } from "./sentence-words.ts";

/** One sentence of a memory, as far as words can tell what it says. */
export interface Fact {
  readonly sentence: string;
  readonly words: ReadonlySet<string>;
  /** Words that a negation covers: "not on Friday". */
  readonly negated: ReadonlySet<string>;
  /** Numbers, paths and identifiers. */
  readonly names: readonly string[];
}

/**
 * What a memory says: the sentences of its text. The name and the description say what it is about, so that they are facts
 * only of a memory without text.
 */
export function readFacts(text: string, path: string): readonly Fact[] {
  const { body, description } = parseMemory(text, path);
  return splitSentences(stripLinks(body.trim() === "" ? description : body))
    .map((sentence) => readFact(sentence))
    .filter(({ words }) => words.size > 0);
}

export function readFact(sentence: string): Fact {
  // "Tomorrow" becomes a date.
  const lasting = stripRelativeDates(sentence);
  const words = new Set(contentWords(lasting));
  return { sentence, words, negated: findNegated(lasting), names: findNames(lasting) };
}

interface StandingSentence {
  readonly text: number;
  readonly lower: string;
  readonly words: ReadonlySet<string>;
  readonly negated: ReadonlySet<string>;
}

/** Which facts some texts state. */
export class StandingFacts {
  readonly #sentences: StandingSentence[] = [];
  readonly #placesByWord = new Map<string, number[]>();
  /** One to three sentences in a row, as their words; and the same with a mark for each date. */
  readonly #spelled = new Set<string>();
  readonly #dated = new Set<string>();

  constructor(texts: readonly string[]) {
    for (const [text, whole] of texts.entries()) {
      const sentences = splitSentences(stripLinks(whole));
      addRuns(sentences.map(spell), this.#spelled);
      addRuns(
        sentences.map((sentence) => spell(markDates(sentence))),
        this.#dated,
      );
      for (const sentence of sentences) {
        const words = new Set(contentWords(sentence));
        const place = this.#sentences.length;
        this.#sentences.push({ text, lower: sentence.toLowerCase(), words, negated: findNegated(sentence) });
        for (const word of words) {
          const places = this.#placesByWord.get(word);
          if (places === undefined) this.#placesByWord.set(word, [place]);
          else places.push(place);
        }
      }
    }
  }

  /**
   * Whether a text has the fact as whole sentences, with all its words in their order. One sentence may have become two or
   * three, and a date may stand for "tomorrow". Other words, another order or a word more count as another fact. A title of
   * one word stands if the word does.
   */
  states(fact: Fact): boolean {
    const { sentence } = fact;
    const spelled = spell(sentence);
    if (this.#spelled.has(spelled)) return true;
    if (findRelativeDate(sentence) !== undefined && this.#dated.has(spell(markRelativeDates(sentence)))) return true;
    return !spelled.includes(" ") && this.resembles(fact);
  }

  /**
   * Whether a text has its words within three sentences, the same ones negated: all of them if they are few, nearly all if
   * they are many, and in any case its names and numbers. It tells where a text may come from, not that it says the same.
   */
  resembles(fact: Fact): boolean {
    const starts = new Set<number>();
    for (const word of fact.words)
      for (const place of this.#placesByWord.get(word) ?? [])
        for (let start = Math.max(0, place - windowSentences + 1); start <= place; start += 1) starts.add(start);
    return [...starts].some((start) => this.#holds(fact, start));
  }

  #holds({ words, negated, names }: Fact, start: number): boolean {
    const first = this.#sentences[start];
    const window = this.#sentences.slice(start, start + windowSentences).filter(({ text }) => text === first?.text);
    const found = [...words].filter((word) =>
      window.some((sentence) => sentence.words.has(word) && sentence.negated.has(word) === negated.has(word)),
    );
    const shareMin = words.size <= factWordsExact ? 1 : factShareMin;
    if (found.length < shareMin * words.size) return false;
    return names.every((name) => window.some(({ lower }) => lower.includes(name)));
  }
}

function addRuns(spelled: readonly string[], into: Set<string>): void {
  for (const start of spelled.keys())
    for (let size = 1; size <= windowSentences; size += 1) into.add(spelled.slice(start, start + size).join(" "));
}

/** One sentence may become two, and a list item gets a sentence before it. */
const windowSentences = 3;
