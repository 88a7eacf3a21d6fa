import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { call, judged, result, says, searched, searches, text, user } from "../../../../test/fixture/wire-request.ts";
import { cacheEditsBeta, cacheDeletionsMax } from "palimpsest/internal/schema/wire/extension";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { modelInfo } from "../models-page.ts";
import { Simulator } from "../simulator.ts";
import { type CacheEditsSupport, serverOffer } from "./cache-edits-extension.ts";

const on = { betas: [cacheEditsBeta, "context-management-2025-06-27"] };
const messages = [
  user(text("Read both.")),
  says(searches("srvtoolu_1"), searched("srvtoolu_1"), call("toolu_1"), call("toolu_2")),
  user(result("toolu_1"), result("toolu_2")),
  says(call("toolu_3")),
  user(result("toolu_3")),
];
const deleting = (...ids: string[]): JsonObject => ({
  messages,
  cache_edits: { deletions: ids.map((id) => ({ type: "tool_result", tool_use_id: id })) },
});
const deletingMany = (count: number): JsonObject => {
  const ids = Array.from({ length: count }, (_, at) => `toolu_${at}`);
  return {
    ...deleting(...ids),
    messages: [
      user(text("Read all.")),
      says(...ids.map((id) => call(id))),
      user(...ids.map((id) => result(id))),
      says(text("Read.")),
      user(text("And now?")),
    ],
  };
};

describe("deletions in the cache", () => {
  holdRules([
    {
      rule: "are not known without their beta",
      refused: deleting("toolu_1"),
      message: "cache_edits: Extra inputs are not permitted",
      allowed: deleting("toolu_1"),
      allowedOn: on,
    },
    {
      rule: "name a result in the messages",
      on,
      refused: deleting("toolu_1", "toolu_9"),
      message: "cache_edits.deletions.1.tool_use_id: there is no `tool_result` block with the id `toolu_9`",
      allowed: deleting("toolu_1", "toolu_2"),
    },
    {
      rule: "name no result of a server's tool",
      on,
      refused: deleting("srvtoolu_1"),
      message: "cache_edits.deletions.0.tool_use_id: there is no `tool_result` block with the id `srvtoolu_1`",
      allowed: deleting("toolu_2"),
    },
    {
      rule: "name a result once",
      on,
      refused: deleting("toolu_2", "toolu_1", "toolu_2"),
      message: "cache_edits.deletions.2.tool_use_id: `toolu_2` is deleted already, by deletion 0",
      allowed: deleting("toolu_2", "toolu_1"),
    },
    {
      rule: "leave a result alone that the model has not answered",
      on,
      refused: deleting("toolu_3"),
      message:
        "cache_edits.deletions.0.tool_use_id: the `tool_result` of `toolu_3` cannot be deleted before it is answered",
      allowed: { ...deleting("toolu_3"), messages: [...messages, says(text("Read.")), user(text("And now?"))] },
    },
    {
      rule: "are of results alone",
      on,
      refused: { messages, cache_edits: { deletions: [{ type: "tool_use", tool_use_id: "toolu_1" }] } },
      message: "cache_edits.deletions.0.type: Input should be 'tool_result'",
      allowed: deleting("toolu_1"),
    },
    {
      rule: "are not combined with results that the server clears",
      on,
      refused: {
        ...deleting("toolu_1"),
        context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      },
      message: "cache_edits: `cache_edits` cannot be combined with `clear_tool_uses_20250919`",
      allowed: {
        ...deleting("toolu_1"),
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      },
    },
    {
      rule: "are not more than the limit",
      on,
      refused: deletingMany(cacheDeletionsMax + 1),
      message: `cache_edits.deletions: List should have at most ${cacheDeletionsMax} items after validation, not ${cacheDeletionsMax + 1}`,
      allowed: deletingMany(cacheDeletionsMax),
    },
  ]);

  it("are checked in a count too", () => {
    expect(judged(deleting("toolu_9"), { ...on, endpoint: "count_tokens" })?.message).toContain("toolu_9");
    expect(judged(deleting("toolu_1"), { ...on, endpoint: "count_tokens" })).toBeUndefined();
  });

  it("may be none at all", () => {
    expect(judged({ messages, cache_edits: { deletions: [] } }, on)).toBeUndefined();
  });
});

it.each<[CacheEditsSupport, object]>([
  ["none", {}],
  ["offered", { cache_edits: { supported: true } }],
])("are declared only by a server that has them: %s", (offered, declared) => {
  const model = findModel("claude-opus-5");
  if (model === undefined) throw new Error("no such model");
  const { capabilities: plain } = modelInfo(model, serverOffer()) as { capabilities: object };
  expect(modelInfo(model, serverOffer(offered))).toHaveProperty("capabilities", { ...plain, ...declared });
});

it("are refused in other words when the simulator is made", () => {
  expect(() => new Simulator({ cacheEdits: true } as never)).toThrow(/option cacheEdits must be offered or none/);
});
