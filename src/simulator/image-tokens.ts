import type { WireBlock } from "../schema/wire/block.ts";

type ImageSource = Extract<WireBlock, { type: "image" }>["source"];

interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Larger images are scaled down before the model sees them; one whose size can't be read counts as such. */
const imageTokensMax = 1_600;
const pixelsPerToken = 750;

/** What stands before a JPEG's frame header: profiles and previews, of at most 64 KiB each. */
const headBytesMax = 256 * 2 ** 10;

export function countImageTokens(source: ImageSource): number {
  const size = source.type === "base64" ? imageSize(source.data) : undefined;
  if (size === undefined || size.width === 0 || size.height === 0) return imageTokensMax;
  return Math.min(imageTokensMax, Math.ceil((size.width * size.height) / pixelsPerToken));
}

/** By the bytes, not by the declared media type. */
function imageSize(base64: string): PixelSize | undefined {
  const head = Buffer.from(base64.slice(0, Math.ceil((headBytesMax * 4) / 3)), "base64");
  if (head.length < 30) return undefined;
  if (head.readUInt32BE(0) === 0x89504e47) return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  const magic = head.toString("latin1", 0, 4);
  if (magic === "GIF8") return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  if (magic === "RIFF" && head.toString("latin1", 8, 12) === "WEBP") return webpSize(head);
  return head.readUInt16BE(0) === 0xffd8 ? jpegSize(head) : undefined;
}

/** Three forms: lossy, lossless, and extended with alpha or animation. */
function webpSize(head: Buffer): PixelSize | undefined {
  switch (head.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Segments follow each other, each with its length, up to the frame header, which has the size. */
function jpegSize(head: Buffer): PixelSize | undefined {
  let at = 2;
  while (at + 9 <= head.length && head[at] === 0xff) {
    const marker = head[at + 1] ?? 0;
    if (isFrame(marker)) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    // Any number of fill bytes may stand before a marker.
    at += marker === 0xff ? 1 : 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}

/** C0 to CF begin a frame, except the three that define tables. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
