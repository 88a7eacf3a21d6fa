import { describe, it } from "vitest";
import { expectWholeDespiteFaults } from "./support/faulty.ts";

describe("a server that fails at every second request", () => {
  it.each([1, 2, 3])(
    "leaves a whole transcript, every message answered or reported, nothing said or run twice (seed %i)",
    (seed) => expectWholeDespiteFaults(20, seed),
  );
});
