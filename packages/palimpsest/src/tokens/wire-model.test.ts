import { expect, it } from "vitest";
import { wireModel } from "./known-models.ts";

const beta = "context-1m-2025-08-07";

it.each([
  ["claude-sonnet-4-5[1m]", "claude-sonnet-4-5", [beta]],
  ["claude-sonnet-4-5-20250929[1M]", "claude-sonnet-4-5-20250929", [beta]],
  ["some-model[1m]", "some-model", [beta]],
  // It has the window without asking.
  ["claude-opus-5[1m]", "claude-opus-5", []],
  ["claude-sonnet-4-5", "claude-sonnet-4-5", []],
])("%s goes over the wire as %s with %j", (name, id, betas) => {
  expect(wireModel(name)).toEqual({ id, betas });
});
