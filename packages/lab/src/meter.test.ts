import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../test/fixture/replay/made-recording.ts";
import type { Message } from "palimpsest/internal/schema/block";
import { BlockIds, Meter } from "./replay-cache.ts";

const { tokensOf } = madeRecording([]);
const meterOf = (ids = new BlockIds()): Meter => new Meter({ headerTokens: 1_000, tokensOf, ids });
const message = (role: Message["role"], ...texts: readonly string[]): Message => ({
  role,
  content: texts.map((text) => ({ type: "text", text })),
});
const [one, two, three] = [message("user", "7 tokens: a"), message("assistant", "5 tokens: b"), message("user", "c")];

describe("a request as the cache sees it", () => {
  it("begins with the header, and has every block with the recording's tokens", () => {
    const { blocks, tokens } = meterOf().prompt([one, two], []);
    expect(blocks.map((block) => [block.level, block.tokens, block.tokensUpTo])).toEqual([
      ["system", 1_000, 1_000],
      ["messages", 7, 1_007],
      ["messages", 5, 1_012],
    ]);
    expect(tokens).toBe(1_012);
  });

  it("has a block of its own for the beginning of the header that other sessions share", () => {
    const meter = new Meter({ headerTokens: 1_000, sharedTokens: 600, tokensOf, ids: new BlockIds() });
    const { blocks } = meter.prompt([one], [{ place: { part: "system", at: 0 }, lifetime: "5m" }]);
    expect(blocks.map(({ tokensUpTo, breakpoint }) => [tokensUpTo, breakpoint])).toEqual([
      [600, undefined],
      [1_000, "5m"],
      [1_007, undefined],
    ]);
    const shared = meter.sharedPrompt("1h");
    expect(shared.blocks).toEqual([{ ...blocks[0], breakpoint: "1h" }]);
    expect(shared.tokens).toBe(600);
    expect(meterOf().sharedPrompt("5m").tokens).toBe(1_000);
  });

  it("has its marks where they were planned, and only in this request", () => {
    const meter = meterOf();
    const marked = meter.prompt(
      [one, message("assistant", "x", "y"), three],
      [
        { place: { part: "system", at: 0 }, lifetime: "1h" },
        { place: { part: "messages", message: 1, at: 1 }, lifetime: "5m" },
      ],
    );
    expect(marked.blocks.map(({ breakpoint }) => breakpoint)).toEqual(["1h", undefined, undefined, "5m", undefined]);
    expect(meter.prompt([one], []).blocks.every(({ breakpoint }) => breakpoint === undefined)).toBe(true);
  });

  it.each<[string, readonly Message[], number]>([
    ["all where the next goes on", [one, two, three], 3],
    ["what stands before a change", [one, message("assistant", "other"), three], 2],
    ["the same words in another object", [message("user", "7 tokens: a"), two], 3],
    ["the header where another speaks the same words", [message("assistant", "7 tokens: a"), two], 1],
    ["what is left where the next is shorter", [one], 2],
  ])("shares %s", (_, next, shared) => {
    const meter = meterOf();
    const chains = (messages: readonly Message[]): string[] =>
      meter.prompt(messages, []).blocks.map(({ chain }) => chain);
    const before = chains([one, two]);
    const after = chains(next);
    expect(before.filter((chain, at) => chain === after[at])).toHaveLength(shared);
    // The way there does not matter.
    expect(after.slice(0, shared)).toEqual(before.slice(0, shared));
    expect(chains([one, two])).toEqual(before);
  });

  it("numbers what says the same alike in all runs over a recording", () => {
    const ids = new BlockIds();
    const hashes = (meter: Meter): string[] => meter.prompt([one, two, one], []).blocks.map(({ hash }) => hash);
    const [, first, second, third] = hashes(meterOf(ids));
    expect(third).toBe(first);
    expect(second).not.toBe(first);
    expect(hashes(meterOf(ids)).slice(1)).toEqual([first, second, third]);
  });
});
