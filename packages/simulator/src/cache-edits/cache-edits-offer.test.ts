import { expect, it } from "vitest";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { modelInfo } from "../models-page.ts";
import { Simulator } from "../simulator.ts";
import { type CacheEditsSupport, serverOffer } from "./cache-edits-extension.ts";

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
