import type { Block, Message } from "../schema/block.ts";
import type { LeaveOut, LeftOutPart } from "../schema/edit.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Draft } from "./draft.ts";
import type { Item } from "./item.ts";
import type { ShownBlocks } from "./make-receipt.ts";
import { isThinking } from "./to-wire-block.ts";

/** The item without a part that the provider refuses. `shown` replaces each block that is left out. */
export function omitFromItem(
  item: Item,
  { part, shown = omissionText(part) }: { readonly part: LeftOutPart; readonly shown?: string | undefined },
): Item {
  if (part === "thinking") return { ...item, thinking: "left-out" };
  if (part === "server-summary") {
    const { server: _, ...textItem } = item;
    return textItem;
  }
  return { ...item, blocks: item.blocks.map((block) => omitFromBlock(block, { part, shown })) };
}

/**
 * The same object if the message has nothing of the part. A provider's summary stays, because only its entry has the
 * replacement text.
 */
export function omitFromMessage(message: Message, part: LeftOutPart): Message {
  if (part === "server-summary" || !hasPart(message.content, part)) return message;
  const shown = omissionText(part);
  const kept = message.content.flatMap((block) =>
    part === "thinking" ? (isThinking(block) ? [] : [block]) : [omitFromBlock(block, { part, shown })],
  );
  return { ...message, content: kept.length === 0 ? [{ type: "text", text: shown }] : kept };
}

export function hasPart(blocks: readonly Block[], part: LeftOutPart): boolean {
  switch (part) {
    case "thinking":
      return blocks.some((block) => isThinking(block));
    case "server-summary":
      return blocks.some(({ type }) => type === "compaction");
    case "media":
    case "other-blocks":
      return blocks.some((block) => omitFromBlock(block, { part, shown: "" }) !== block);
  }
}

/** The edit that leaves a part out of the view from now on; undefined if the view has nothing of it. */
export function leaveOutDraft(
  view: ShownBlocks,
  { part, because }: { readonly part: LeftOutPart; readonly because: string },
): (Draft & Pick<LeaveOut, "entries">) | undefined {
  const entries: LeaveOut["entries"] = [...view].flatMap(([entry, blocks]) => {
    if (!hasPart(blocks, part)) return [];
    const isStubbed = part === "media" || part === "other-blocks";
    return [isStubbed ? { entry, shown: omissionText(part, entry) } : { entry }];
  });
  return entries.length === 0 ? undefined : { type: "leave-out", part, entries, because };
}

const nameByPart: Readonly<Record<LeftOutPart, string>> = {
  "server-summary": "A summary of the provider's own",
  thinking: "Thinking",
  media: "An image or document",
  "other-blocks": "A block of another kind",
};

function omissionText(part: LeftOutPart, id?: string): string {
  const kept = id === undefined ? "The original is in the transcript." : `The original is kept: recall ${id}`;
  return `[${nameByPart[part]} not shown: the provider refused it. ${kept}]`;
}

/** The same object if nothing is left out. */
function omitFromBlock(block: Block, { part, shown }: { part: LeftOutPart; shown: string }): Block {
  if (isOmitted(block.type, part)) return { type: "text", text: shown };
  if (block.type === "text") return part === "other-blocks" ? withoutCitations(block) : block;
  if (block.type !== "tool_result" || typeof block.content !== "object") return block;
  if (!block.content.some((inner) => isOmitted(inner["type"], part))) return block;
  const content = block.content.map((inner): JsonObject =>
    isOmitted(inner["type"], part) ? { type: "text", text: shown } : inner,
  );
  return { ...block, content };
}

const mediaTypes: ReadonlySet<unknown> = new Set(["image", "document"]);
/** Types that `other-blocks` keeps. Unknown blocks are never sent; thinking and the provider's summary are separate parts. */
const plainTypes: ReadonlySet<unknown> = new Set([
  ...mediaTypes,
  "text",
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "compaction",
  "unknown",
]);

const isOmitted = (type: unknown, part: LeftOutPart): boolean =>
  part === "media" ? mediaTypes.has(type) : part === "other-blocks" && !plainTypes.has(type);

/**
 * Removes citations, because they name blocks that may be gone. Most texts of replies have `citations: null` and stay
 * as they are.
 */
function withoutCitations(block: Extract<Block, { type: "text" }>): Block {
  const isPlain = !("citations" in block) || block.citations === null;
  return isPlain ? block : { type: "text", text: block.text };
}
