import { describe, expect, it } from "vitest";
import {
  boundary,
  call,
  folded,
  type Raw,
  result,
  says,
  summary,
  text,
  user,
} from "../../../../../test/fixture/raw.ts";
import { type ClearingAgent, clearingWorld } from "../../../../../test/scenario/support/clearing-world.ts";
import { Inventory } from "../../cache/inventory.ts";
import { usualRates } from "../../cache/cache-rates.ts";
import { WrittenPlaces } from "../../cache/written-places.ts";
import { isRerunnable } from "../../layers/2-clear/is-rerunnable.ts";
import type { CompactRule } from "../../layers/policy.ts";
import { createWorkingState } from "../../ports/working-state.ts";
import { millis, tokens } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { findModel } from "../../tokens/known-models.ts";
import type { CompactionSetup } from "../compact/compaction-setup.ts";
import { pipelineState, compactionState } from "./pipeline-state.ts";
import { CacheModel } from "./cache-model.ts";

const rule: CompactRule = { call: "fork", restores: "files", lastRung: "extract" };
const long = "some words that were said and that a summary would stand for ".repeat(400);
const fixedTokens = 500;

/** What a compaction would leave of the session by itself: the rest of the context less what it would remove. */
function reckoned(...raws: readonly Raw[]) {
  const inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens: 20 });
  const fold = folded(raws, { watch: inventory });
  const cache = new CacheModel("5m");
  cache.follow({ inventory, fold, written: new WrittenPlaces() });
  const contextTokens = inventory.shownTokens + fixedTokens;
  const moment = { at: millis(0), rates: usualRates["5m"], contextTokens, fixedTokens, needChance: () => 0 };
  const line = { inventory, fold };
  const { price, rent } = compactionState({
    rule,
    line,
    cache,
    moment,
    thresholds: { window: tokens(200_000), compact: tokens(167_000) },
  });
  return { price, rent, leavesTokens: inventory.shownTokens - price.removesTokens };
}

const said = (uuid: string, words = long): Raw => user(uuid, words);
const done: readonly Raw[] = [said("u"), says("a", "m", text(long))];
const counted = (uuid: string, input: number): Raw => ({
  type: "assistant",
  uuid,
  message: { id: uuid, content: [text("Yes.")], usage: { input_tokens: input } },
});
const tokensOf = (words: string): number => estimateBlock({ type: "text", text: words });

describe("what a compaction of this session would leave", () => {
  it("as much as any is taken to leave, before there was one", () => {
    const view = reckoned(...done, ...[1, 2, 3].flatMap((n) => [said(`v${n}`), says(`b${n}`, `n${n}`, text(long))]));
    expect(view.leavesTokens).toBe(11_000);
    expect(view.price.outputCost).toBe(5 * 3_000);
  });

  const calls = [{ path: "fork", model: "m", usage: { input_tokens: 9, output_tokens: 700 } }];
  it("as much as the newest really left, without the fixed part, and what its call wrote", () => {
    const newest = boundary("c", { postTokens: 4_500, calls });
    const view = reckoned(
      ...done,
      boundary("b", { postTokens: 9_999 }),
      summary("s"),
      said("v"),
      says("w", "x", text(long)),
      newest,
      summary("t"),
      said("y"),
      says("z", "z", text(long)),
    );
    expect(view.leavesTokens).toBeCloseTo(4_000);
    expect(view.price.outputCost).toBe(5 * 700);
  });

  it("not what the newest left as it was, since another would cover that", () => {
    const kept = { preservedMessages: { uuids: ["k"] } };
    const raws = (metadata: object) => [
      ...done,
      said("k", long),
      boundary("b", metadata),
      summary("s"),
      said("v"),
      says("w", "x", text(long)),
    ];
    const postTokens = 4_500 + tokensOf(long);
    expect(reckoned(...raws({ ...kept, postTokens })).leavesTokens).toBeCloseTo(4_000);
  });

  it.each([
    ["another tool did not say how much", {}],
    ["it says less than the fixed part has", { postTokens: 100 }],
  ])("as any is taken to leave, where %s", (_, metadata) => {
    const more = [1, 2, 3].flatMap((n) => [said(`v${n}`), says(`b${n}`, `n${n}`, text(long))]);
    expect(reckoned(...done, boundary("b", metadata), summary("s"), ...more).leavesTokens).toBe(11_000);
  });

  it("what waits for its answer, and what is pinned with its pair, besides", () => {
    const before = [...done, ...[1, 2, 3].flatMap((n) => [said(`v${n}`), says(`b${n}`, `n${n}`, text(long))])];
    const read = [says("d", "o", call("t1")), result("r", "t1", long), says("e", "p", text("Read."))];
    const plain = reckoned(...before, ...read);
    const waiting = reckoned(...before, ...read, said("w", "And now this."));
    expect(waiting.leavesTokens - plain.leavesTokens).toBeCloseTo(tokensOf("And now this."));
    const pinned = reckoned(...before, ...read, { type: "pin", uuid: "q", entry: "r" });
    expect(pinned.leavesTokens - plain.leavesTokens).toBeGreaterThan(tokensOf(long));
  });
});

