import type { JsonObject } from "../../schema/json.ts";
import { imageHeader, isPdf } from "../../tokens/image-header.ts";

export interface Media {
  readonly mediaType?: string | undefined;
  /** In base64. */
  readonly data?: string | undefined;
  /** An address, or the data itself. */
  readonly url?: string | undefined;
  readonly name?: string | undefined;
}

export type MediaBlock =
  | ({ readonly type: "image" | "document" } & JsonObject)
  | { readonly type: "text"; readonly text: string };

/**
 * A picture or a PDF as a block of the Messages API, which the context counts as what it is. Anything else becomes a short
 * text that names it: what is sent is the framework's own object.
 */
export function encodeMedia(media: Media): MediaBlock {
  const { mediaType, data, url, name } = readDataUrl(media);
  const title = name === undefined ? {} : { title: name };
  if (data !== undefined) {
    const header = imageHeader(data);
    if (header !== undefined)
      return { type: "image", source: { type: "base64", media_type: `image/${header.format}`, data } };
    if (isPdf(data))
      return { type: "document", source: { type: "base64", media_type: "application/pdf", data }, ...title };
  }
  if (url !== undefined && /^https?:/.test(url)) {
    if (mediaType?.startsWith("image") === true) return { type: "image", source: { type: "url", url } };
    if (mediaType === "application/pdf") return { type: "document", source: { type: "url", url }, ...title };
  }
  return { type: "text", text: nameMedia({ mediaType, data, url, name }) };
}

const nameMedia = ({ mediaType = "file", data, url, name }: Media): string =>
  `[${[mediaType, name, url, data === undefined ? undefined : `${data.length} characters in base64`]
    .filter((part) => part !== undefined)
    .join(", ")}]`;

function readDataUrl(media: Media): Media {
  const { mediaType, data } = /^data:(?<mediaType>[^;,]*);base64,(?<data>.*)$/s.exec(media.url ?? "")?.groups ?? {};
  return data === undefined ? media : { mediaType: mediaType ?? media.mediaType, data, name: media.name };
}

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
