import { describe, expect, it } from "vitest";
import { imagePart, pngData } from "../../../../../test/fixture/image.ts";
import { imageBytesMax as simulatedBytesMax } from "@palimpsest/simulator/internal/limits";
import { modelTraits } from "@palimpsest/simulator/internal/prompt/model-traits";
import { knownModels } from "../../tokens/known-models.ts";
import { judgeImage, originalBytes, stubText } from "./judge-image.ts";
import { imageBytesMax, imagesMax } from "./limits.ts";

const flawOf = (block: object): string => {
  const verdict = judgeImage(block);
  return verdict.kind === "flawed" ? verdict.flaw : verdict.kind;
};

describe("an image", () => {
  it.each([
    ["of 5 MiB fits", imagePart({ bytes: imageBytesMax }), "fits"],
    ["of one byte more does not", imagePart({ bytes: imageBytesMax + 1 }), "too-many-bytes"],
    ["of 8,000 pixels on a side fits", imagePart({ width: 8_000, height: 1 }), "fits"],
    ["of one more does not", imagePart({ width: 1, height: 8_001 }), "too-many-pixels"],
    ["without data", imagePart({ data: "" }), "not-base64"],
    ["that is no base64", imagePart({ data: "not base64!!" }), "not-base64"],
    ["that is a text", imagePart({ data: Buffer.from("hello ".repeat(20)).toString("base64") }), "no-image"],
    ["cut in its header", imagePart({ data: pngData().slice(0, 24) }), "no-image"],
    ["without any pixel", imagePart({ width: 0 }), "no-image"],
    ["declared as another format", imagePart({ mediaType: "image/jpeg" }), "wrong-format"],
    ["without a source", { type: "image" }, "malformed"],
    ["of a source nobody knows", { type: "image", source: { type: "fax", data: "x" } }, "malformed"],
    ["that lies elsewhere", { type: "image", source: { type: "url", url: "https://example.org/a.png" } }, "fits"],
  ])("%s", (_, block, expected) => {
    expect(flawOf(block)).toBe(expected);
  });

  it("has the caps that the simulated API has", () => {
    expect(imageBytesMax).toBe(simulatedBytesMax);
    for (const model of knownModels) expect(imagesMax(model.windowTokens)).toBe(modelTraits(model).imagesMax);
  });
});

describe("the original of an image", () => {
  it("is the image where it can be decoded", () => {
    const data = pngData({ bytes: 100 });
    expect(Buffer.from(originalBytes(imagePart({ data }))).toString("base64")).toBe(data);
  });

  it.each(["not base64!!", "QR==", ""])("is its block where decoding would lose something: %j", (data) => {
    const block = imagePart({ data });
    expect(JSON.parse(new TextDecoder().decode(originalBytes(block)))).toEqual(block);
  });
});

it("a stub names what it stands for, why, and the id", () => {
  const verdict = judgeImage(imagePart({ width: 9_000, height: 10, bytes: 3_000 }));
  expect(stubText({ what: "image", why: "too-many-pixels", facts: verdict.facts, id: "toolu_1" })).toBe(
    "[Image (PNG, 9000 × 10 pixels, 2.9 KB) not shown: a side is over 8,000 pixels. The original is kept: recall toolu_1]",
  );
});