describe("rent on what a compaction would remove", () => {
  it("is what each request since the boundary read beyond what one leaves", () => {
    const view = reckoned(
      said("u"),
      counted("a", 21_500),
      said("v"),
      counted("b", 31_500),
      said("w"),
      counted("c", 900),
    );
    expect(view.rent).toBeCloseTo(0.1 * (10_000 + 20_000));
  });
});

const stateOf = ({ conversation, deps }: ClearingAgent, compacts?: "yes" | "no") => {
  const { cache } = conversation;
  const line = conversation.line.editable;
  if (cache === undefined || line === undefined) throw new Error("nothing can be cleared");
  cache.follow({ inventory: line.inventory, fold: line.fold, written: conversation.written });
  return pipelineState({
    conversation,
    cache,
    line,
    settings: deps.settings(),
    at: deps.now(),
    opens: "nothing",
    offers: new Set(),
    ...(compacts === undefined ? {} : { compacts }),
  });
};

describe("what the layers see of compaction", () => {
  it("nothing where it would come to nothing, or the policy has none", async () => {
    const agent = await clearingWorld().agent("create");
    expect(stateOf(agent).compaction).toBeDefined();
    expect(stateOf(agent, "no")).not.toHaveProperty("compaction");
    const never = await clearingWorld().agent("create", { flags: [["policy", "none"]] });
    expect(stateOf(never)).not.toHaveProperty("compaction");
  });

  it("the same rent in a session that goes on and in one that is opened again, but for the error of the count", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create");
    await agent.turn("read 8 × 300");
    const rent = stateOf(agent).compaction?.rent ?? 0;
    await agent.session.close();
    const again = stateOf(await world.agent("resume")).compaction?.rent ?? 0;
    expect(rent).toBeGreaterThan(0);
    expect(again / rent).toBeGreaterThan(0.9);
    expect(again / rent).toBeLessThan(1.1);
  });
});

describe("the price of a summary by the caller's own model", () => {
  async function priceWith(summaryModel: CompactionSetup["summaryModel"]) {
    const agent = await clearingWorld().agent("create", { parts: { known: findModel("claude-sonnet-5") } });
    await agent.turn("read 8 × 300");
    const compacting: CompactionSetup = {
      session: agent.session,
      facts: { facts: () => expect.unreachable(), unreadable: 0 },
      summaryModel,
      recallTool: undefined,
      summaryOptions: () => Promise.resolve({}),
      mode: "attended",
      workingState: createWorkingState([]),
      onCompacted: () => Promise.resolve(),
    };
    const { compaction } = stateOf({ ...agent, conversation: { ...agent.conversation, compacting } });
    if (compaction === undefined) throw new Error("nothing is compacted");
    return compaction.price;
  }
  const named = (name: string) => ({ name, windowTokens: tokens(200_000), outputTokensMax: tokens(32_000) });

  it("is that model's price", async () => {
    const [own, cheaper] = [await priceWith(undefined), await priceWith(named("claude-haiku-5-5"))];
    // 0.5 for a token of output, by 2 for a token of the conversation's input.
    expect(own.outputCost).toBe(5 * 3_000);
    expect(cheaper.outputCost).toBe(0.25 * 3_000);
  });

  it("is that of a call without the cache, also if it is the conversation's model", async () => {
    const [own, plain] = [await priceWith(undefined), await priceWith(named("claude-sonnet-5"))];
    expect(plain.outputCost).toBe(own.outputCost);
    expect(plain.readCost).toBeGreaterThan(5 * own.readCost);
  });
});
