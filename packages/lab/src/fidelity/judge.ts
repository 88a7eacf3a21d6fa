import type { Entry } from "palimpsest/internal/schema/entry";
import type { RecordedRound } from "../recording.ts";
import type { Fact } from "./fact.ts";
import { queryCharsMax, recallHitsMax } from "./limits.ts";
import { byKind, type Fates, type FatesByKind } from "./outcome.ts";
import type { ShownText } from "./shown-text.ts";

export type Fate = "shown" | "named" | "found" | "lost";

/** Search over what a session has said so far, however little of it a view shows. */
export interface Recall {
  append(entry: Entry): Promise<void>;
  /** Ids of entries or calls that each of the best hits names, the best first. Nothing in the query is an operator. */
  search(query: string): Promise<readonly (readonly string[])[]>;
}

/** What the view itself tells of a fact; undefined: only recall can say. */
export function fateInView(fact: Fact, shown: ShownText): "shown" | "named" | undefined {
  if (shown.shows(fact)) return "shown";
  return shown.names(fact) ? "named" : undefined;
}

/** Recall over a recording as far as it was said. Asked for rounds in their order, so that one index does for all policies. */
export class RecallAt {
  readonly #recall: Recall;
  readonly #rounds: readonly RecordedRound[];
  readonly #hitsByQuery = new Map<string, ReadonlySet<string>>();
  /** Rounds of which everything up to the request is in the index. */
  #heardRounds = 0;

  constructor(recall: Recall, rounds: readonly RecordedRound[]) {
    this.#recall = recall;
    this.#rounds = rounds;
  }

  /** `compactedIn` must not go back. */
  async finds({ words, ids }: Fact, compactedIn: number): Promise<boolean> {
    await this.#hear(compactedIn);
    const hits = await this.#hits(words.slice(0, queryCharsMax).toWellFormed());
    for (const id of ids) if (hits.has(id)) return true;
    return false;
  }

  async #hits(query: string): Promise<ReadonlySet<string>> {
    const known = this.#hitsByQuery.get(query);
    if (known !== undefined) return known;
    const hits = new Set((await this.#recall.search(query)).slice(0, recallHitsMax).flat());
    this.#hitsByQuery.set(query, hits);
    return hits;
  }

  async #hear(compactedIn: number): Promise<void> {
    if (compactedIn < this.#heardRounds - 1) throw new RangeError(`round ${compactedIn} is behind what was heard`);
    for (; this.#heardRounds <= compactedIn; this.#heardRounds += 1) {
      const last = this.#rounds[this.#heardRounds - 1]?.reply ?? [];
      const next = this.#rounds[this.#heardRounds]?.before ?? [];
      for (const entry of [...last, ...next]) await this.#recall.append(entry);
      this.#hitsByQuery.clear();
    }
  }
}

export interface JudgedFact {
  readonly fact: Fact;
  readonly fate: Fate;
}

export function fatesOf(judged: readonly JudgedFact[]): FatesByKind {
  const byFact = Map.groupBy(judged, ({ fact }) => fact.kind);
  return byKind((kind) => counted(byFact.get(kind) ?? []));
}

function counted(judged: readonly JudgedFact[]): Fates {
  const of = (fate: Fate): number => judged.filter((one) => one.fate === fate).length;
  const named = of("named");
  return { shown: of("shown"), recoverable: named + of("found"), named, lost: of("lost") };
}
