import { describe, it } from "vitest";
import { expectNoLostUpdate, expectWholeAfterKills } from "./support/memory-processes.ts";

describe("memory writers", () => {
  it("lose no update when two processes write the same memory, and the history is complete", () =>
    expectNoLostUpdate(30));

  it("leave a whole change set behind when they are killed", () => expectWholeAfterKills(3));
});
