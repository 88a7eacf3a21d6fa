import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MadeBlock, madePrompt } from "../../../../test/fixture/made-prompt.ts";
import { millis } from "../schema/brand.ts";
import type { Lifetime } from "./lifetime.ts";
import type { Prompt } from "./prompt.ts";
import { type CachePlan, PromptCache } from "./prompt-cache.ts";
import { countPromptTokens } from "./usage-split.ts";

/**
 * The rules once more, as naively as they can be written: every prefix that was ever written or read, with its content in
 * full and the time until which it may be read. It shares no hash, key, bound or order with the cache.
 */
class Oracle {
  readonly #known: { readonly content: string; readonly until: number; readonly lifetime: Lifetime }[] = [];

  /** Blocks of the longest prefix that each breakpoint may read; 0 for none. */
  found({ prompt, at, minimumTokens }: Moment): readonly number[] {
    return prompt.blocks.flatMap(({ breakpoint, tokensUpTo }, index) => {
      if (breakpoint === undefined) return [];
      if (tokensUpTo < minimumTokens) return [0];
      const counts = Array.from({ length: 20 }, (_, back) => index + 1 - back).filter((count) => count > 0);
      return [counts.find((count) => this.#live(contentOf(prompt, count), at) !== undefined) ?? 0];
    });
  }

  /** The reply of a request begins: what it found lives on, and what lies behind the highest find is written. */
  begin(moment: Moment, found: readonly Found[]): void {
    const { prompt, at, minimumTokens } = moment;
    for (const { content, lifetime } of found) this.#add({ content, lifetime, at });
    const highest = Math.max(0, ...found.map(({ count }) => count));
    for (const [index, { breakpoint, tokensUpTo }] of prompt.blocks.entries())
      if (breakpoint !== undefined && tokensUpTo >= minimumTokens && index + 1 > highest)
        this.#add({ content: contentOf(prompt, index + 1), lifetime: breakpoint, at });
  }

  /** Beside one that lives an hour, what is written for less counts as one of an hour too. */
  #add({ content, lifetime, at }: { content: string; lifetime: Lifetime; at: number }): void {
    const known = this.#live(content, at) ?? lifetime;
    this.#known.push({ content, lifetime: known === "1h" ? known : lifetime, until: at + lengths[lifetime] });
  }

  details({ prompt, at }: Moment, counts: readonly number[]): readonly Found[] {
    return counts.flatMap((count) => {
      const content = contentOf(prompt, count);
      const lifetime = count === 0 ? undefined : this.#live(content, at);
      return lifetime === undefined ? [] : [{ count, content, lifetime }];
    });
  }

  /** Lifetime of what may be read at this moment: the longest that was written and has not ended. */
  #live(content: string, at: number): Lifetime | undefined {
    const live = this.#known.filter((one) => one.content === content && one.until > at);
    if (live.length === 0) return undefined;
    return live.some(({ lifetime }) => lifetime === "1h") ? "1h" : "5m";
  }
}

interface Moment {
  readonly prompt: Prompt;
  readonly at: number;
  readonly minimumTokens: number;
}

interface Found {
  readonly count: number;
  readonly content: string;
  readonly lifetime: Lifetime;
}

const lengths = { "5m": 300_000, "1h": 3_600_000 } as const;

const contentOf = ({ blocks, salts }: Prompt, count: number): string =>
  JSON.stringify([salts.messages, blocks.slice(0, count).map(({ hash }) => hash)]);

/** A step of a client: it goes on, goes back and says something else, or waits; then it asks. */
interface Step {
  readonly grow: number;
  readonly editAt: number | undefined;
  readonly salt: string;
  readonly breakpoints: readonly { readonly back: number; readonly lifetime: Lifetime }[];
  readonly waitMillis: number;
  /** How many later requests start before this one's reply begins. */
  readonly late: number;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    grow: fc.integer({ min: 0, max: 24 }),
    editAt: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 4 }),
    salt: fc.constantFrom("m", "m", "m", "other"),
    breakpoints: fc.array(
      fc.record({ back: fc.integer({ min: 0, max: 40 }), lifetime: fc.constantFrom<Lifetime>("5m", "1h") }),
      { maxLength: 4 },
    ),
    waitMillis: fc.constantFrom(0, 1_000, 60_000, 299_999, 300_000, 1_800_000, 3_600_000),
    late: fc.constantFrom(0, 0, 0, 1, 2),
  }),
  { minLength: 1, maxLength: 30 },
);

const minimumTokens = 300;

/** The requests of these steps, each with its time. */
function* requests(taken: readonly Step[]): Generator<Moment & Pick<Step, "late">> {
  let names: string[] = [];
  let at = 0;
  for (const [number, step] of taken.entries()) {
    if (step.editAt !== undefined && names.length > 0)
      names = names.with(Math.floor(step.editAt * names.length * 0.999), `edit ${number}`);
    names = [...names, ...Array.from({ length: step.grow }, (_, more) => `${number}.${more}`)];
    at += step.waitMillis;
    const lifetimes = new Map(step.breakpoints.map(({ back, lifetime }) => [names.length - 1 - back, lifetime]));
    const blocks = names.map((name, index): MadeBlock => ({
      name,
      tokens: (index * 37) % 90,
      breakpoint: lifetimes.get(index),
    }));
    yield { prompt: madePrompt(blocks, { messages: step.salt }), at, minimumTokens, late: step.late };
  }
}

interface Pending {
  readonly plan: CachePlan;
  readonly moment: Moment;
  readonly found: readonly Found[];
  readonly dueAfter: number;
}

describe("any sequence of requests, replies that begin late among them", () => {
  it("reads exactly what a committed prefix allows, and the parts of the usage add up", () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const cache = new PromptCache();
        const oracle = new Oracle();
        let pending: Pending[] = [];
        let number = 0;
        for (const { late, ...moment } of requests(taken)) {
          const plan = cache.look({ ...moment, at: millis(moment.at) });
          const counts = oracle.found(moment);
          checkPlan({ plan, moment, counts });
          pending.push({ plan, moment, found: oracle.details(moment, counts), dueAfter: number + late });
          for (const one of pending.filter(({ dueAfter }) => dueAfter <= number)) {
            cache.commit(one.plan);
            oracle.begin(one.moment, one.found);
          }
          pending = pending.filter(({ dueAfter }) => dueAfter > number);
          number += 1;
        }
      }),
      { numRuns: 400 },
    );
  });
});

function checkPlan({ plan, moment, counts }: { plan: CachePlan; moment: Moment; counts: readonly number[] }): void {
  const { prompt } = moment;
  expect(
    plan.breakpoints.map((outcome) => (outcome.kind === "hit" ? outcome.hit.position + 1 : 0)),
    "what each breakpoint found",
  ).toEqual(counts);
  const highest = Math.max(0, ...counts);
  expect(plan.usage.cacheReadTokens, "tokens that are read").toBe(prompt.blocks[highest - 1]?.tokensUpTo ?? 0);
  expect(countPromptTokens(plan.usage), "the parts together").toBe(prompt.tokens);
  expect(Math.min(...Object.values<number>({ ...plan.usage })), "the smallest part").toBeGreaterThanOrEqual(0);
}
