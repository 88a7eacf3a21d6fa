import type { JsonObject } from "../schema/json.ts";

/** Types of images the API takes. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The block for inline data, or nothing where the model could not be given such data. */
export function mediaBlock(mediaType: string, data: string): JsonObject | undefined {
  if (data === "") return undefined;
  const source = { type: "base64", media_type: mediaType, data };
  if (imageTypes.has(mediaType)) return { type: "image", source };
  return mediaType === "application/pdf" ? { type: "document", source } : undefined;
}

/** The block for a `data:` or web address. */
export function mediaBlockOf(url: string, mediaType?: string): JsonObject | undefined {
  const data = /^data:([^;,]+);base64,/.exec(url);
  if (data !== null) return mediaBlock(data[1] ?? "", url.slice(data[0].length));
  const isImage = mediaType === undefined || mediaType.startsWith("image/");
  return /^https?:/.test(url) && isImage ? { type: "image", source: { type: "url", url } } : undefined;
}
