import { describe, expect, it } from "vitest";
import { pngData } from "../../../../test/fixture/image.ts";
import { countDecodedBytes, imageHeader, isBase64 } from "./image-header.ts";

const base64 = (...parts: readonly (readonly number[] | string)[]): string =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  ).toString("base64");
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
const frame = [0xff, 0xc0, 0, 17, 8, 0x01, 0x2c, 0x02, 0x58];
const segment = (bytes: number): number[] => [0xff, 0xe1, (bytes + 2) >> 8, (bytes + 2) & 0xff, ...zeros(bytes)];

describe("an image's header", () => {
  it.each([
    { name: "PNG", data: pngData({ width: 3_000, height: 20 }), header: { format: "png", width: 3_000, height: 20 } },
    {
      name: "GIF",
      data: base64("GIF89a", [0x10, 0, 0x20, 0], zeros(30)),
      header: { format: "gif", width: 16, height: 32 },
    },
    {
      name: "WebP, extended",
      data: base64("RIFF", zeros(4), "WEBPVP8X", zeros(8), [0xff, 0, 0], [0x7f, 0, 0], zeros(8)),
      header: { format: "webp", width: 256, height: 128 },
    },
    {
      name: "JPEG",
      data: base64([0xff, 0xd8], segment(10), [0xff], frame, zeros(20)),
      header: { format: "jpeg", width: 600, height: 300 },
    },
    {
      name: "JPEG behind a megabyte of profiles",
      data: base64([0xff, 0xd8], ...Array.from({ length: 16 }, () => segment(65_000)), frame, zeros(20)),
      header: { format: "jpeg", width: 600, height: 300 },
    },
  ])("says the format and the size: $name", ({ data, header }) => {
    expect(imageHeader(data)).toEqual(header);
  });

  it.each([
    ["nothing", ""],
    ["a text", base64("this is no image at all, however long it may be")],
    ["a PNG cut in its header", pngData().slice(0, 24)],
    ["a JPEG that ends before its frame", base64([0xff, 0xd8], segment(40))],
    ["a WebP of no known form", base64("RIFF", zeros(4), "WEBPXXXX", zeros(20))],
  ])("is not there in %s", (_, data) => {
    expect(imageHeader(data)).toBeUndefined();
  });
});

describe("base64", () => {
  it.each([
    ["", true, 0],
    ["QUJD", true, 3],
    ["QUI=", true, 2],
    ["QQ==", true, 1],
    ["QQ", false, 0],
    ["Q===", false, 0],
    ["QU D", false, 0],
    ["QU=D", false, 0],
  ])("%j is it: %s", (data, is, bytes) => {
    expect(isBase64(data)).toBe(is);
    if (is) expect(countDecodedBytes(data)).toBe(bytes);
  });
});
