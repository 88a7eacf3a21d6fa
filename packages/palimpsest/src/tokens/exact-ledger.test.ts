import { describe, expect, it } from "vitest";
import { call, clear, loggedRaws, result, says, user } from "../../../../test/fixture/raw.ts";
import type { Block } from "../schema/block.ts";
import { tokens } from "../schema/brand.ts";
import { Fold } from "../transcript/fold.ts";
import { ExactLedger } from "./exact-ledger.ts";
import { noFixedPart } from "./fixed-part.ts";

/** A result has as many tokens as characters, anything else ten. */
const count = (block: Block): number =>
  block.type === "tool_result" && typeof block.content === "string" ? block.content.length : 10;

const figure = { tokens: tokens(1_000), pieces: [], deferred: { tools: [], tokens: tokens(0) }, counter: "mine" };

describe("a ledger with an exact counter", () => {
  it("has the fixed part and every block of the view, and what an edit hides is off at once", () => {
    const ledger = new ExactLedger(count);
    ledger.carries(noFixedPart, figure);
    const fold = new Fold({ watch: ledger });
    const said = [user("u1"), says("a1", "m1", call("t1")), result("r1", "t1", "x".repeat(500)), clear("e1", "t1")];
    const sizes = loggedRaws(said).map((logged) => {
      fold.append(logged);
      return ledger.size.tokens;
    });
    expect(sizes).toEqual([1_010, 1_020, 1_520, 1_020 + "[cleared t1]".length]);
    expect(ledger.estimateView([...fold.shown().values()].flat())).toBe(sizes.at(-1));
  });
});
