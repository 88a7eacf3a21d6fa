import { contentWords } from "../content-words.ts";
import { parseMemory } from "../directory/memory-text.ts";
import { findNames, splitSentences } from "../find-unsourced.ts";
import { stripLinks } from "./dead-links.ts";
import { factShareMin, factWordsExact } from "./limits.ts";
import { stripRelativeDates } from "./relative-dates.ts";

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
    .map(readFact)
    .filter(({ words }) => words.size > 0);
}

function readFact(sentence: string): Fact {
  // "Tomorrow" becomes a date.
  const lasting = stripRelativeDates(sentence);
  const words = new Set(contentWords(lasting));
  return { sentence, words, negated: findNegated(lasting), names: findNames(lasting) };
}

const negation =
  /\b(?:not|never|no|none|nor|without|off|except|unless|avoid|stop|instead|cannot|\w+n't|nicht|kein\w*|nie|niemals|ohne|jamais|sans|nunca|sin)\b|[不没非无]|ない/iu;

function findNegated(sentence: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const clause of sentence.split(/[,;:()–—]|\bbut\b|\baber\b/iu)) {
    const at = clause.search(negation);
    if (at !== -1) for (const word of contentWords(clause.slice(at))) words.add(word);
  }
  return words;
}

interface StandingSentence {
  readonly text: number;
  readonly lower: string;
  readonly words: ReadonlySet<string>;
  readonly negated: ReadonlySet<string>;
}

/**
 * Which facts some texts state. A fact stands in a text if its words stand there within three sentences, the same ones
 * negated: all of them if they are few, nearly all if they are many, and in any case its names and numbers. It says
 * nothing about the order of words, and nothing about a paraphrase in other words: that one counts as gone.
 */
export class StandingFacts {
  readonly #sentences: StandingSentence[] = [];
  readonly #placesByWord = new Map<string, number[]>();
  readonly #known = new Set<string>();

  constructor(texts: readonly string[]) {
    for (const [text, whole] of texts.entries())
      for (const sentence of splitSentences(stripLinks(whole))) {
        const words = new Set(contentWords(sentence));
        const place = this.#sentences.length;
        this.#sentences.push({ text, lower: sentence.toLowerCase(), words, negated: findNegated(sentence) });
        this.#known.add(sentence);
        for (const word of words) {
          const places = this.#placesByWord.get(word);
          if (places === undefined) this.#placesByWord.set(word, [place]);
          else places.push(place);
        }
      }
  }

  has(fact: Fact): boolean {
    if (this.#known.has(fact.sentence)) return true;
    const starts = new Set<number>();
    for (const word of fact.words)
      for (const place of this.#placesByWord.get(word) ?? [])
        for (let start = Math.max(0, place - windowSentences + 1); start <= place; start += 1) starts.add(start);
    return [...starts].some((start) => this.#states(fact, start));
  }

  #states({ words, negated, names }: Fact, start: number): boolean {
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

/** One sentence may become two, and a list item gets a sentence before it. */
const windowSentences = 3;
