import { describe, it } from "vitest";
import { expectOneDreams, expectWholeAfterKill } from "../scenario/support/dream-processes.ts";

describe("dreams, many times", () => {
  it("two processes race 1,000 times, and exactly one dreams each time", () => expectOneDreams(1_000));

  it("a kill at every change to the disk, and in the middle of every write, leaves the old or the new directory", () =>
    expectWholeAfterKill("all"));
});
