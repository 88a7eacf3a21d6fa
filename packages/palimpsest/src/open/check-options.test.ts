import { expect, it } from "vitest";
import { checkPlatform } from "./check-options.ts";

it("says which Node is needed if this one is too old", () => {
  expect(() => checkPlatform({})).toThrow(/^palimpsest needs Node 22 or newer; this is Node \d+\.\d+\.\d+\.$/);
  expect(() => checkPlatform()).not.toThrow();
});
