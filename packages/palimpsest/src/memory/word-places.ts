import { isEmptyWord, splitWords } from "./content-words.ts";
import { trustPlacesMax, trustRunPairs } from "./limits.ts";

interface WantedWords {
  readonly words: ReadonlySet<string>;
  /** Content words in a row, by their words joined. */
  readonly runs: ReadonlyMap<string, readonly string[]>;
}

/** Where the given words stand in some texts. Texts are far apart, so that no stretch crosses from one to the next. */
export class WordPlaces {
  readonly #placesByWord = new Map<string, number[]>();
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
          row = [];
          continue;
        }
        const places = this.#placesByWord.get(word);
        if (places === undefined) this.#placesByWord.set(word, [at]);
        else places.push(at);
        row = [...row.slice(1 - trustRunPairs), word];
        this.#findRuns(row, { sizes, runs });
      }
      at += textGap;
    }
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
    return this.#placesByWord.has(word);
  }

  /** The largest share of these words that stand within one stretch. */
  share(words: ReadonlySet<string>, stretch: number): number {
    for (const word of words) this.#placesLeft -= this.#placesByWord.get(word)?.length ?? 0;
    if (words.size === 0 || this.isSpent) return 0;
    const places = [...words]
      .flatMap((word) => (this.#placesByWord.get(word) ?? []).map((at) => ({ at, word })))
      .toSorted((one, other) => one.at - other.at);
    const countByWord = new Map<string, number>();
    let [from, most] = [0, 0];
    for (const { at, word } of places) {
      countByWord.set(word, (countByWord.get(word) ?? 0) + 1);
      for (let first = places[from]; first !== undefined && at - first.at > stretch; first = places[from]) {
        const count = (countByWord.get(first.word) ?? 1) - 1;
        if (count === 0) countByWord.delete(first.word);
        else countByWord.set(first.word, count);
        from += 1;
      }
      most = Math.max(most, countByWord.size);
    }
    return most / words.size;
  }
}

/** More than any stretch. */
const textGap = 1_000_000;
