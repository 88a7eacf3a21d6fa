import { expect, it } from "vitest";
import { pending } from "./pending.ts";

it("every pending variant names its acceptance test, itself and what it waits for, once", () => {
  for (const { acceptance, variant, waitsFor } of pending) {
    expect(acceptance).toBeGreaterThanOrEqual(1);
    expect(acceptance).toBeLessThanOrEqual(20);
    expect(variant.trim().length).toBeGreaterThan(10);
    expect(waitsFor.trim().length).toBeGreaterThan(2);
  }
  expect(new Set(pending.map(({ acceptance, variant }) => `${acceptance} ${variant}`)).size).toBe(pending.length);
});
