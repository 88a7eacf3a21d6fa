import { describe, expect, it } from "vitest";
import { type EntryId, entryId, tokens } from "../schema/brand.ts";
import type { Block } from "../schema/block.ts";
import { makeReceipt, type ReceiptInput, groupByEntry } from "./make-receipt.ts";

const block = (words: string): Block => ({ type: "text", text: words });
const shown = (entries: Record<string, string>): Map<EntryId, Block[]> =>
  new Map(Object.entries(entries).map(([id, words]) => [entryId(id), [block(words)]]));
const receipt = (
  before: Record<string, string>,
  after: Record<string, string>,
  nature: ReceiptInput["nature"] = "reduced",
) =>
  makeReceipt({
    edits: [entryId("e")],
    cause: "asked",
    nature,
    before: shown(before),
    after: shown(after),
    count: (one) => tokens(one.type === "text" ? one.text.length : 0),
    rates: { write: 1.25, read: 0.1 },
  });
const classes = (made: ReturnType<typeof receipt>): Record<string, string> =>
  Object.fromEntries(made.lines.map((line) => [line.entry, line.class]));

describe("a receipt", () => {
  it.each<[string, ReturnType<typeof receipt>, Record<string, string>]>([
    [
      "kept, stubbed, dropped",
      receipt({ a: "aa", b: "bbbb", c: "c" }, { a: "aa", b: "b" }),
      { a: "kept", b: "stubbed", c: "dropped" },
    ],
    [
      "summarised, added",
      receipt({ a: "aa", b: "bb" }, { s: "s", b: "bb" }, "summarised"),
      { a: "summarised", s: "added", b: "kept" },
    ],
    ["restored", receipt({ b: "b" }, { a: "aa", b: "bbbb" }, "undone"), { a: "restored", b: "restored" }],
    [
      "a summary that goes with its undo is dropped",
      receipt({ s: "s" }, { a: "a" }, "undone"),
      { s: "dropped", a: "restored" },
    ],
  ])("puts every entry in exactly one class: %s", (_, made, expected) => {
    expect(classes(made)).toEqual(expected);
    expect(made.lines).toHaveLength(Object.keys(expected).length);
  });

  it("sums to the two views", () => {
    expect(receipt({ a: "aa", b: "bbbb" }, { a: "aa", b: "b" })).toMatchObject({ tokensBefore: 6, tokensAfter: 3 });
  });

  it("counts what follows the first change: a warm cache writes it again", () => {
    expect(receipt({ a: "aa", b: "bbbb", c: "cc" }, { a: "aa", b: "b", c: "cc" }).tokensBehind).toBe(3);
    expect(receipt({ a: "aa" }, { a: "aa" }).tokensBehind).toBe(0);
  });

  it("prices the change: now and per round", () => {
    const { price } = receipt({ a: "a".repeat(1000), b: "b".repeat(100) }, { a: "a", b: "b".repeat(100) });
    expect(price.perRound).toBeCloseTo(99.9);
    expect(price.now).toBeCloseTo(1.15 * 101 - 99.9);
  });

  it.each([
    ["a part of a round", { removesTokens: 1_000, behindTokens: 101 }, 1],
    ["not a whole sixth round", { removesTokens: 38_890, behindTokens: 19_996 }, 5],
    ["nothing where it is cheaper at once", { removesTokens: 1_000, behindTokens: 10 }, 0],
  ])("has paid for itself once the later rounds have saved what it costs now: %s", (_, change, rounds) => {
    const { price } = makeReceipt({
      edits: [entryId("e")],
      cause: "asked",
      nature: "reduced",
      before: shown({ a: "a" }),
      after: shown({ a: "" }),
      count: () => tokens(0),
      rates: { write: 1.25, read: 0.1 },
      planned: { ...change, cache: "warm" },
    });
    expect(price.breakEvenRounds).toBe(rounds);
    expect(rounds * price.perRound).toBeGreaterThanOrEqual(price.now);
    expect(rounds === 0 || (rounds - 1) * price.perRound < price.now).toBe(true);
  });

  it("a change that shows more never pays for itself", () => {
    expect(receipt({ a: "a" }, { a: "aaaa" }, "undone").price).not.toHaveProperty("breakEvenRounds");
  });

  it("blocks of one entry are counted together", () => {
    expect([
      ...groupByEntry([
        { block: block("1"), entry: entryId("a") },
        { block: block("2"), entry: entryId("b") },
        { block: block("3"), entry: entryId("a") },
      ]).keys(),
    ]).toEqual(["a", "b"]);
  });
});
