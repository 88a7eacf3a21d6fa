import { expect, test } from "vitest";
import { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import { nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import { plain } from "../../text/style.ts";
import { moneyByAgent, moneyBySource } from "../../text/cost-by-source-name.ts";
import { costText, type Reductions } from "./cost-command.ts";

const model = "claude-sonnet-5";
const headerTokens = tokens(0);

/** A conversation, and summaries of so many output tokens, at ten dollars a million. */
function ledger(summaryTokens: number): CostLedger {
  const costs = new CostLedger();
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 20_000, output_tokens: 100 };
  costs.add({ source: "main", model, usage, headerTokens });
  if (summaryTokens > 0)
    costs.add({ source: "compact", model, usage: { input_tokens: 0, output_tokens: summaryTokens }, headerTokens });
  return costs;
}

function reduced(costs: CostLedger, reductions: Partial<Reductions>): string {
  const shown = {
    report: costs.toJSON(),
    inherited: new CostLedger().session,
    reductions: { edits: 2, tokens: 10_000, savedInputTokens: 10_000, ...reductions },
    // Three dollars a million tokens.
    inputNanos: 3_000,
    answerer: "provider" as const,
  };
  return /^reduced +(.*)$/m.exec(costText(shown, plain))?.[1] ?? "";
}

test.each<[string, number, Partial<Reductions>, RegExp]>([
  ["saved where nothing was paid for it", 0, {}, /view\. That has saved about \$0\.0300 so far\.$/],
  [
    "not saved where summaries cost more",
    6_000,
    {},
    /With \$0\.0600 for summaries, that has cost about \$0\.0300 more than doing nothing so far\.$/,
  ],
  [
    "saved, less what summaries cost",
    1_500,
    {},
    /With \$0\.0150 for summaries, that has saved about \$0\.0150 so far\.$/,
  ],
  [
    "not saved where more was written again",
    0,
    { savedInputTokens: -5_000 },
    /That has cost about \$0\.0150 more than doing nothing so far\.$/,
  ],
  [
    "told without edits too",
    6_000,
    { edits: 0, tokens: 0, savedInputTokens: 0 },
    /^Nothing was taken out of the view yet, and \$0\.0600 for summaries was paid\.$/,
  ],
])("what edits save is %s", (_rule, summaryTokens, reductions, expected) => {
  expect(reduced(ledger(summaryTokens), reductions)).toMatch(expected);
});

test("a model without a known price has no price, and no savings, of $0", () => {
  const costs = new CostLedger();
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 20_000, output_tokens: 100 };
  costs.add({ source: "main", model: "nobody-knows-1", usage, headerTokens });
  const shown = { reductions: undefined, inputNanos: undefined, answerer: "provider" } as const;
  const text = costText({ ...shown, report: costs.toJSON(), inherited: costs.session }, plain);
  expect(text).not.toContain("$");
  expect(text).toMatch(/^price not known for 1 request\n/);
  expect(text).toMatch(/nobody-knows-1 .* not known$/m);
  costs.add({ source: "main", model, usage, headerTokens });
  const both = costText({ ...shown, report: costs.toJSON(), inherited: new CostLedger().session }, plain);
  expect(both).toMatch(/^\$[\d.]+ for 2 requests, without 1 request of no known price\n/);
  expect(both).toMatch(/nobody-knows-1 .* not known$/m);
});

test("money by source adds up to what the session has cost, and each source's kinds to its own", () => {
  const costs = ledger(4_000);
  const money = moneyBySource(costs.toJSON().bySource);
  expect(Object.keys(money)).toEqual(["conversation", "summaries"]);
  const sum = Object.values(money).reduce((total, { cost_usd: usd }) => total + usd, 0);
  expect(sum).toBeCloseTo(costs.session.totalNanos / 1e9, 12);
  for (const { cost_usd, input_usd, cache_write_usd, cache_read_usd, output_usd } of Object.values(money))
    expect(input_usd + cache_write_usd + cache_read_usd + output_usd).toBeCloseTo(cost_usd, 12);
});

test("what memories and dreams cost has rows of its own", () => {
  const costs = ledger(0);
  const usage = { input_tokens: 1_000, output_tokens: 100 };
  for (const source of ["extraction", "dream"] as const) costs.add({ source, model, usage, headerTokens });
  const shown = { reductions: undefined, inputNanos: undefined, answerer: "provider" } as const;
  const text = costText({ ...shown, report: costs.toJSON(), inherited: new CostLedger().session }, plain);
  expect(text).toMatch(/^memories +1 .*\$0\.\d+$/m);
  expect(text).toMatch(/^dream +1 .*\$0\.\d+$/m);
  expect(text).not.toContain("budget");
});

test("the budget of background work is told if the project's spend is known", () => {
  const shown = { reductions: undefined, inputNanos: undefined, answerer: "provider" } as const;
  const budget = {
    mainNanos: nanoUsd(2_400_000_000),
    backgroundNanos: nanoUsd(31_200_000),
    allowedNanos: nanoUsd(120_000_000),
    todayNanos: nanoUsd(0),
    todayAllowedNanos: nanoUsd(50_000_000),
  };
  const text = costText({ ...shown, report: ledger(0).toJSON(), inherited: new CostLedger().session, budget }, plain);
  expect(text).toContain(
    "budget    Background work (notes, memories, dreams) has cost $0.0312 of the $0.1200 allowed in the last seven days (5% of the project's other $2.4000), and today $0.0000 of the $0.0500 that every day allows.\n",
  );
});

test("what each agent has cost has a row by its name, and a value for scripts", () => {
  const costs = ledger(0);
  const usage = { input_tokens: 1_000, output_tokens: 100 };
  for (const agent of ["explore", "explore", "explore-2"])
    costs.add({ source: "agents", model, usage, headerTokens, agent });
  const shown = { reductions: undefined, inputNanos: undefined, answerer: "provider" } as const;
  const report = costs.toJSON();
  const text = costText({ ...shown, report, inherited: new CostLedger().session }, plain);
  expect(text).toMatch(/^by agent\n.*\nexplore +2 .*\$0\.\d+\nexplore-2 +1 .*\$0\.\d+$/m);
  const money = moneyByAgent(report.byAgent);
  expect(Object.keys(money)).toEqual(["explore", "explore-2"]);
  expect((money["explore"]?.cost_usd ?? 0) + (money["explore-2"]?.cost_usd ?? 0)).toBeCloseTo(
    moneyBySource(report.bySource)["agents"]?.cost_usd ?? 0,
    12,
  );
  const none = { ...shown, report: ledger(0).toJSON(), inherited: new CostLedger().session };
  expect(costText(none, plain)).not.toContain("by agent");
});
