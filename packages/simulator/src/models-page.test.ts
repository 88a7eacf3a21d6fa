import { expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { extension } from "./extension.ts";
import { modelInfo } from "./models-page.ts";

interface Listed {
  readonly capabilities: JsonObject;
}

function capabilitiesOf(id: string): JsonObject {
  const model = findModel(id);
  if (model === undefined) throw new Error(`no model ${id}`);
  return (modelInfo(model, extension.offer({})) as Listed).capabilities;
}

const can = (supported: boolean): JsonObject => ({ supported });

it.each([
  ["claude-opus-5-5", true],
  ["claude-sonnet-4-6", true],
  ["claude-opus-4-5", false],
  ["claude-haiku-5-5", true],
  ["claude-haiku-4-5", false],
  ["claude-fable-5", true],
])("%s: results and thinking can be cleared; compaction on the server: %s", (id, compacts) => {
  expect(capabilitiesOf(id)).toMatchObject({
    context_management: {
      supported: true,
      clear_thinking_20251015: can(true),
      clear_tool_uses_20250919: can(true),
      compact_20260112: can(compacts),
    },
    compaction: { supported: compacts, summarize: can(compacts) },
  });
});
