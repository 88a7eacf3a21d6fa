import { describe, it } from "vitest";
import { expectWholeDespiteFaults } from "../scenario/support/faulty.ts";

describe("a server that fails at every second request, 1,000 turns", () => {
  it.each([1, 2])(
    "leaves a whole transcript, every message answered or reported, nothing said or run twice (seed %i)",
    (seed) => expectWholeDespiteFaults(1_000, seed),
  );
});
