import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { clearing, cleared, type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { millis } from "../../schema/brand.ts";
import type { IdleRule } from "../policy.ts";
import { clearByIdleness } from "./clear-by-idleness.ts";

const hour = 60 * 60_000;
const made = (): MadeConversation => {
  const conversation = new MadeConversation().says();
  for (let round = 0; round < 7; round += 1) conversation.round([{ tokens: 510 }]);
  return conversation;
};

const rule: IdleRule = { after: { minutes: 60 }, keepResults: 5, marker: "plain" };
const proposed = (changes: Partial<IdleRule>, wish: StateWish): readonly string[] =>
  cleared(
    clearByIdleness.propose(stateOf(made(), { policy: clearing({ byIdleness: { ...rule, ...changes } }), ...wish })),
  );

describe("clearing by idleness", () => {
  it.each<[string, Partial<IdleRule>, StateWish, readonly string[]]>([
    ["all but the newest five go after more than an hour", {}, { idleMillis: millis(hour + 1) }, ["t1", "t2"]],
    ["nothing at the hour", {}, { idleMillis: millis(hour) }, []],
    ["nothing before the first reply", {}, { idleMillis: undefined }, []],
    ["nothing where it is off", {}, { idleMillis: millis(2 * hour), isOn: (name) => name !== "clear.idle" }, []],
    [
      "never fewer than one stays",
      { keepResults: 0 },
      { idleMillis: millis(2 * hour) },
      ["t1", "t2", "t3", "t4", "t5", "t6"],
    ],
    ["as soon as the cache is cold, where the rule says so", { after: "cache" }, { cache: "cold" }, ["t1", "t2"]],
    [
      "not while it is warm, however long that is",
      { after: "cache" },
      { cache: "warm", idleMillis: millis(9 * hour) },
      [],
    ],
  ])("%s", (_, changes, wish, expected) => {
    expect(proposed(changes, wish)).toEqual(expected);
  });

  it("costs nothing: all of it would be written again anyway", () => {
    const state = stateOf(made(), { policy: clearing({ byIdleness: rule }), idleMillis: millis(2 * hour) });
    expect(clearByIdleness.propose(state)).toMatchObject({ removesTokens: 1_000, behindTokens: 0 });
  });
});
