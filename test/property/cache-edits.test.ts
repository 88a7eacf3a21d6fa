import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { WireUsage } from "../../packages/palimpsest/src/schema/wire/reply-message.ts";
import { editedVariantsMax, lookBackMax } from "../../packages/palimpsest/src/cache/limits.ts";
import { Deleting, deletingRequest, idsOf } from "../fixture/deleting.ts";
import { parametersFor } from "./runs.ts";

/** A request: so many rounds, of which these results are deleted. Clients go on, go back, forget, and wait. */
interface Step {
  readonly rounds: number;
  readonly deleted: readonly number[];
  readonly waitMillis: number;
  readonly loss: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  rounds: fc.integer({ min: 1, max: 16 }),
  deleted: fc.uniqueArray(fc.integer({ min: 1, max: 15 }), { maxLength: 5 }),
  waitMillis: fc.constantFrom(0, 0, 1_000, 150_000, 299_999, 300_000),
  loss: fc.constantFrom(false, false, false, false, false, false, true),
});

/** Steps in which most requests delete what the one before them did, and more. */
const steps = fc
  .array(fc.tuple(step, fc.constantFrom("again", "again", "anew")), { minLength: 2, maxLength: 20 })
  .map((drawn) => {
    const taken: Step[] = [];
    for (const [one, way] of drawn) {
      const pinned = way === "again" ? (taken.at(-1)?.deleted ?? []) : [];
      taken.push({ ...one, deleted: [...new Set([...pinned, ...one.deleted])] });
    }
    return taken;
  });

interface Entry {
  readonly rounds: number;
  readonly without: ReadonlySet<string>;
  until: number;
}

/** Every prefix that was ever written, what it was written without, and until when it may be read. Newest first. */
class Oracle {
  #entries: Entry[] = [];

  lose(): void {
    this.#entries = [];
  }

  /** The longest that may be read; of several the one without the most. */
  found({ rounds, asked, at }: Asked): Entry | undefined {
    return (
      this.#entries
        .filter((entry) => entry.until > at && [...entry.without].every((id) => asked.includes(id)))
        // A round is two blocks: a call and its result.
        .filter((entry) => entry.rounds <= rounds && 2 * (rounds - entry.rounds) < lookBackMax)
        .toSorted((one, other) => other.rounds - one.rounds || other.without.size - one.without.size)[0]
    );
  }

  begin({ rounds, at }: Asked, { found, applied }: { found: Entry | undefined; applied: readonly string[] }): void {
    if (found !== undefined) found.until = Math.max(found.until, at + 300_000);
    if (found?.rounds === rounds) return;
    const without = new Set(applied);
    const isSame = (entry: Entry): boolean =>
      entry.rounds === rounds && entry.without.symmetricDifference(without).size === 0;
    this.#entries = [{ rounds, without, until: at + 300_000 }, ...this.#entries.filter((entry) => !isSame(entry))];
    const edited = this.#entries.filter((entry) => entry.rounds === rounds && entry.without.size > 0);
    const forgotten = new Set(edited.slice(editedVariantsMax));
    this.#entries = this.#entries.filter((entry) => !forgotten.has(entry));
  }
}

interface Asked {
  readonly rounds: number;
  readonly asked: readonly string[];
  readonly at: number;
}

/** Tokens of a conversation of so many rounds, and of each result by itself. */
interface Sizes {
  readonly upTo: readonly number[];
  readonly byResult: ReadonlyMap<string, number>;
}

async function sizes(): Promise<Sizes> {
  const deleting = new Deleting();
  const upTo = Array.from({ length: 17 }, (_, rounds) => Number(deleting.asking.count(deletingRequest(rounds))));
  await deleting.message(16);
  const byResult = new Map<string, number>();
  for (const id of idsOf(15)) {
    const { cache_edits: report } = await deleting.message(16, [id]);
    byResult.set(id, report?.deleted_input_tokens ?? 0);
  }
  return { upTo, byResult };
}

const tokensOf = (ids: readonly string[], { byResult }: Sizes): number =>
  ids.reduce((sum, id) => sum + (byResult.get(id) ?? NaN), 0);

describe("random sequences of rounds and deletions", () => {
  it("save of a round everything but its call", async () => {
    const { upTo, byResult } = await sizes();
    const calls = idsOf(15).map((id, at) => (upTo[at + 1] ?? NaN) - (upTo[at] ?? NaN) - (byResult.get(id) ?? NaN));
    expect(new Set(calls).size).toBe(1);
    expect(calls[0]).toBeLessThan(30);
    expect(calls[0]).toBeGreaterThan(0);
  });

  it("give usage that can be explained, and show nothing that is deleted", async () => {
    const known = await sizes();
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const deleting = new Deleting();
        const oracle = new Oracle();
        let at = 0;
        for (const { rounds, deleted, waitMillis, loss } of taken) {
          at += waitMillis;
          deleting.simulator.clock.advance(millis(waitMillis));
          if (loss) {
            deleting.simulator.cache.lose();
            oracle.lose();
          }
          // The newest result is not answered yet.
          const asked = deleted.filter((one) => one < rounds).map((one) => `toolu_${one}`);
          const found = oracle.found({ rounds, asked, at });
          const applied = asked.filter((id) => idsOf(found?.rounds ?? 0).includes(id));
          const { usage, cache_edits: report } = await deleting.message(rounds, asked);
          const left = tokensOf(applied, known);
          if (asked.length > 0)
            expect(report).toEqual({
              applied,
              ignored: asked.filter((id) => !applied.includes(id)),
              deleted_input_tokens: left,
            });
          const read = found === undefined ? 0 : (known.upTo[found.rounds] ?? NaN) - left;
          expect(partsOf(usage)).toEqual([read, (known.upTo[rounds] ?? NaN) - left - read, 0]);
          expect(Math.min(...partsOf(usage))).toBeGreaterThanOrEqual(0);
          expect(deleting.shownIds).toEqual(idsOf(rounds).filter((id) => !applied.includes(id)));
          oracle.begin({ rounds, asked, at }, { found, applied });
        }
      }),
      parametersFor({ quick: 60, long: 1_000 }),
    );
  });
});

/** Read, written, and behind the last breakpoint. */
const partsOf = (usage: WireUsage): readonly number[] => [
  usage.cache_read_input_tokens,
  usage.cache_creation_input_tokens,
  usage.input_tokens,
];
