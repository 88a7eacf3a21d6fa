import { describe, expect, it } from "vitest";
import { conversation, madePrompt } from "../../../../test/fixture/made-prompt.ts";
import { millis } from "../schema/brand.ts";
import { cachedPrefixesMax } from "./limits.ts";
import type { Lifetime } from "./lifetime.ts";
import type { Prompt } from "./prompt.ts";
import { type CachePlan, PromptCache } from "./prompt-cache.ts";

const minutes = (count: number) => millis(count * 60_000);

/** A request from its start to the start of its reply. */
function ask(cache: PromptCache, prompt: Prompt, atMinutes = 0): CachePlan {
  const plan = cache.look({ prompt, at: minutes(atMinutes), minimumTokens: 1_024 });
  cache.commit(plan);
  return plan;
}

/** Position of the hit, counted from one as the reference does; 0 for none. */
const hitAt = ({ hit }: CachePlan): number => (hit?.position ?? -1) + 1;

describe("looking back", () => {
  it("10, 15 and 35 blocks: the last finds nothing, since 15 is one block too far away", () => {
    const cache = new PromptCache();
    expect(hitAt(ask(cache, conversation(10, { 10: "5m" })))).toBe(0);
    expect(hitAt(ask(cache, conversation(15, { 15: "5m" })))).toBe(10);
    expect(hitAt(cache.look({ prompt: conversation(35, { 35: "5m" }), at: minutes(1), minimumTokens: 0 }))).toBe(0);
    expect(hitAt(ask(cache, conversation(35, { 15: "5m", 35: "5m" })))).toBe(15);
  });

  it.each([
    [29, 10],
    [30, 0],
  ])("a breakpoint at %i finds the entry at 10: %i", (position, found) => {
    const cache = new PromptCache();
    ask(cache, conversation(10, { 10: "5m" }));
    expect(hitAt(ask(cache, conversation(40, { [position]: "5m" })))).toBe(found);
  });

  it("finds only what was written: positions inside a written prefix are no entries", () => {
    const cache = new PromptCache();
    ask(cache, conversation(10, { 10: "5m" }));
    expect(hitAt(ask(cache, conversation(9, { 9: "5m" })))).toBe(0);
  });

  it("goes on from the next breakpoint, and the highest hit counts", () => {
    const cache = new PromptCache();
    ask(cache, conversation(30, { 2: "5m", 5: "5m", 30: "5m" }));
    const plan = ask(cache, madePrompt([...changedAfter(12), { name: "new", breakpoint: "5m" }]));
    expect(hitAt(plan)).toBe(5);
    expect(plan.breakpoints.map(({ kind }) => kind)).toEqual(["hit", "hit", "miss"]);
  });

  it("an entry is read only under the salt of its own level", () => {
    const cache = new PromptCache();
    const blocks = [
      { name: "tool", level: "tools", tokens: 2_000, breakpoint: "5m" },
      { name: "system", level: "system", breakpoint: "5m" },
      { name: "hello", breakpoint: "5m" },
    ] as const;
    ask(cache, madePrompt(blocks));
    const read = (salts: Partial<Prompt["salts"]>): number =>
      hitAt(cache.look({ prompt: madePrompt(blocks, salts), at: minutes(1), minimumTokens: 0 }));
    expect([
      read({}),
      read({ messages: "other" }),
      read({ system: "other", messages: "other" }),
      read({ tools: "other", system: "other", messages: "other" }),
    ]).toEqual([3, 2, 1, 0]);
  });
});

/** The conversation's first blocks with breakpoints at 2 and 5, then ones that nobody has seen. */
const changedAfter = (count: number) =>
  Array.from({ length: 30 }, (_, at) => ({
    name: at < count ? `${at + 1}` : `changed ${at}`,
    breakpoint: at === 1 || at === 4 ? ("5m" as const) : undefined,
  }));

