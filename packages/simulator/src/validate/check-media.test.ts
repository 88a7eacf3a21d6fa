import { describe, expect, it } from "vitest";
import { pngData } from "../../../../test/fixture/image.ts";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { call, judged, models, result, says, text, user } from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { imageBytesMax } from "../limits.ts";

const image = (data: string): JsonObject => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const linked: JsonObject = { type: "image", source: { type: "url", url: "https://a.b/c.png" } };
const page: JsonObject = { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } };
const pdf = (head: string): JsonObject => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: Buffer.from(head).toString("base64") },
});
const ofBytes = (bytes: number): string => pngData({ bytes });
const gif = Buffer.from("GIF89a\u0001\u0000\u0001\u0000".padEnd(40, "\u0000"), "latin1").toString("base64");
const wide = (width: number): JsonObject => image(pngData({ width }));
const many = (count: number, block: JsonObject): JsonObject[] => Array.from({ length: count }, () => block);
const big = "image exceeds 5 MB maximum: 5242881 bytes > 5242880 bytes";

describe("images and documents", () => {
  holdRules([
    {
      rule: "are at most 5 MB each, decoded",
      refused: { messages: [user(text("a"), image(ofBytes(imageBytesMax + 1)))] },
      message: `messages.0.content.1.image.source.base64: ${big}`,
      allowed: { messages: [user(text("a"), image(ofBytes(imageBytesMax)))] },
    },
    {
      rule: "are at most 5 MB each inside a result",
      refused: {
        messages: [user(text("a")), says(call("x")), user(result("x", [text("a"), image(ofBytes(imageBytesMax + 1))]))],
      },
      message: `messages.2.content.0.tool_result.content.1.image.source.base64: ${big}`,
      allowed: {
        messages: [user(text("a")), says(call("x")), user(result("x", [text("a"), image(ofBytes(64))]))],
      },
    },
    {
      rule: "are base64 where they say so",
      refused: { messages: [user(image("iVBO w=="))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image(ofBytes(64)))] },
    },
    {
      rule: "are whole base64",
      refused: { messages: [user(image("iVB"))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image(ofBytes(65)))] },
    },
    {
      rule: "are padded only at the end",
      refused: { messages: [user(image("iV==iVBO"))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image(ofBytes(64)))] },
    },
    {
      rule: "are not empty",
      refused: { messages: [user(image(""))] },
      message: "messages.0.content.0.image.source.base64: image cannot be empty",
      allowed: { messages: [user(linked)] },
    },
    {
      rule: "are images where they say so",
      refused: { messages: [user(image(Buffer.from("hello ".repeat(20)).toString("base64")))] },
      message: "Could not process image",
      allowed: { messages: [user(image(ofBytes(64)))] },
    },
    {
      rule: "are images of the format that they say",
      refused: { messages: [user(text("a")), says(call("x")), user(result("x", [image(gif)]))] },
      message:
        "messages.2.content.0.tool_result.content.0.image.source.base64.data: The image was specified using the image/png media type, but the image appears to be a image/gif image",
      allowed: { messages: [user({ type: "image", source: { type: "base64", media_type: "image/gif", data: gif } })] },
    },
    {
      rule: "are at most 8,000 pixels on a side",
      refused: { messages: [user(wide(8_001))] },
      message:
        "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
      allowed: { messages: [user(wide(8_000))] },
    },
    {
      rule: "are at most 2,000 pixels on a side where more than 20 are sent",
      refused: { messages: [user(...many(20, linked), wide(2_001))] },
      message:
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
      allowed: { messages: [user(...many(20, linked), wide(2_000))] },
    },
    {
      rule: "are PDFs where they say so",
      refused: { messages: [user(pdf("hello"))] },
      message: "messages.0.content.0.document.source.base64.data: The PDF specified was not valid.",
      allowed: { messages: [user(pdf("%PDF-1.7 hello"))] },
    },
    {
      rule: "are at most 100 on models with a window of 200k, and 600 beyond",
      refused: { messages: [user(...many(60, linked), ...many(41, page))] },
      on: { model: models.old },
      message: "messages: Too many images and documents: 60 + 41 > 100",
      allowed: { messages: [user(...many(60, linked), ...many(41, page))] },
      allowedOn: { model: models.new },
    },
    {
      rule: "are counted inside results and documents too",
      refused: {
        messages: [
          user(...many(98, linked), { type: "document", source: { type: "content", content: [linked] } }),
          says(call("x")),
          user(result("x", [linked])),
        ],
      },
      message: "messages: Too many images and documents: 100 + 1 > 100",
      allowed: { messages: [user(...many(99, linked)), says(call("x")), user(result("x", [linked]))] },
    },
  ]);

  it("are counted over the whole conversation", () => {
    const messages = [...many(5, user(...many(121, linked)))];
    expect(judged({ messages }, { model: models.new })).toMatchObject({
      message: "messages: Too many images and documents: 605 + 0 > 600",
    });
  });
});
