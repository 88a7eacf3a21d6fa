import { describe, expect, it } from "vitest";
import { holdRules } from "../../../test/fixture/rule-rows.ts";
import { call, judged, models, result, says, text, user } from "../../../test/fixture/wire-request.ts";
import type { JsonObject } from "../../schema/json.ts";
import { imageBytesMax } from "../limits.ts";

const image = (data: string): JsonObject => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const linked: JsonObject = { type: "image", source: { type: "url", url: "https://a.b/c.png" } };
const page: JsonObject = { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } };
const ofBytes = (bytes: number): string => Buffer.alloc(bytes).toString("base64");
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
        messages: [user(text("a")), says(call("x")), user(result("x", [text("a"), image(ofBytes(3))]))],
      },
    },
    {
      rule: "are base64 where they say so",
      refused: { messages: [user(image("iVBO w=="))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image("iVBOaw=="))] },
    },
    {
      rule: "are whole base64",
      refused: { messages: [user(image("iVB"))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image("iVB="))] },
    },
    {
      rule: "are padded only at the end",
      refused: { messages: [user(image("iV==iVBO"))] },
      message: "messages.0.content.0.image.source.base64.data: invalid base64 data",
      allowed: { messages: [user(image("iVBOiV=="))] },
    },
    {
      rule: "are not empty",
      refused: { messages: [user(image(""))] },
      message: "messages.0.content.0.image.source.base64: image cannot be empty",
      allowed: { messages: [user(linked)] },
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
