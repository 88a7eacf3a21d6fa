import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imagePart, type MadeImage } from "../../../../../test/fixture/image.ts";
import { parametersFor } from "../../../../../test/property/runs.ts";
import { type Block, type Message, parseBlock } from "../../schema/block.ts";
import type { JsonObject } from "../../schema/json.ts";
import { ImageGuard } from "./image-guard.ts";
import { judgeImage, longestSide } from "./judge-image.ts";

const guard = (messages: readonly Message[], countMax = 100): readonly Message[] =>
  new ImageGuard().guard(messages, { countMax }).messages;

const said = (...parts: readonly JsonObject[]): Message => ({
  role: "user",
  content: parts.map((part) => parseBlock(part)),
});
const resultOf = (id: string, ...content: readonly JsonObject[]): JsonObject => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const images = (count: number, image: MadeImage): Message[] =>
  Array.from({ length: count }, () => said(imagePart(image)));

const partsOf = (block: Block): readonly object[] =>
  block.type === "tool_result" && typeof block.content === "object" ? block.content : [block];
const leftIn = (messages: readonly Message[]): readonly object[] =>
  messages.flatMap(({ content }) => content.flatMap(partsOf)).filter((part) => "type" in part && part.type === "image");
const textsIn = (messages: readonly Message[]): readonly string[] =>
  messages
    .flatMap(({ content }) => content.flatMap(partsOf))
    .flatMap((part) => ("text" in part ? [String(part.text)] : []));

describe("what is sent", () => {
  it("stays the very same messages where every image fits", () => {
    const messages = [said({ type: "text", text: "look" }, imagePart()), said(resultOf("toolu_1", imagePart()))];
    expect(guard(messages)).toBe(messages);
  });

  it("holds a stub in place of a flawed image, in a message and in a result, with the rest as it was", () => {
    const bad = imagePart({ data: "broken" });
    const good = imagePart();
    const messages = [said(bad), said(resultOf("toolu_1", { type: "text", text: "two:" }, bad, good))];
    const options = { countMax: 100, idOf: () => "entry_1" };
    const guarded = new ImageGuard().guard(messages, options);
    expect(guarded.leftOut).toBe(2);
    expect(leftIn(guarded.messages)).toEqual([good]);
    expect(textsIn(guarded.messages)).toEqual([
      "[Image (image/png) not shown: its data is not base64. The original is kept: recall entry_1]",
      "two:",
      "[Image (image/png) not shown: its data is not base64. The original is kept: recall toolu_1]",
    ]);
  });

  it("keeps 20 images of 3,000 pixels", () => {
    expect(leftIn(guard(images(20, { width: 3_000 })))).toHaveLength(20);
  });

  it("of 30 images of 3,000 pixels keeps the newest 20", () => {
    const messages = images(30, { width: 3_000 });
    expect(leftIn(guard(messages))).toEqual(messages.slice(10).flatMap(({ content }) => content));
  });

  it("of many images leaves out only large ones", () => {
    const messages = [...images(1, { width: 2_001 }), ...images(40, { width: 2_000 })];
    expect(leftIn(guard(messages))).toHaveLength(40);
  });

  it("holds no more images and documents than the model takes, the newest ones", () => {
    const document = said({ type: "document", source: { type: "text", media_type: "text/plain", data: "x" } });
    const messages = [document, ...images(100, {})];
    const left = guard(messages, 100);
    expect(leftIn(left)).toHaveLength(91);
    expect(textsIn(left)[0]).toBe(
      "[Document not shown: newer ones fill what one request may hold. The original is in the transcript.]",
    );
  });

  it("has a body that the API takes", () => {
    const messages = images(30, { bytes: 3 * 2 ** 20 });
    const left = guard(messages);
    expect(JSON.stringify(left).length).toBeLessThan(32 * 2 ** 20);
    expect(leftIn(left).length).toBeGreaterThan(2);
    expect(left.at(-1)).toEqual(messages.at(-1));
  });

  it("changes at every tenth image and not at each", () => {
    const all = images(60, { width: 3_000 });
    const one = new ImageGuard();
    const leftOut = all.map((_, at) => one.guard(all.slice(0, at + 1), { countMax: 100 }).leftOut);
    expect(new Set(leftOut)).toEqual(new Set([0, 10, 20, 30, 40]));
    expect(leftOut).toEqual(leftOut.toSorted((a, b) => a - b));
  });

  it("has the same blocks as objects in the next request", () => {
    const messages = [said(imagePart({ data: "broken" })), said(resultOf("toolu_1", imagePart({ data: "broken" })))];
    const one = new ImageGuard();
    const [first, second] = [one.guard(messages, { countMax: 100 }), one.guard(messages, { countMax: 100 })];
    for (const [at, message] of first.messages.entries())
      expect(second.messages[at]?.content[0]).toBe(message.content[0]);
  });

  it("is within every cap, whatever the transcript holds, and guarding it again changes nothing", () => {
    const made = fc.record({
      width: fc.constantFrom(100, 2_000, 2_001, 8_000, 8_001),
      data: fc.constantFrom(undefined, undefined, undefined, "broken"),
    });
    const part = made.map(({ data, width }) => imagePart(data === undefined ? { width } : { data }));
    const message = fc.oneof(
      part.map((one) => said(one)),
      fc
        .array(part, { maxLength: 6 })
        .map((parts) => said(resultOf("toolu_1", { type: "text", text: "here" }, ...parts))),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 40 }), fc.integer({ min: 5, max: 60 }), (messages, countMax) => {
        const left = guard(messages, countMax);
        const sizes = leftIn(left).map((block) => {
          const verdict = judgeImage(block);
          expect(verdict.kind).toBe("fits");
          return verdict.facts.header === undefined ? 0 : longestSide(verdict.facts.header);
        });
        expect(sizes.length).toBeLessThanOrEqual(countMax);
        expect(sizes.length <= 20 || Math.max(...sizes) <= 2_000).toBe(true);
        expect(guard(left, countMax)).toBe(left);
      }),
      parametersFor({ quick: 100, long: 3_000 }),
    );
  });
});
