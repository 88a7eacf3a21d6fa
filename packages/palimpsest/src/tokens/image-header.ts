import { pdfHeadBytes } from "./limits.ts";

/** What an image's first bytes say about it, whatever its declared type is. */
export interface ImageHeader {
  readonly format: "png" | "jpeg" | "gif" | "webp";
  readonly width: number;
  readonly height: number;
}

/** Enough for every format except JPEG, whose size comes after its profiles and previews. */
const fixedHeadBytes = 48;
/** Usually enough to reach a JPEG's frame header: profiles and previews come before it, of at most 64 KiB each. */
const jpegHeadBytes = 256 * 2 ** 10;

/** Undefined if the bytes are not an image, or end before its size. */
export function imageHeader(base64: string): ImageHeader | undefined {
  const head = decodeHead(base64, fixedHeadBytes);
  if (head.length < 30) return undefined;
  const magic = head.toString("latin1", 0, 4);
  if (head.readUInt32BE(0) === 0x89504e47)
    return { format: "png", width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  if (magic === "GIF8") return { format: "gif", width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  if (magic === "RIFF" && head.toString("latin1", 8, 12) === "WEBP") return webpHeader(head);
  if (head.readUInt16BE(0) !== 0xffd8) return undefined;
  return (
    jpegHeader(decodeHead(base64, jpegHeadBytes)) ??
    (base64.length > base64Length(jpegHeadBytes) ? jpegHeader(Buffer.from(base64, "base64")) : undefined)
  );
}

/** Searches for a wrong character instead of matching the whole text: megabytes would overflow the matcher's stack. */
export function isBase64(data: string): boolean {
  const padding = data.indexOf("=");
  const isPadded = padding === -1 || /^={1,2}$/.test(data.slice(padding, padding + 3));
  return data.length % 4 === 0 && isPadded && !/[^A-Za-z0-9+/=]/.test(data);
}

/** Requires data that passes `isBase64`. */
export function countDecodedBytes(data: string): number {
  const padding = data.indexOf("=");
  return (data.length / 4) * 3 - (padding === -1 ? 0 : data.length - padding);
}

const base64Length = (bytes: number): number => Math.ceil((bytes * 4) / 3);
const decodeHead = (base64: string, bytes: number): Buffer =>
  Buffer.from(base64.slice(0, base64Length(bytes)), "base64");

/** WebP has three forms: lossy, lossless, and extended with alpha or animation. */
function webpHeader(head: Buffer): ImageHeader | undefined {
  const format = "webp";
  switch (head.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { format, width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { format, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { format, width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Walks the segments, each of which has its length, up to the frame header, which has the size. */
function jpegHeader(head: Buffer): ImageHeader | undefined {
  let at = 2;
  while (at + 9 <= head.length && head[at] === 0xff) {
    const marker = head[at + 1] ?? 0;
    if (isFrame(marker)) return { format: "jpeg", width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    // Any number of fill bytes may precede a marker.
    at += marker === 0xff ? 1 : 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}

/** C0 to CF begin a frame, except C4, C8 and CC, which define tables or are reserved. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Whether the bytes begin like a PDF, whatever their declared type is. */
export const isPdf = (base64: string): boolean => decodeHead(base64, pdfHeadBytes).includes("%PDF-");