describe("billing", () => {
  interface Row {
    readonly title: string;
    readonly before: Readonly<Record<number, Lifetime>>;
    readonly now: Readonly<Record<number, Lifetime>>;
    /** Thousands of tokens: read, written for an hour, written for five minutes, input. */
    readonly split: readonly [number, number, number, number];
  }
  const rows: readonly Row[] = [
    { title: "no breakpoint: all is input", before: {}, now: {}, split: [0, 0, 0, 20] },
    { title: "first write for five minutes", before: {}, now: { 15: "5m" }, split: [0, 0, 15, 5] },
    { title: "first write for an hour", before: {}, now: { 15: "1h" }, split: [0, 15, 0, 5] },
    {
      title: "mixed, no hit: an hour up to B, then five minutes",
      before: {},
      now: { 4: "1h", 15: "5m" },
      split: [0, 4, 11, 5],
    },
    {
      title: "mixed, the hit before B",
      before: { 4: "1h" },
      now: { 4: "1h", 10: "1h", 15: "5m" },
      split: [4, 6, 5, 5],
    },
    { title: "mixed, the hit is B", before: { 10: "1h" }, now: { 10: "1h", 15: "5m" }, split: [10, 0, 5, 5] },
    { title: "mixed, the hit behind B", before: { 12: "5m" }, now: { 10: "1h", 15: "5m" }, split: [12, 0, 3, 5] },
    { title: "two of an hour: the highest is B", before: {}, now: { 4: "1h", 10: "1h" }, split: [0, 10, 0, 10] },
    {
      title: "a hit at the last breakpoint writes nothing",
      before: { 15: "5m" },
      now: { 15: "5m" },
      split: [15, 0, 0, 5],
    },
    {
      title: "an hour behind five minutes takes all before it along",
      before: {},
      now: { 4: "5m", 10: "1h" },
      split: [0, 10, 0, 10],
    },
  ];

  it.each(rows)("$title", ({ before, now, split }) => {
    const cache = new PromptCache();
    ask(cache, conversation(20, before));
    const { usage } = ask(cache, conversation(20, now), 1);
    const { cacheReadTokens, cacheWrite1hTokens, cacheWrite5mTokens, inputTokens } = usage;
    expect([cacheReadTokens, cacheWrite1hTokens, cacheWrite5mTokens, inputTokens]).toEqual(
      split.map((thousands) => thousands * 1_000),
    );
  });

  it("a breakpoint below the model's minimum is neither written nor read, and others do not mind", () => {
    const cache = new PromptCache();
    const prompt = conversation(3, { 1: "5m", 3: "5m" });
    expect(ask(cache, prompt).breakpoints.map(({ kind }) => kind)).toEqual(["below-minimum", "miss"]);
    expect(cache.size).toBe(1);
    const short = ask(cache, conversation(1, { 1: "5m" }), 1);
    expect(short.usage).toEqual({
      inputTokens: 1_000,
      cacheReadTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    });
  });

  it.each([
    [1_024, "miss"],
    [1_023, "below-minimum"],
  ])("a prefix of %i tokens where 1,024 are the minimum: %s", (tokens, kind) => {
    const plan = ask(new PromptCache(), madePrompt([{ name: "a", tokens, breakpoint: "5m" }]));
    expect(plan.breakpoints[0]?.kind).toBe(kind);
  });

  it("what is not paid for is not written: a breakpoint before the hit leaves no entry", () => {
    const cache = new PromptCache();
    ask(cache, conversation(10, { 10: "5m" }));
    ask(cache, conversation(10, { 5: "5m", 10: "5m" }), 1);
    expect(hitAt(ask(cache, conversation(5, { 5: "5m" }), 2))).toBe(0);
  });
});

