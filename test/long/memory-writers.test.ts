import { describe, it } from "vitest";
import { expectNoLostUpdate, expectWholeAfterKills } from "../scenario/support/memory-processes.ts";

describe("memory writers, many times", () => {
  it("two processes write the same memory 1,000 times each: no lost update, no torn file, history complete", () =>
    expectNoLostUpdate(1_000));

  it("a kill at any moment leaves a whole change set, 60 times", () => expectWholeAfterKills(60));
});
