import { describe, expect, it } from "vitest";
import type { Json } from "palimpsest/internal/schema/json";
import { isSameSystem } from "./conversation-context.ts";

const fixed = (system: Json) => ({ model: "m", system, preamble: [], tools: undefined });
const prompt = (billing: string, text: string): Json => [
  { type: "text", text: `x-anthropic-billing-header: ${billing}` },
  { type: "text", text },
];

describe("the system prompt of two requests", () => {
  it("is the same if only Claude Code's billing line differs", () => {
    expect(isSameSystem(fixed(prompt("cc_version=1.0.1a", "Fix.")), fixed(prompt("cc_version=1.0.2b", "Fix.")))).toBe(
      true,
    );
  });

  it("is another if anything else differs", () => {
    expect(isSameSystem(fixed(prompt("cc_version=1", "Fix.")), fixed(prompt("cc_version=1", "Mend.")))).toBe(false);
    expect(isSameSystem(fixed("x-anthropic-billing-header: 1"), fixed("x-anthropic-billing-header: 2"))).toBe(false);
  });
});
