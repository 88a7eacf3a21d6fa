import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import { countDecodedBytes, imageHeader, isBase64, isPdf } from "palimpsest/internal/tokens/image-header";
import { imageBytesMax, imageSideMax, imagesFew, manyImagesSideMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { blockPath, type Rule } from "./check-input.ts";

type ImageBlock = Extract<WireBlock, { type: "image" }>;
type DocumentBlock = Extract<WireBlock, { type: "document" }>;

interface Medium {
  readonly block: ImageBlock | DocumentBlock;
  readonly path: string;
}

/** Images and documents: how many, how big, and that they are what they claim to be. A document counts as one page. */
export const checkMedia: Rule = ({ request: { messages }, traits }) => {
  const media: Medium[] = [];
  for (const [message, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries()) collect(block, { path: blockPath(message, index), media });
  }
  const images = media.filter(({ block }) => block.type === "image").length;
  for (const medium of media) {
    const found = checkMedium(medium, images > imagesFew ? manyImagesSide : anySide);
    if (found !== undefined) return found;
  }
  if (media.length <= traits.imagesMax) return undefined;
  return invalid(
    `Too many images and documents: ${images} + ${media.length - images} > ${traits.imagesMax}`,
    "messages",
  );
};

function collect(
  block: WireBlock | WireResultPart,
  { path, media }: { readonly path: string; readonly media: Medium[] },
): void {
  if (block.type === "image" || block.type === "document") media.push({ block, path });
  const inner = innerBlocks(block);
  for (const [at, part] of inner.blocks.entries()) collect(part, { path: `${path}.${inner.path}.${at}`, media });
}

function innerBlocks(block: WireBlock | WireResultPart): {
  readonly path: string;
  readonly blocks: readonly WireResultPart[];
} {
  if (block.type === "tool_result" && typeof block.content === "object")
    return { path: "tool_result.content", blocks: block.content };
  if (block.type === "document" && block.source.type === "content" && typeof block.source.content === "object")
    return { path: "document.source.content.content", blocks: block.source.content };
  return { path: "", blocks: [] };
}

interface SideLimit {
  readonly pixels: number;
  readonly words: string;
}

const anySide: SideLimit = { pixels: imageSideMax, words: "max allowed size" };
const manyImagesSide: SideLimit = {
  pixels: manyImagesSideMax,
  words: "max allowed size for many-image requests",
};

function checkMedium({ block, path }: Medium, side: SideLimit): Refusal | undefined {
  if (block.source.type === "file")
    return invalid("this simulator keeps no files", `${path}.${block.type}.source.file`);
  if (block.source.type !== "base64") return undefined;
  const { data, media_type: mediaType } = block.source;
  const place = `${path}.${block.type}.source.base64`;
  if (data === "") return invalid(`${block.type} cannot be empty`, place);
  if (!isBase64(data)) return invalid("invalid base64 data", `${place}.data`);
  if (block.type === "document")
    return isPdf(data) ? undefined : invalid("The PDF specified was not valid.", `${place}.data`);
  const bytes = countDecodedBytes(data);
  if (bytes > imageBytesMax)
    return invalid(
      `image exceeds ${imageBytesMax / 2 ** 20} MB maximum: ${bytes} bytes > ${imageBytesMax} bytes`,
      place,
    );
  return checkImage({ data, mediaType, side }, `${place}.data`);
}

function checkImage(
  { data, mediaType, side }: { readonly data: string; readonly mediaType: string; readonly side: SideLimit },
  place: string,
): Refusal | undefined {
  const header = imageHeader(data);
  if (header === undefined || header.width === 0 || header.height === 0) return invalid("Could not process image");
  const found = `image/${header.format}`;
  if (mediaType !== found)
    return invalid(
      `The image was specified using the ${mediaType} media type, but the image appears to be a ${found} image`,
      place,
    );
  return Math.max(header.width, header.height) > side.pixels
    ? invalid(`At least one of the image dimensions exceed ${side.words}: ${side.pixels} pixels`, place)
    : undefined;
}
