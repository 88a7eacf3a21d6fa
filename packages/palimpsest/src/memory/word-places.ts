import { isEmptyWord, splitWords } from "./content-words.ts";
import { trustPlacesMax, trustRunPairs } from "./limits.ts";

interface WantedWords {
  readonly words: ReadonlySet<string>;
  /** Content words in a row, by their words joined. */
  readonly runs: ReadonlyMap<string, readonly string[]>;
}

/**
 * Where the given words stand in some texts. Texts are far apart, so that no stretch crosses from one to the next.
 * Occurrences are numbered in the order of the texts: numbers sort much faster than objects, and there are millions.
 */
export class WordPlaces {
  readonly #idByWord = new Map<string, number>();
  /** By the word's id, in ascending order. */
  readonly #occurrences: number[][] = [];
  /** By occurrence. */
  readonly #wordIds: number[] = [];
  readonly #places: number[] = [];
  readonly #runsFound = new Map<string, readonly string[]>();
  #placesLeft = trustPlacesMax;

  constructor(texts: readonly string[], { words, runs }: WantedWords) {
    const sizes = [...new Set([...runs.values()].map((run) => run.length))];
    let at = 0;
    for (const text of texts) {
      let row: string[] = [];
      for (const word of splitWords(text)) {
        at += 1;
        if (isEmptyWord(word)) continue;
        if (!words.has(word)) {
          if (row.length > 0) row = [];
          continue;
        }
        this.#add(word, at);
        if (row.push(word) > trustRunPairs) row.shift();
        this.#findRuns(row, { sizes, runs });
      }
      at += textGap;
    }
  }

  #add(word: string, at: number): void {
    const id = this.#idByWord.get(word) ?? this.#idByWord.size;
    if (id === this.#idByWord.size) {
      this.#idByWord.set(word, id);
      this.#occurrences.push([]);
    }
    this.#occurrences[id]?.push(this.#places.length);
    this.#wordIds.push(id);
    this.#places.push(at);
  }

  #findRuns(
    row: readonly string[],
    { sizes, runs }: { readonly sizes: readonly number[]; readonly runs: WantedWords["runs"] },
  ): void {
    for (const size of sizes) {
      if (row.length < size) continue;
      const key = row.slice(-size).join(" ");
      const run = runs.get(key);
      if (run !== undefined) this.#runsFound.set(key, run);
    }
  }

  /** Of the runs that were asked for, those that stand in a text. */
  get runsFound(): readonly (readonly string[])[] {
    return [...this.#runsFound.values()];
  }

  /** Whether so many places were looked at that shares are no longer computed. */
  get isSpent(): boolean {
    return this.#placesLeft <= 0;
  }

  has(word: string): boolean {
    return this.#idByWord.has(word);
  }

  /** The largest share of these words that stand within one stretch. */
  share(words: ReadonlySet<string>, stretch: number): number {
    const lists = [...words].map((word) => this.#occurrences[this.#idByWord.get(word) ?? -1] ?? []);
    const count = lists.reduce((sum, { length }) => sum + length, 0);
    this.#placesLeft -= count;
    if (words.size === 0 || this.isSpent) return 0;
    return this.#mostWithin(sortOccurrences(lists, count), stretch) / words.size;
  }

  /** The largest number of different words among these occurrences within one stretch. */
  #mostWithin(occurrences: Uint32Array, stretch: number): number {
    const [places, wordIds] = [this.#places, this.#wordIds];
    const countById = new Uint32Array(this.#idByWord.size);
    let [from, different, most] = [0, 0, 0];
    for (const occurrence of occurrences) {
      if (increase(countById, wordIds[occurrence] ?? 0, 1) === 1) different += 1;
      for (;;) {
        const first = occurrences[from] ?? 0;
        if ((places[occurrence] ?? 0) - (places[first] ?? 0) <= stretch) break;
        if (increase(countById, wordIds[first] ?? 0, -1) === 0) different -= 1;
        from += 1;
      }
      most = Math.max(most, different);
    }
    return most;
  }
}

function sortOccurrences(lists: readonly (readonly number[])[], count: number): Uint32Array {
  const occurrences = new Uint32Array(count);
  let at = 0;
  for (const list of lists) {
    occurrences.set(list, at);
    at += list.length;
  }
  return occurrences.toSorted();
}

function increase(counts: Uint32Array, at: number, by: number): number {
  const count = (counts[at] ?? 0) + by;
  counts[at] = count;
  return count;
}

/** More than any stretch. */
const textGap = 1_000_000;
