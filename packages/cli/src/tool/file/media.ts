import type { JsonObject } from "palimpsest/internal/schema/json";
import { imageBytesMax, pdfBytesMax } from "../limits.ts";
import { sizeWords } from "./text.ts";

/** What the API shows a model besides text, told by the first bytes: a name proves nothing. */
export type Media =
  | { readonly kind: "block"; readonly block: JsonObject; readonly words: string }
  | { readonly kind: "too-large"; readonly words: string };

export function mediaOf(bytes: Buffer): Media | undefined {
  const type = mediaTypeOf(bytes);
  if (type === undefined) return undefined;
  const isPdf = type === "application/pdf";
  const bytesMax = isPdf ? pdfBytesMax : imageBytesMax;
  const words = `${isPdf ? "PDF" : `image (${type})`}, ${sizeWords(bytes.length)}`;
  if (bytes.length > bytesMax)
    return { kind: "too-large", words: `${words}; at most ${sizeWords(bytesMax)} can be shown` };
  const source = { type: "base64", media_type: type, data: bytes.toString("base64") };
  return { kind: "block", block: { type: isPdf ? "document" : "image", source }, words };
}

function mediaTypeOf(bytes: Buffer): string | undefined {
  const starts = (text: string, at = 0): boolean => bytes.toString("latin1", at, at + text.length) === text;
  if (starts("\x89PNG\r\n\x1A\n")) return "image/png";
  if (starts("\xFF\xD8\xFF")) return "image/jpeg";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  if (starts("%PDF-")) return "application/pdf";
  return undefined;
}
