import type { Passage } from "./passages.ts";
import { eachTerm, type Term } from "./terms.ts";

/** A passage and the text it is of, by number. */
export interface StoredPassage extends Passage {
  readonly text: number;
  /** How many terms it has. */
  readonly terms: number;
}

export interface NewPassage extends Passage {
  readonly within: string;
  /** The number of the text. */
  readonly text: number;
}

/** Which passages have a term, and how often. Numbers are given in order and stay. */
export class Postings {
  /** Passage, count, passage, count …, by term. */
  readonly #byTerm = new Map<Term, number[]>();
  readonly #stored: StoredPassage[] = [];
  readonly #only: ReadonlySet<Term> | undefined;
  #passages = 0;
  #terms = 0;

  /** `only`: no other terms are kept, nor passages that have none of these. */
  constructor(only?: ReadonlySet<Term>) {
    this.#only = only;
  }

  /** All that were added, also those that are not kept. */
  get passages(): number {
    return this.#passages;
  }

  get termsMean(): number {
    return this.#passages === 0 ? 0 : this.#terms / this.#passages;
  }

  /** Whether it is kept. */
  add({ within, from, to, text }: NewPassage): "kept" | "passed-over" {
    const number = this.#stored.length;
    let terms = 0;
    let kept = 0;
    eachTerm({ text: within, from, to }, (term) => {
      terms += 1;
      if (this.#only !== undefined && !this.#only.has(term)) return;
      kept += 1;
      this.#count(term, number);
    });
    this.#passages += 1;
    this.#terms += terms;
    if (kept === 0) return "passed-over";
    this.#stored.push({ from, to, text, terms });
    return "kept";
  }

  /** Passage, count, passage, count …, in the order of the passages. */
  of(term: Term): readonly number[] {
    return this.#byTerm.get(term) ?? [];
  }

  passage(number: number): StoredPassage {
    const found = this.#stored[number];
    if (found === undefined) throw new RangeError(`there is no passage ${number}`);
    return found;
  }

  #count(term: Term, passage: number): void {
    const posting = this.#byTerm.get(term);
    if (posting === undefined) {
      this.#byTerm.set(term, [passage, 1]);
      return;
    }
    const last = posting.length - 1;
    if (posting[last - 1] === passage) posting[last] = (posting[last] ?? 0) + 1;
    else posting.push(passage, 1);
  }
}
