import type { WireBlock, WireResultPart } from "../../schema/wire/block.ts";
import { decodedBytes, isBase64 } from "../../tokens/image-header.ts";
import { imageBytesMax } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { blockPath, type Rule } from "./check-input.ts";

type Image = Extract<WireBlock, { type: "image" }>;
type Document = Extract<WireBlock, { type: "document" }>;

interface Medium {
  readonly block: Image | Document;
  readonly path: string;
}

/** Images and documents: how many, how big, and that what claims to be base64 is. A document counts as one page. */
export const checkMedia: Rule = ({ request: { messages }, traits }) => {
  const media: Medium[] = [];
  for (const [message, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries()) collect(block, { path: blockPath(message, index), media });
  }
  for (const medium of media) {
    const found = checkMedium(medium);
    if (found !== undefined) return found;
  }
  if (media.length <= traits.imagesMax) return undefined;
  const images = media.filter(({ block }) => block.type === "image").length;
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

function checkMedium({ block, path }: Medium): Refusal | undefined {
  if (block.source.type === "file")
    return invalid("this simulator keeps no files", `${path}.${block.type}.source.file`);
  if (block.source.type !== "base64") return undefined;
  const { data } = block.source;
  const place = `${path}.${block.type}.source.base64`;
  if (data === "") return invalid(`${block.type} cannot be empty`, place);
  if (!isBase64(data)) return invalid("invalid base64 data", `${place}.data`);
  const bytes = decodedBytes(data);
  return block.type === "image" && bytes > imageBytesMax
    ? invalid(`image exceeds ${imageBytesMax / 2 ** 20} MB maximum: ${bytes} bytes > ${imageBytesMax} bytes`, place)
    : undefined;
}
