import type { ToolResultBlock } from "../../schema/block.ts";
import { text } from "../../schema/json.ts";

/** Trimmed; what is no text stands as its type, so that an image is not taken for nothing. */
export const resultText = ({ content = "" }: ToolResultBlock): string =>
  (typeof content === "string"
    ? content
    : content.map((part) => text(part, "text") ?? `[${text(part, "type") ?? "block"}]`).join("\n")
  ).trim();
