import { requestFrom } from "../../../../../test/fixture/model-events.ts";
import { describe, expect, it } from "vitest";
import { text } from "../../../../../test/fixture/session.ts";
import type { BreakCause } from "../../cache/break-detector.ts";
import type { Message } from "../../schema/block.ts";
import { millis, tokens } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { type AssembledRequest, countRewrittenTokens } from "./assemble-request.ts";

const [first, second] = [text("one ".repeat(100)), text("two ".repeat(300))];
const messages: readonly Message[] = [
  { role: "user", content: [first] },
  { role: "assistant", content: [second] },
];
const assembled = (all: number): AssembledRequest => ({
  kind: "request",
  request: requestFrom({ model: "m" }),
  breakpoints: [],
  messages,
  tokens: tokens(all),
  marks: undefined,
  besideCache: [],
});
const sizeOf = (...blocks: readonly (typeof first)[]): number =>
  blocks.reduce((sum, block) => sum + estimateBlock(block), 0);

describe("what has to be written again", () => {
  it.each<[string, BreakCause, number, number]>([
    ["all of it where the prefix changed", { kind: "system", block: 0 }, 10_000, 10_000],
    [
      "what stands behind the first message that differs",
      { kind: "message", message: 1, block: 0 },
      10_000,
      sizeOf(second),
    ],
    [
      "all messages at most where an edit changed some",
      { kind: "edit", edit: "undo", repliedAt: millis(0) },
      10_000,
      sizeOf(first, second),
    ],
    ["never more than the request has", { kind: "edit", edit: "undo", repliedAt: millis(0) }, 50, 50],
  ])("is %s", (_, cause, all, expected) => {
    expect(countRewrittenTokens(assembled(all), cause)).toBe(expected);
  });
});
