import { documentBlock } from "../../schema/wire/block.ts";
import { decodedBytes, isBase64 } from "../../tokens/image-header.ts";
import { isPdf } from "../../tokens/pdf-header.ts";
import { type DocumentFlaw, type ImageFacts, judgeImage, noFacts } from "./image.ts";

export type DocumentVerdict =
  | { readonly kind: "fits"; readonly facts: ImageFacts }
  | { readonly kind: "flawed"; readonly flaw: DocumentFlaw; readonly facts: ImageFacts };

/** As of an image: what it is is told by its bytes. */
export function judgeDocument(block: object): DocumentVerdict {
  const read = documentBlock.safeParse(block);
  if (!read.success) return { kind: "flawed", flaw: "malformed", facts: noFacts };
  const { source } = read.data;
  if (source.type === "content") {
    const parts = typeof source.content === "string" ? [] : source.content;
    const isFlawed = parts.some((part) => part.type === "image" && judgeImage(part).kind === "flawed");
    return isFlawed ? { kind: "flawed", flaw: "flawed-image", facts: noFacts } : { kind: "fits", facts: noFacts };
  }
  if (source.type !== "base64") return { kind: "fits", facts: noFacts };
  const { media_type: mediaType, data } = source;
  if (data === "" || !isBase64(data)) return { kind: "flawed", flaw: "not-base64", facts: { ...noFacts, mediaType } };
  const facts: ImageFacts = { ...noFacts, mediaType, bytes: decodedBytes(data) };
  return isPdf(data) ? { kind: "fits", facts } : { kind: "flawed", flaw: "no-pdf", facts };
}
