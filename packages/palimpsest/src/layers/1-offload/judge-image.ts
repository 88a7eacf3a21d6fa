import { z } from "zod";
import { formatBytes } from "../../text/format-count.ts";
import { imageBlock, documentBlock } from "../../schema/wire/wire-block.ts";
import { countDecodedBytes, type ImageHeader, imageHeader, isBase64, isPdf } from "../../tokens/image-header.ts";
import { imageBytesMax, imageSideMax } from "./limits.ts";

/** Why the API would refuse a request because of this image alone. */
type ImageFlaw = "malformed" | "not-base64" | "no-image" | "wrong-format" | "too-many-bytes" | "too-many-pixels";

interface ImageFacts {
  /** The declared type. Undefined if there is none. */
  readonly mediaType: string | undefined;
  /** Decoded size. Undefined if the data can't be decoded. */
  readonly bytes: number | undefined;
  readonly header: ImageHeader | undefined;
}

export type ImageVerdict =
  | { readonly kind: "fits"; readonly facts: ImageFacts }
  | { readonly kind: "flawed"; readonly flaw: ImageFlaw; readonly facts: ImageFacts };

const imageShape = z.object({
  source: z.discriminatedUnion("type", [
    z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
    z.object({ type: z.literal("url"), url: z.string() }),
    z.object({ type: z.literal("file"), file_id: z.string() }),
  ]),
});

const noFacts: ImageFacts = { mediaType: undefined, bytes: undefined, header: undefined };

/**
 * Checks the bytes, not only the declared type. What passes has the wire format. What is stored elsewhere (a URL, a
 * file id) can't be checked here.
 */
export function judgeImage(block: object): ImageVerdict {
  const parsed = imageShape.safeParse(block);
  if (!parsed.success) return { kind: "flawed", flaw: "malformed", facts: noFacts };
  const { source } = parsed.data;
  const isWire = imageBlock.safeParse(block).success;
  if (source.type !== "base64")
    return isWire ? { kind: "fits", facts: noFacts } : { kind: "flawed", flaw: "malformed", facts: noFacts };
  const { media_type: mediaType, data } = source;
  if (data === "" || !isBase64(data)) return { kind: "flawed", flaw: "not-base64", facts: { ...noFacts, mediaType } };
  const facts: ImageFacts = { mediaType, bytes: countDecodedBytes(data), header: imageHeader(data) };
  const flaw = findFlaw(facts) ?? (isWire ? undefined : "malformed");
  return flaw === undefined ? { kind: "fits", facts } : { kind: "flawed", flaw, facts };
}

function findFlaw({ mediaType, bytes = 0, header }: ImageFacts): ImageFlaw | undefined {
  if (header === undefined || header.width === 0 || header.height === 0) return "no-image";
  if (mediaType !== `image/${header.format}`) return "wrong-format";
  if (bytes > imageBytesMax) return "too-many-bytes";
  return longestSide(header) > imageSideMax ? "too-many-pixels" : undefined;
}

export const longestSide = ({ width, height }: ImageHeader): number => Math.max(width, height);

/**
 * The decoded image if encoding it again gives the same text, else the block that holds it. Either way nothing is lost.
 */
export function originalBytes(block: object): Uint8Array {
  const { data: parsed } = imageShape.safeParse(block);
  if (parsed?.source.type === "base64") {
    const decoded = Buffer.from(parsed.source.data, "base64");
    if (decoded.length > 0 && decoded.toString("base64") === parsed.source.data) return decoded;
  }
  return new TextEncoder().encode(JSON.stringify(block));
}

/** Why the API would refuse a request because of this document alone. */
type DocumentFlaw = "malformed" | "not-base64" | "no-pdf" | "flawed-image";

/** The last two are for what is valid by itself, but too much for one request. */
export type OmissionReason = ImageFlaw | DocumentFlaw | "many-large" | "too-many";

const reasons: { readonly [Why in OmissionReason]: string } = {
  malformed: "it has no source that can be read",
  "not-base64": "its data is not base64",
  "no-image": "its data is no whole PNG, JPEG, GIF or WebP",
  "wrong-format": "its data is of another format than declared",
  "no-pdf": "its data is no PDF",
  "flawed-image": "it holds an image that can't be sent",
  "too-many-bytes": `it is over ${formatBytes(imageBytesMax)}`,
  "too-many-pixels": `a side is over ${imageSideMax.toLocaleString("en-US")} pixels`,
  "many-large": "it is too large to be sent beside so many others",
  "too-many": "newer ones fill what one request may hold",
};

const titles = { image: "Image", document: "Document" } as const;

interface StubInput {
  readonly what: "image" | "document";
  readonly why: OmissionReason;
  readonly facts: ImageFacts;
  /** The id under which `recall` returns the original. */
  readonly id: string | undefined;
}

/** The text that replaces an image or document. */
export function stubText({ what, why, facts, id }: StubInput): string {
  const { header, bytes, mediaType } = facts;
  const known = [
    header === undefined ? mediaType?.slice(0, 40) : header.format.toUpperCase(),
    header === undefined ? undefined : `${header.width} × ${header.height} pixels`,
    bytes === undefined ? undefined : formatBytes(bytes),
  ].filter((fact) => fact !== undefined);
  const details = known.length === 0 ? "" : ` (${known.join(", ")})`;
  const kept = id === undefined ? "The original is in the transcript." : `The original is kept: recall ${id}`;
  return `[${titles[what]}${details} not shown: ${reasons[why]}. ${kept}]`;
}

export type DocumentVerdict =
  | { readonly kind: "fits"; readonly facts: ImageFacts }
  | { readonly kind: "flawed"; readonly flaw: DocumentFlaw; readonly facts: ImageFacts };

/** Like `judgeImage`, checks the bytes. */
export function judgeDocument(block: object): DocumentVerdict {
  const parsed = documentBlock.safeParse(block);
  if (!parsed.success) return { kind: "flawed", flaw: "malformed", facts: noFacts };
  const { source } = parsed.data;
  if (source.type === "content") {
    const parts = typeof source.content === "string" ? [] : source.content;
    const isFlawed = parts.some((part) => part.type === "image" && judgeImage(part).kind === "flawed");
    return isFlawed ? { kind: "flawed", flaw: "flawed-image", facts: noFacts } : { kind: "fits", facts: noFacts };
  }
  if (source.type !== "base64") return { kind: "fits", facts: noFacts };
  const { media_type: mediaType, data } = source;
  if (data === "" || !isBase64(data)) return { kind: "flawed", flaw: "not-base64", facts: { ...noFacts, mediaType } };
  const facts: ImageFacts = { ...noFacts, mediaType, bytes: countDecodedBytes(data) };
  return isPdf(data) ? { kind: "fits", facts } : { kind: "flawed", flaw: "no-pdf", facts };
}
