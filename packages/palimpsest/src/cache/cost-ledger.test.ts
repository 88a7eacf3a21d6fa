import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { CostLedger, type CostReport, costSources, type PaidRequest } from "./cost-ledger.ts";
import { requestCostsMax } from "./limits.ts";

const usage: JsonObject = {
  input_tokens: 100,
  cache_read_input_tokens: 8_000,
  cache_creation_input_tokens: 1_900,
  cache_creation: { ephemeral_5m_input_tokens: 900, ephemeral_1h_input_tokens: 1_000 },
  output_tokens: 50,
};
const paid = (more: Partial<PaidRequest> = {}): PaidRequest => ({
  source: "main",
  model: "claude-sonnet-5-5",
  usage,
  headerTokens: tokens(3_000),
  ...more,
});

describe("the cost of a request", () => {
  it("tokens and money by kind, in billionths of a dollar", () => {
    const cost = new CostLedger().add(paid());
    expect(cost.tokensByKind).toEqual({
      input: 100,
      cacheWrite5m: 900,
      cacheWrite1h: 1_000,
      cacheRead: 8_000,
      output: 50,
    });
    expect(cost.nanosByKind).toEqual({
      input: 200_000,
      cacheWrite5m: 2_250_000,
      cacheWrite1h: 4_000_000,
      cacheRead: 1_600_000,
      output: 500_000,
    });
    expect(cost.totalNanos).toBe(8_550_000);
  });

  it("what it would have cost without caching, less what it cost", () => {
    expect(new CostLedger().add(paid()).savedNanos).toBe(10_000 * 2_000 + 500_000 - 8_550_000);
  });

  it("writing what is never read saves less than nothing", () => {
    const written = { cache_creation_input_tokens: 1_000 };
    expect(new CostLedger().add(paid({ usage: written })).savedNanos).toBe(-500_000);
  });

  it.each<[string, number, number]>([
    ["all read", 3_000, 600_000],
    ["read, then written for an hour, then for five minutes", 9_500, 1_600_000 + 4_000_000 + 500 * 2_500],
    ["no more than the prompt", 99_000, 1_600_000 + 4_000_000 + 2_250_000 + 200_000],
  ])("the header is paid as the prompt's first tokens: %s", (_, headerTokens, nanos) => {
    expect(new CostLedger().add(paid({ headerTokens: tokens(headerTokens) })).headerNanos).toBe(nanos);
  });

  it("the header is no longer than its prompt", () => {
    expect(new CostLedger().add(paid({ headerTokens: tokens(99_000) })).headerTokens).toBe(10_000);
  });

  it("a long prompt has the prices of long prompts", () => {
    const add = (input: number) =>
      new CostLedger().add(paid({ model: "claude-haiku-5-5", usage: { input_tokens: input } })).totalNanos;
    expect([add(100_000), add(100_001)]).toEqual([10_000_000, 50_000_500]);
  });

  it("users' own prices count", () => {
    const prices = { input: 1, cacheWrite5m: 1, cacheWrite1h: 1, cacheRead: 1, output: 1 };
    const ledger = new CostLedger([{ id: "claude-sonnet-5-5", prices }]);
    expect(ledger.add(paid()).totalNanos).toBe(10_050_000);
  });

  it("a model without a price is counted, and said to be missing", () => {
    const ledger = new CostLedger();
    ledger.add(paid({ model: "somebody-s-own" }));
    expect(ledger.session).toMatchObject({
      requests: 1,
      unpriced: 1,
      totalNanos: 0,
      tokensByKind: { cacheRead: 8_000 },
    });
  });
});

describe("the ledger of a session", () => {
  it("sums by source and by model", () => {
    const ledger = new CostLedger();
    ledger.add(paid());
    ledger.add(paid({ source: "notes" }));
    ledger.add(paid({ source: "notes", model: "claude-haiku-4-5" }));
    const report = ledger.toJSON();
    expect(report.session.requests).toBe(3);
    expect(Object.keys(report.bySource)).toEqual(["main", "notes"]);
    expect(report.bySource.notes).toMatchObject({ requests: 2, totalNanos: 8_550_000 + 4_275_000 });
    expect(report.byModel["claude-sonnet-5-5"]?.requests).toBe(2);
    expect(report.requests.map(({ number, source }) => `${number} ${source}`)).toEqual([
      "1 main",
      "2 notes",
      "3 notes",
    ]);
  });

  it("the hit rate is the share of prompt tokens that was read", () => {
    const ledger = new CostLedger();
    expect(ledger.session.hitRate).toBe(0);
    ledger.add(paid());
    expect(ledger.session.hitRate).toBe(0.8);
  });

  it("keeps the newest requests one by one, and all in the sums", () => {
    const ledger = new CostLedger();
    for (let at = 0; at < requestCostsMax + 5; at += 1) ledger.add(paid());
    const { requests, session } = ledger.toJSON();
    expect([requests.length, requests[0]?.number, session.requests]).toEqual([requestCostsMax, 6, requestCostsMax + 5]);
  });

  it("is exported as JSON", () => {
    const ledger = new CostLedger();
    ledger.add(paid());
    expect(JSON.parse(JSON.stringify(ledger)) as CostReport).toEqual(ledger.toJSON());
  });

  it("sums are exact: whole billionths, in whatever order the requests came", () => {
    const count = fc.integer({ min: 0, max: 2_000_000 });
    const some = fc.record({
      source: fc.constantFrom(...costSources),
      model: fc.constantFrom("claude-fable-5-2", "claude-haiku-5-5", "claude-sonnet-4-6"),
      usage: fc.record({
        input_tokens: count,
        cache_read_input_tokens: count,
        cache_creation_input_tokens: count,
        output_tokens: count,
        inference_geo: fc.constantFrom("us", "global"),
      }),
      headerTokens: count.map(tokens),
    });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 20 }), (requests) => {
        const forwards = new CostLedger();
        const backwards = new CostLedger();
        const sums = requests.map((request) => forwards.add(request).totalNanos);
        for (const request of requests.toReversed()) backwards.add(request);
        expect(forwards.session).toEqual(backwards.session);
        expect(BigInt(forwards.session.totalNanos)).toBe(sums.reduce((sum, one) => sum + BigInt(one), 0n));
        const bySource = Object.values(forwards.toJSON().bySource);
        expect(bySource.reduce((sum, { savedNanos }) => sum + savedNanos, 0)).toBe(forwards.session.savedNanos);
      }),
    );
  });
});
