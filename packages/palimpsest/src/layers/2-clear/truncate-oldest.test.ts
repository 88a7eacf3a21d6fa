import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { appended, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { entryId } from "../../schema/brand.ts";
import { truncateOldest } from "./truncate-oldest.ts";

const policy = { ...getPreset("truncate"), truncate: { overTokens: 1_000 } };
/** Entries u1, a2, r3, a4, r5, …: a question of 100 tokens, then rounds of 12 with results of 400. */
const made = (rounds: number): MadeConversation => {
  const conversation = new MadeConversation().says(100);
  for (let round = 0; round < rounds; round += 1) conversation.round([{ tokens: 400 }]);
  return conversation;
};
const gone = (conversation: MadeConversation, pins: readonly string[] = []): unknown =>
  appended(truncateOldest.propose(stateOf(conversation, { policy, pins: new Set(pins.map(entryId)) })))?.["entries"];

describe("a sliding window", () => {
  it("stays as it is while everything fits", () => {
    expect(gone(made(2))).toBeUndefined();
  });

  it("lets the oldest go until the rest fits, a call with its result", () => {
    expect(gone(made(3))).toEqual(["u1", "a2", "r3"]);
  });

  it("stays as it is where rewriting is switched off", () => {
    const isOn = (name: string): boolean => name !== "compact.auto";
    expect(truncateOldest.propose(stateOf(made(3), { policy, isOn }))).toBeUndefined();
  });

  it("leaves what is pinned", () => {
    expect(gone(made(3), ["u1"])).toEqual(["a2", "r3"]);
  });

  it("never takes what is asked now", () => {
    const conversation = new MadeConversation().says(100).round([{ tokens: 9_000 }]);
    expect(gone(conversation)).toEqual(["u1"]);
  });

  it("writes everything else again", () => {
    const conversation = made(3);
    const { shownTokens } = conversation.inventory;
    expect(truncateOldest.propose(stateOf(conversation, { policy }))).toMatchObject({
      removesTokens: 512,
      behindTokens: shownTokens - 512,
    });
  });
});
