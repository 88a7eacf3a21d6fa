import { describe, it } from "vitest";
import { expectAllGoOn } from "./support/killed-compaction.ts";

describe("a compaction that is killed", () => {
  it("at a sample of its writes (all of them, by every path, in the long run): the session goes on, nothing is lost or doubled", () =>
    expectAllGoOn("fork", 4));
});
