import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { priceCompact } from "../../cache/compact-price.ts";
import { usualRates } from "../../cache/cache-rates.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { CompactRequest } from "../layer.ts";
import { compactWhenDue } from "./compact-when-due.ts";

const price = priceCompact({
  rates: usualRates["5m"],
  contextTokens: 100_000,
  fixedTokens: 20_000,
  cache: "warm",
  cachedTokens: 100_000,
  leavesTokens: 11_000,
  outputTokens: 3_000,
  lossCost: 40_000,
});
const policy = getPreset("palimpsest");
const patience = policy.compact?.early?.patience.first ?? NaN;
const headroomTokens = policy.compact?.headroomTokens ?? NaN;
const at = (contextTokens: number): StateWish => ({
  policy,
  isOn: (name) => name !== "collapse",
  moment: { contextTokens },
  compaction: { price, rent: 0, rounds: 0 },
});
const paid = patience * (price.total - price.savesNext);
/** At 190,000, 23,000 over the threshold. */
const removing = (removesTokens: number): StateWish => ({
  ...at(190_000),
  compaction: { price: { ...price, removesTokens }, rent: paid, rounds: 0 },
});

describe("compaction", () => {
  it.each<[string, StateWish, "limit" | "threshold" | "price" | undefined]>([
    ["due at the hard limit for its own reason: then it may do without a model", at(197_000), "limit"],
    ["due for the threshold's up to there", at(196_999), "threshold"],
    ["due at the threshold", at(167_000), "threshold"],
    ["not before it", at(166_999), undefined],
    [
      "not on a cold cache, where the default waits",
      { ...at(100_000), cache: "cold", compaction: { price, rent: paid, rounds: 0 } },
      undefined,
    ],
    ["not below its share of the window", { ...at(89_999), compaction: { price, rent: paid, rounds: 0 } }, undefined],
    ["not at the threshold if the user has old rounds collapse", { ...at(167_000), isOn: () => true }, undefined],
    ["due at the hard limit also then", { ...at(197_000), isOn: () => true }, "limit"],
    [
      "due before it once the rent has paid for it",
      { ...at(100_000), compaction: { price, rent: paid, rounds: 0 } },
      "price",
    ],
    ["not a token earlier", { ...at(100_000), compaction: { price, rent: paid - 1, rounds: 0 } }, undefined],
    [
      "not by rent where it would remove nothing",
      { ...at(100_000), compaction: { price: { ...price, removesTokens: 0 }, rent: paid, rounds: 0 } },
      undefined,
    ],
    [
      "not by rent under a policy that does not price it",
      { ...at(100_000), policy: getPreset("claude-code-2026"), compaction: { price, rent: paid, rounds: 0 } },
      undefined,
    ],
    ["due where it leaves room below the threshold", removing(23_000 + headroomTokens), "threshold"],
    ["not where it would be due again at once", removing(22_999 + headroomTokens), undefined],
    [
      "due however little room it leaves under a policy without headroom",
      { ...removing(1), policy: getPreset("claude-code-2.0") },
      "threshold",
    ],
    ["not where nobody can compact", { policy, moment: { contextTokens: 190_000 } }, undefined],
    ["not where it is off", { ...at(190_000), isOn: (name) => name !== "compact.auto" }, undefined],
    [
      "not where old rounds collapse instead",
      { ...at(199_000), policy: { ...policy, collapse: "on" }, isOn: () => true },
      undefined,
    ],
    ["not under a policy without it", { ...at(190_000), policy: getPreset("none") }, undefined],
  ])("is %s", (_, wish, trigger) => {
    const candidate = compactWhenDue.propose(stateOf(new MadeConversation().says(), wish));
    const asked: string[] = [];
    const host = { compact: ({ cause }: CompactRequest) => void asked.push(cause) } as never;
    if (candidate !== undefined && "run" in candidate) candidate.run(host);
    expect(asked).toEqual(trigger === undefined ? [] : [trigger]);
  });
});
