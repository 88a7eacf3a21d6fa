import { describe, expect, it } from "vitest";
import { conversation } from "../../../../test/fixture/made-prompt.ts";
import { millis } from "../schema/brand.ts";
import { editedVariantsMax } from "./limits.ts";
import type { Prompt } from "./prompt.ts";
import { EditedPrefixes, createVariant, type CachePlan, PromptCache } from "./prompt-cache.ts";

/** Blocks of 1,000 tokens, the last one marked; the results at the given places are deleted. */
function prompt(count: number, deleted: readonly number[] = []): Prompt {
  const whole = conversation(count, { [count]: "5m" });
  if (deleted.length === 0) return whole;
  const resultById = new Map(
    deleted.map((at) => [`toolu_${at}`, { position: at - 1, tokens: 1_000, tokensUpTo: at * 1_000 }]),
  );
  return { ...whole, withheld: { resultById, tokens: 0 } };
}

class Asked {
  readonly cache = new PromptCache();

  look(minute: number, of: Prompt): CachePlan {
    return this.cache.look({ prompt: of, at: millis(minute * 60_000), minimumTokens: 1_000 });
  }

  read(minute: number, of: Prompt): number {
    const plan = this.look(minute, of);
    this.cache.commit(plan);
    return plan.usage.cacheReadTokens;
  }
}

describe("entries that were written while results were deleted", () => {
  it("live on by being read, not the whole ones beside them", () => {
    const asked = new Asked();
    asked.read(0, prompt(4));
    expect(asked.read(0, prompt(6, [1]))).toBe(3_000);
    // Minute 1: the same prefix once more, whole.
    expect(asked.read(1, prompt(6))).toBe(4_000);
    expect(asked.read(4, prompt(6, [1]))).toBe(5_000);
    expect(asked.look(7, prompt(6, [1])).usage.cacheReadTokens).toBe(5_000);
    expect(asked.look(7, prompt(6)).usage.cacheReadTokens).toBe(0);
  });

  it("do not hide a whole one that lives longer", () => {
    const asked = new Asked();
    asked.read(0, prompt(4));
    asked.read(0, prompt(6, [1]));
    asked.read(3, prompt(6));
    expect(asked.look(6, prompt(6, [1])).usage.cacheReadTokens).toBe(5_000);
  });

  it("are gone with the cache", () => {
    const asked = new Asked();
    asked.read(0, prompt(4));
    asked.read(0, prompt(6, [1]));
    asked.cache.lose();
    expect(asked.look(0, prompt(6, [1]))).toMatchObject({ usage: { cacheReadTokens: 0, cacheWrite5mTokens: 6_000 } });
  });

  it("are long enough to be cached if what was sent is", () => {
    const asked = new Asked();
    asked.read(0, prompt(2));
    expect(asked.look(0, prompt(2, [1, 2])).usage).toMatchObject({ cacheReadTokens: 0, inputTokens: 0 });
    expect(asked.look(0, prompt(2, [1, 2])).deleted).toEqual({ ids: ["toolu_1", "toolu_2"], tokens: 2_000 });
  });
});

describe("what is remembered of a prefix", () => {
  const ids = (deleted: readonly string[]): ReadonlyMap<string, unknown> => new Map(deleted.map((id) => [id, id]));
  const key = (...without: string[]): string => createVariant("p", without).key;

  it("can be read by who deletes all that it was written without, the least whole first", () => {
    const edited = new EditedPrefixes();
    for (const without of [["a"], ["b", "a"], ["c"]]) edited.add(createVariant("p", without));
    expect(edited.readableKeys("p", ids(["a", "b"]))).toEqual([key("a", "b"), key("a")]);
    expect(edited.readableKeys("p", ids(["b"]))).toEqual([]);
    expect(edited.readableKeys("other", ids(["a", "b"]))).toEqual([]);
  });

  it("is the newest few", () => {
    const edited = new EditedPrefixes();
    const all = Array.from({ length: editedVariantsMax + 1 }, (_, at) => `${at}`);
    for (const one of all) edited.add(createVariant("p", [one]));
    expect(edited.readableKeys("p", ids(all)).toSorted()).toEqual(
      all
        .slice(1)
        .map((one) => key(one))
        .toSorted(),
    );
  });
});
