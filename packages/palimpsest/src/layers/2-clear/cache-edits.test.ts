import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { appended, clearing, type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { toolUseId } from "../../schema/brand.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { clearInCache } from "./clear-in-cache.ts";

const made = (count: number): MadeConversation => {
  const conversation = new MadeConversation().says();
  for (let round = 0; round < count; round += 1) conversation.round([{ tokens: 510 }]);
  return conversation;
};
const policy = clearing({ inCache: { fromResults: 12, keepResults: 5 } });
const able: StateWish = { policy, offers: new Set(["cache-edits"]) };
const deletedBy = (state: PipelineState): readonly unknown[] => {
  const deleted = appended(clearInCache.propose(state))?.["deleted"];
  return Array.isArray(deleted) ? deleted : [];
};
const first = (count: number): readonly string[] => made(12).residents.slice(0, count);

describe("clearing in the provider's cache", () => {
  it.each<[string, number, StateWish, readonly string[]]>([
    ["fewer than twelve results: nothing", 11, able, []],
    ["from twelve on all but the newest five", 12, able, first(7)],
    [
      "what is deleted already neither counts nor goes again",
      12,
      { ...able, withheld: new Set([toolUseId("t1")]) },
      [],
    ],
    ["only where the provider can", 12, { policy }, []],
    ["not where it is off", 12, { ...able, isOn: (name) => name !== "clear.cacheEdits" }, []],
    ["not on a cold cache, which holds nothing to delete from", 12, { ...able, cache: "cold" }, []],
    ["not by a policy that has no such rule", 12, { ...able, policy: getPreset("none") }, []],
    ["of the default, all that is stale", 12, { ...able, policy: getPreset("palimpsest") }, first(9)],
  ])("%s", (_, count, wish, expected) => {
    expect(deletedBy(stateOf(made(count), wish))).toEqual(expected);
  });

  it("by price, what was used a moment ago stays", () => {
    const conversation = new MadeConversation()
      .says()
      .round([{ tool: "Read", input: { file_path: "a" }, tokens: 510 }]);
    for (let round = 0; round < 12; round += 1) conversation.round([{ tokens: 510 }]);
    conversation.round([{ tool: "Edit", input: { file_path: "a" }, tokens: 20 }]);
    const wish = { ...able, policy: getPreset("palimpsest") };
    const ids = deletedBy(stateOf(conversation, wish));
    expect([ids.includes("t1"), ids.includes("t2")]).toEqual([false, true]);
  });

  it("nothing is written again for it", () => {
    expect(clearInCache.propose(stateOf(made(12), able))).toMatchObject({ removesTokens: 3_500, behindTokens: 0 });
  });
});
