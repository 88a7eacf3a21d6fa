import { describe, it } from "vitest";
import { expectStable } from "../scenario/support/stability.ts";

describe("4. Prefix stability, 200 turns", () => {
  it.each(["claude-sonnet-5-5", "claude-opus-5"])("every request of %s begins with the one before", (model) =>
    expectStable(200, model),
  );
});
