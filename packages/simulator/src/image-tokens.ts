import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import { imageHeader } from "palimpsest/internal/tokens/image-header";

type ImageSource = Extract<WireBlock, { type: "image" }>["source"];

/** Larger images are scaled down before the model sees them; one whose size can't be read counts as such. */
const imageTokensMax = 1_600;
const pixelsPerToken = 750;

export function countImageTokens(source: ImageSource): number {
  const size = source.type === "base64" ? imageHeader(source.data) : undefined;
  if (size === undefined || size.width === 0 || size.height === 0) return imageTokensMax;
  return Math.min(imageTokensMax, Math.ceil((size.width * size.height) / pixelsPerToken));
}
