import { strongIdentifiersMin } from "../recording/limits.ts";
import { identifiersIn, longLines, textsIn } from "../needs.ts";
import type { Recording } from "../recording.ts";
import type { Fact } from "./fact.ts";

/**
 * Whether the rounds behind a compaction need what a fact stands in, on strong evidence: of a result what
 * `Recording.needs` says; of what a person said, or a todo, that a later reply repeats a long line of it or several identifiers.
 */
export class LaterNeeds {
  readonly #recording: Recording;
  readonly #lastRoundByLine = new Map<string, number>();
  readonly #roundsByIdentifier = new Map<string, Set<number>>();
  readonly #lastRoundBySaid = new Map<string, number>();

  constructor(recording: Recording) {
    this.#recording = recording;
    for (const [round, { reply }] of recording.rounds.entries())
      for (const words of reply.flatMap(({ blocks }) => blocks.flatMap(textsIn))) this.#add(words, round);
  }

  /** `from`: the first round whose request holds the summary. */
  isNeeded({ calls, said }: Pick<Fact, "calls" | "said">, from: number): boolean {
    for (const call of calls) if ((this.#recording.needs.get(call)?.strongRounds.at(-1) ?? -1) >= from) return true;
    return said !== undefined && this.#lastRepeated(said) >= from;
  }

  #add(words: string, round: number): void {
    for (const line of longLines(words)) this.#lastRoundByLine.set(line, round);
    for (const identifier of identifiersIn(words)) {
      const rounds = this.#roundsByIdentifier.get(identifier);
      if (rounds === undefined) this.#roundsByIdentifier.set(identifier, new Set([round]));
      else rounds.add(round);
    }
  }

  #lastRepeated(said: string): number {
    const known = this.#lastRoundBySaid.get(said);
    if (known !== undefined) return known;
    let last = -1;
    for (const line of longLines(said)) last = Math.max(last, this.#lastRoundByLine.get(line) ?? -1);
    const namedByRound = new Map<number, number>();
    for (const identifier of new Set(identifiersIn(said)))
      for (const round of this.#roundsByIdentifier.get(identifier) ?? []) {
        const named = (namedByRound.get(round) ?? 0) + 1;
        namedByRound.set(round, named);
        if (named >= strongIdentifiersMin) last = Math.max(last, round);
      }
    this.#lastRoundBySaid.set(said, last);
    return last;
  }
}
