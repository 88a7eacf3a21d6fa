import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { WireMessage } from "palimpsest/internal/schema/wire/request";

export type CompactionBlock = Extract<WireBlock, { type: "compaction" }>;

/** One without content says nothing to anybody: the compaction failed. */
export const isFailedCompaction = (block: WireBlock): boolean =>
  block.type === "compaction" && typeof block.content !== "string";

/** A message that holds nothing else. */
export const isFailedAlone = ({ content }: WireMessage): boolean =>
  typeof content !== "string" && content.length > 0 && content.every(isFailedCompaction);

/** The last block with content: it stands for everything before it. Looks from the end, so that it costs what lies behind. */
export function lastCompaction(
  messages: readonly WireMessage[],
): { readonly message: number; readonly block: number } | undefined {
  for (let message = messages.length - 1; message >= 0; message -= 1) {
    const content = messages[message]?.content ?? "";
    if (typeof content === "string") continue;
    const block = content.findLastIndex((one) => one.type === "compaction" && typeof one.content === "string");
    if (block !== -1) return { message, block };
  }
  return undefined;
}
