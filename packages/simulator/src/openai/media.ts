import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { Part } from "./item.ts";

/** Parts as blocks of the Messages API. */
type MediaPart = Exclude<Part, { kind: "text" }>;
type PartBlock = Extract<WireBlock, { type: "text" | "image" | "document" }>;

export const blockOf = (part: Part): PartBlock =>
  part.kind === "text" ? { type: "text", text: part.text } : mediaBlock(part);

export function mediaBlock(part: MediaPart): PartBlock {
  if (part.kind === "image") return { type: "image", source: imageSource(part.url) };
  const [, data = ""] = /^data:application\/pdf;base64,(.*)$/s.exec(part.data) ?? [];
  return {
    type: "document",
    title: part.name,
    source:
      data === ""
        ? { type: "text", media_type: "text/plain", data: part.data }
        : { type: "base64", media_type: "application/pdf", data },
  };
}

type ImageSource = Extract<WireBlock, { type: "image" }>["source"];

function imageSource(url: string): ImageSource {
  const [, type = "", data = ""] = dataUrl.exec(url) ?? [];
  const mediaType = imageTypes.find((known) => known === type);
  return mediaType === undefined ? { type: "url", url } : { type: "base64", media_type: mediaType, data };
}

const dataUrl = /^data:(image\/[a-z]+);base64,(.+)$/s;
const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** Whether a model could be shown what the address says. */
export const isImageUrl = (url: string): boolean => {
  const [, type = ""] = dataUrl.exec(url) ?? [];
  return imageTypes.some((known) => known === type) || /^https?:\/\/\S+$/.test(url);
};
