import { describe, it } from "vitest";
import { expectListsAlike, expectOpensAlike } from "../scenario/support/scale.ts";

const mb = 2 ** 20;

describe("8. Scale, in full", () => {
  it.each(["ours", "foreign"] as const)(
    "a session of 1 GB (%s) opens within 256 MB and reads what one of 16 MB with the same tail reads",
    async (origin) => expectOpensAlike(origin, [16 * mb, 1024 * mb]),
  );

  it("2,000 sessions are listed within 256 MB, and the bytes read do not depend on their length", async () =>
    expectListsAlike(2_000, [mb, 1024 * mb]));
});
