import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bpeCounter } from "../model/bpe/bpe-counter.ts";
import type { TokenCounter } from "../ports/model-port.ts";
import { blobId, tokens } from "../schema/brand.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { countFixedPart, type FixedCountDeps } from "./count-fixed-part.ts";
import type { HashDep } from "./session-origin.ts";
import { rememberedCountsMax } from "./limits.ts";

const sha256: HashDep = () => {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

/** Seven tokens for the message, ten for each text and a hundred for each tool. */
function countingDeps(name = "exact", answers: "always" | "never" = "always") {
  const asked: number[] = [];
  const counter: TokenCounter = {
    name,
    count: async () => tokens(0),
    countRequest: async ({ system, tools }) => {
      asked.push(tools.length);
      if (answers === "never") return { kind: "uncounted", message: "no answer" };
      return { kind: "counted", tokens: tokens(7 + 10 * system.length + 100 * tools.length) };
    },
  };
  const deps: FixedCountDeps = { sha256, remembered: new Map(), counter };
  return { asked, deps };
}

const part: FixedPart = {
  systemPrompts: ["You weave."],
  tools: [
    { name: "Read", description: "reads", input_schema: { type: "object" } },
    { name: "mcp__loom__weave", description: "weaves" },
    { name: "Dye", description: "dyes", defer_loading: true },
  ],
  memoryFiles: [],
};

describe("counting the fixed part", () => {
  it("takes an exact counter's figure, kind by kind, and names the counter", async () => {
    const figure = await countFixedPart(countingDeps().deps, { part });
    expect(figure).toEqual({
      tokens: 210,
      pieces: [
        { kind: "systemPrompt", count: 1, tokens: 10 },
        { kind: "tools", count: 1, tokens: 100 },
        { kind: "mcpTools", count: 1, tokens: 100 },
      ],
      deferred: { tools: ["Dye"], tokens: 100 },
      counter: "exact",
    });
  });

  it("counts the same set once, in whatever order the fields of its definitions stand", async () => {
    const { asked, deps } = countingDeps();
    const first = await countFixedPart(deps, { part });
    const requests = asked.length;
    const turned = part.tools.map((tool) => ({
      ...Object.fromEntries(Object.entries(tool).toReversed()),
      name: tool.name,
    }));
    expect(await countFixedPart(deps, { part: { ...part, tools: turned } })).toEqual(first);
    expect(asked).toHaveLength(requests);
  });

  it("counts the same set once, also for many who ask at once", async () => {
    const { asked, deps } = countingDeps();
    const figures = await Promise.all(Array.from({ length: 4 }, () => countFixedPart(deps, { part })));
    // The message, and one request for each of the four kinds.
    expect(asked).toHaveLength(5);
    expect(new Set(figures.map((figure) => JSON.stringify(figure))).size).toBe(1);
  });

  it("asks again after a count that failed", async () => {
    const silent = countingDeps("exact", "never");
    const [one, other] = await Promise.all([
      countFixedPart(silent.deps, { part }),
      countFixedPart(silent.deps, { part }),
    ]);
    expect([one.counter, other.counter]).toEqual(["estimate", "estimate"]);
    const { asked, deps } = countingDeps();
    const later = await countFixedPart({ ...deps, remembered: silent.deps.remembered }, { part });
    expect(later.counter).toBe("exact");
    expect(asked).toHaveLength(5);
  });

  it("asks nobody where there is nothing to count, and names no counter", async () => {
    const { asked, deps } = countingDeps();
    expect(await countFixedPart(deps, { part: noFixedPart })).toMatchObject({ tokens: 0, counter: "estimate" });
    expect(asked).toHaveLength(0);
  });

  it.each(["rejects", "throws"])("is the estimate where a counter %s, against its contract", async (how) => {
    const { deps } = countingDeps();
    const countRequest = (): Promise<never> => {
      if (how === "throws") throw new Error("a counter's bug");
      return Promise.reject(new Error("a counter's bug"));
    };
    const counter: TokenCounter = { name: "broken", count: async () => tokens(0), countRequest };
    expect(await countFixedPart({ ...deps, counter }, { part })).toMatchObject({ counter: "estimate" });
    expect(deps.remembered.size).toBe(0);
  });

  it("counts again only what another set changes", async () => {
    const { asked, deps } = countingDeps();
    await countFixedPart(deps, { part });
    asked.length = 0;
    await countFixedPart(deps, { part: { ...part, tools: [...part.tools, { name: "mcp__loom__cut" }] } });
    expect(asked).toEqual([3, 4]);
  });

  it("does not take one counter's figure for another's", async () => {
    const one = countingDeps();
    const other = countingDeps("another");
    await countFixedPart(one.deps, { part });
    await countFixedPart({ ...other.deps, remembered: one.deps.remembered }, { part });
    expect(other.asked).toHaveLength(one.asked.length);
  });

  it("remembers no more than its limit, and forgets first what was asked for longest ago", async () => {
    const { asked, deps } = countingDeps();
    const numbered = (at: number): FixedPart => ({ ...noFixedPart, systemPrompts: [`prompt ${at}`] });
    for (let at = 0; at <= rememberedCountsMax; at += 1) await countFixedPart(deps, { part: numbered(at) });
    expect(deps.remembered.size).toBe(rememberedCountsMax);
    // The message alone is part of every count: it was asked for once and stays.
    expect(asked).toHaveLength(rememberedCountsMax + 2);
    asked.length = 0;
    await countFixedPart(deps, { part: numbered(rememberedCountsMax) });
    expect(asked).toHaveLength(0);
    await countFixedPart(deps, { part: numbered(0) });
    expect(asked).toHaveLength(1);
  });

  it("is the estimate where there is no counter or it does not answer, and nothing is remembered", async () => {
    const { deps } = countingDeps("silent", "never");
    const silent = await countFixedPart(deps, { part });
    expect(silent.counter).toBe("estimate");
    expect(silent.tokens).toBeGreaterThan(10);
    expect(deps.remembered.size).toBe(0);
    expect(await countFixedPart({ ...deps, counter: undefined }, { part })).toEqual(silent);
  });

  it("can be done by the local tokenizer, and the estimate is near it", async () => {
    const outcome = await bpeCounter();
    if (outcome.kind !== "counter") throw new Error(outcome.message);
    const long = { ...part, systemPrompts: ["You weave cloth from the yarn that people bring to you. ".repeat(50)] };
    const exact = await countFixedPart({ ...countingDeps().deps, counter: outcome.counter }, { part: long });
    const near = await countFixedPart({ ...countingDeps().deps, counter: undefined }, { part: long });
    expect(exact.counter).toBe("bpe-o200k");
    expect(exact.pieces.map(({ kind }) => kind)).toEqual(near.pieces.map(({ kind }) => kind));
    expect(near.tokens / exact.tokens).toBeGreaterThan(0.95);
    expect(near.tokens / exact.tokens).toBeLessThan(2);
  });
});