describe("visibility and lifetime", () => {
  it("two requests that start before a reply begins both write", () => {
    const cache = new PromptCache();
    const prompt = conversation(10, { 10: "5m" });
    const plans = [0, 1].map(() => cache.look({ prompt, at: minutes(0), minimumTokens: 0 }));
    for (const plan of plans) cache.commit(plan);
    expect(plans.map(({ usage }) => usage.cacheWrite5mTokens)).toEqual([10_000, 10_000]);
    expect(hitAt(ask(cache, prompt))).toBe(10);
  });

  it.each<[Lifetime, number, number]>([
    ["5m", 5 - 1e-4, 10],
    ["5m", 5, 0],
    ["1h", 60 - 1e-4, 10],
    ["1h", 60, 0],
  ])("an entry of %s is found %d minutes after the start of its request: %i", (lifetime, after, found) => {
    const cache = new PromptCache();
    ask(cache, conversation(10, { 10: lifetime }));
    expect(hitAt(ask(cache, conversation(10, { 10: lifetime }), after))).toBe(found);
  });

  it("counts from the start of the writing request, however late its reply begins", () => {
    const cache = new PromptCache();
    const slow = cache.look({ prompt: conversation(10, { 10: "5m" }), at: minutes(0), minimumTokens: 0 });
    ask(cache, conversation(2, { 2: "5m" }), 4);
    cache.commit(slow);
    expect(hitAt(ask(cache, conversation(10, { 10: "5m" }), 5))).toBe(2);
  });

  it("a read begins the same lifetime anew, at the start of the reading request", () => {
    const cache = new PromptCache();
    const prompt = conversation(10, { 10: "5m" });
    expect([0, 4, 8, 12, 17].map((at) => hitAt(ask(cache, prompt, at)))).toEqual([0, 10, 10, 10, 0]);
  });

  it("each breakpoint refreshes what it found, not only the highest", () => {
    const cache = new PromptCache();
    ask(cache, conversation(30, { 3: "5m", 30: "5m" }));
    ask(cache, conversation(30, { 3: "5m", 30: "5m" }), 4);
    expect(hitAt(ask(cache, conversation(3, { 3: "5m" }), 8))).toBe(3);
  });

  it("what a request did not look for is not refreshed", () => {
    const cache = new PromptCache();
    ask(cache, conversation(30, { 3: "5m", 30: "5m" }));
    ask(cache, conversation(30, { 30: "5m" }), 4);
    expect(hitAt(ask(cache, conversation(3, { 3: "5m" }), 8))).toBe(0);
  });

  it("a 1h marker on an entry of five minutes reads it and does not lengthen it", () => {
    const cache = new PromptCache();
    ask(cache, conversation(10, { 10: "5m" }));
    expect(ask(cache, conversation(10, { 10: "1h" }), 4).usage.cacheWrite1hTokens).toBe(0);
    expect(hitAt(ask(cache, conversation(10, { 10: "1h" }), 9))).toBe(0);
    expect(hitAt(ask(cache, conversation(10, { 10: "1h" }), 60))).toBe(10);
  });

  it("a write never shortens: five minutes beside an hour stay an hour", () => {
    const cache = new PromptCache();
    const plans = (["1h", "5m"] as const).map((lifetime) =>
      cache.look({ prompt: conversation(10, { 10: lifetime }), at: minutes(0), minimumTokens: 0 }),
    );
    for (const plan of plans) cache.commit(plan);
    expect([59, 118].map((at) => hitAt(ask(cache, conversation(10, { 10: "5m" }), at)))).toEqual([10, 10]);
  });

  it("committing twice is committing once", () => {
    const cache = new PromptCache();
    const plan = ask(cache, conversation(10, { 10: "5m" }));
    cache.commit(plan);
    expect([cache.size, hitAt(ask(cache, conversation(10, { 10: "5m" }), 5))]).toEqual([1, 0]);
  });

  it("looking changes nothing, not even what goes first", () => {
    const cache = new PromptCache(2);
    for (const name of ["a", "b"]) ask(cache, single(name));
    cache.look({ prompt: single("a"), at: minutes(0), minimumTokens: 0 });
    ask(cache, single("c"));
    expect(["a", "b", "c"].filter((name) => hitAt(look(cache, name)) === 1)).toEqual(["b", "c"]);
  });
});

const single = (name: string): Prompt => madePrompt([{ name, tokens: 2_000, breakpoint: "5m" }]);
const look = (cache: PromptCache, name: string): CachePlan =>
  cache.look({ prompt: single(name), at: minutes(1), minimumTokens: 0 });

describe("forgetting", () => {
  it("lose() forgets everything, and what was read before it is not brought back by its commit", () => {
    const cache = new PromptCache();
    const prompt = conversation(10, { 10: "5m" });
    ask(cache, prompt);
    const reading = cache.look({ prompt, at: minutes(1), minimumTokens: 0 });
    cache.lose();
    cache.commit(reading);
    expect([hitAt(reading), cache.size, hitAt(ask(cache, prompt, 2))]).toEqual([10, 0, 0]);
  });

  it("beyond the limit the entry goes that was used longest ago; reading is using", () => {
    const cache = new PromptCache(3);
    for (const name of ["a", "b", "c"]) ask(cache, single(name));
    ask(cache, single("a"), 1);
    ask(cache, single("d"), 1);
    expect(["a", "b", "c", "d"].filter((name) => hitAt(look(cache, name)) === 1)).toEqual(["a", "c", "d"]);
  });

  it("entries past their end are dropped by later commits", () => {
    const cache = new PromptCache();
    for (const name of ["a", "b", "c"]) ask(cache, single(name));
    ask(cache, single("d"), 6);
    expect(cache.size).toBe(1);
  });

  it("an entry that was not used for long stays up to its end", () => {
    const cache = new PromptCache();
    ask(cache, single("a"));
    ask(cache, single("b"), 4.9);
    expect(hitAt(ask(cache, single("a"), 4.99))).toBe(1);
  });

  it("fifty thousand commits at one moment stay within the limit", () => {
    const cache = new PromptCache();
    let largest = 0;
    for (let at = 0; at < 50_000; at += 1) {
      ask(cache, single(`${at}`));
      largest = Math.max(largest, cache.size);
    }
    expect(largest).toBe(cachedPrefixesMax);
  });
});
