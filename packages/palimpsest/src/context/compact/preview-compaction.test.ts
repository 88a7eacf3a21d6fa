import { describe, expect, it } from "vitest";
import { settingsFor } from "../../../../../test/fixture/compacting.ts";
import { CostLedger } from "../../cache/cost-ledger.ts";
import type { Audit } from "../../layers/4-compact/audit.ts";
import { type Tokens, tokens } from "../../schema/brand.ts";
import type { CompactionCall } from "../../schema/compaction-cause.ts";
import type { Receipt } from "../../schema/receipt.ts";
import { findModel } from "../../tokens/known-models.ts";
import type { Conversation } from "../conversation.ts";
import { CacheModel } from "../request/cache-model.ts";
import type { BoundaryDraft, CompactionContext } from "./boundary-draft.ts";
import { contextChange, previewCompaction, whyNotSmaller } from "./preview-compaction.ts";
import type { CompactionRequest } from "./proposal.ts";

const model = "claude-sonnet-5";
const known = findModel(model);

const receiptOf = (of: Record<"tokensBefore" | "tokensAfter" | "tokensBehind", number>): Receipt => ({
  edits: [],
  cause: "manual",
  lines: [],
  tokensBefore: tokens(of.tokensBefore),
  tokensAfter: tokens(of.tokensAfter),
  tokensBehind: tokens(of.tokensBehind),
  price: { writeRate: 1.25, readRate: 0.1, now: 0, perRound: 0 },
});

const audit: Audit = { score: 1, parts: {}, missing: [] } as unknown as Audit;

const draftOf = (before: number, after: number, receipt: Receipt): BoundaryDraft =>
  ({
    receipt,
    tokensBefore: tokens(before),
    tokensAfter: tokens(after),
    audit,
    ledger: { text: "", messages: [{ shown: "verbatim" }, { shown: "verbatim" }, { shown: "excerpt" }] },
    restoration: { attachments: [{ name: "todos" }, { name: "files" }] },
  }) as unknown as BoundaryDraft;

const conversationWith = (over: Partial<Conversation>): Conversation =>
  ({ known, costs: new CostLedger(), cache: new CacheModel("5m"), ...over }) as unknown as Conversation;

describe("what a boundary changes", () => {
  it("is the receipt's estimate as the context is counted", () => {
    // The receipt takes 900 of 1,000 out, the context loses 1,800: everything is twice as large as estimated.
    const receipt = receiptOf({ tokensBefore: 1_000, tokensAfter: 100, tokensBehind: 100 });
    expect(contextChange({ tokensBefore: tokens(3_000), tokensAfter: tokens(1_200), receipt })).toEqual({
      removesTokens: 1_800,
      behindTokens: 200,
    });
  });

  it("is the estimate itself where nothing shown becomes less", () => {
    const receipt = receiptOf({ tokensBefore: 100, tokensAfter: 100, tokensBehind: 50 });
    expect(contextChange({ tokensBefore: tokens(10), tokensAfter: tokens(20), receipt })).toMatchObject({
      behindTokens: 50,
    });
  });
});

describe("the money of a preview", () => {
  const draft = draftOf(
    110_000,
    20_000,
    receiptOf({ tokensBefore: 100_000, tokensAfter: 10_000, tokensBehind: 10_000 }),
  );
  const calls: readonly CompactionCall[] = [
    { path: "fork", model, usage: { input_tokens: 1_000, cache_read_input_tokens: 109_000, output_tokens: 2_000 } },
  ];

  it.each(["5m", "1h"] as const)("at a cache of %s is what hand and paper give", (lifetime) => {
    if (known === undefined) throw new Error("the registry has no such model");
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = known.prices;
    const write = lifetime === "5m" ? cacheWrite5m : cacheWrite1h;
    const { money } = previewCompaction(conversationWith({ cache: new CacheModel(lifetime) }), { draft, calls });
    const callsNanos = (1_000 * input + 109_000 * cacheRead + 2_000 * output) * 1_000;
    const saved = 90_000 * cacheRead * 1_000;
    const again = 10_000 * (write - cacheRead) * 1_000;
    expect(money?.callsNanos).toBeCloseTo(callsNanos, 0);
    expect(money?.roundBeforeNanos).toBeCloseTo(110_000 * cacheRead * 1_000, 0);
    expect(money?.roundAfterNanos).toBeCloseTo(20_000 * cacheRead * 1_000, 0);
    expect(money?.breakEvenRounds).toBe(Math.ceil((callsNanos + again - saved) / saved));
  });

  it("never breaks even where nothing is saved", () => {
    const larger = draftOf(100, 200, receiptOf({ tokensBefore: 1, tokensAfter: 2, tokensBehind: 2 }));
    expect(previewCompaction(conversationWith({}), { draft: larger, calls: [] }).money).not.toHaveProperty(
      "breakEvenRounds",
    );
  });

  it("is not told of a model without a price", () => {
    expect(previewCompaction(conversationWith({ known: undefined }), { draft, calls })).not.toHaveProperty("money");
  });

  it("stands beside what is shown of people's words and what is put back", () => {
    expect(previewCompaction(conversationWith({}), { draft, calls })).toMatchObject({
      userMessages: { verbatim: 2, excerpt: 1 },
      restored: ["todos", "files"],
    });
  });
});

describe("whether a boundary is worth writing", () => {
  const settings = settingsFor({ windowTokens: 200_000 });
  const groundOf = (ask: Pick<CompactionRequest, "trigger" | "cause">): CompactionContext =>
    ({ ask, settings }) as unknown as CompactionContext;
  const sizes = (before: number, after: number): BoundaryDraft =>
    ({
      tokensBefore: tokens(before),
      tokensAfter: tokens(after),
      ledger: { tokens: tokens(700) },
      restoration: { tokens: tokens(0) },
    }) satisfies Record<string, Tokens | { readonly tokens: Tokens }> as unknown as BoundaryDraft;

  it.each<[string, Pick<CompactionRequest, "trigger" | "cause">, number, number, string]>([
    ["below the threshold", { trigger: "auto", cause: "threshold" }, 170_000, 166_999, "yes"],
    [
      "at the threshold it would fire again at once",
      { trigger: "auto", cause: "threshold" },
      180_000,
      167_000,
      "about 167,000 tokens, over the 167,000",
    ],
    ["where the user wants it, anything smaller", { trigger: "manual", cause: "person" }, 190_000, 180_000, "yes"],
    ["where nothing fits any more, anything smaller", { trigger: "auto", cause: "limit" }, 199_000, 180_000, "yes"],
    ["where a request was refused, anything smaller", { trigger: "auto", cause: "overflow" }, 199_000, 180_000, "yes"],
    [
      "not where it would grow",
      { trigger: "manual", cause: "person" },
      1_000,
      1_001,
      "about 1,001 tokens instead of 1,000, 700 of it what you said, word for word.",
    ],
    ["not where it would stay", { trigger: "auto", cause: "limit" }, 1_000, 1_000, "not become smaller"],
  ])("%s", (_, ask, before, after, expected) => {
    expect(whyNotSmaller(groundOf(ask), sizes(before, after)) ?? "yes").toContain(expected);
  });
});
