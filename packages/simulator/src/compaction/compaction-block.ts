import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type {
  WireMessage,
  ContextEdit,
  ContextEditOf,
  MessagesRequest,
} from "palimpsest/internal/schema/wire/messages-request";
import { compactTriggerTokensDefault } from "../limits.ts";

export type CompactionBlock = Extract<WireBlock, { type: "compaction" }>;

/** A block without content: the compaction failed. */
export const isFailedCompaction = (block: WireBlock): boolean =>
  block.type === "compaction" && typeof block.content !== "string";

/** Whether a message holds nothing but failed compactions. */
export const isOnlyFailedCompaction = ({ content }: WireMessage): boolean =>
  typeof content !== "string" && content.length > 0 && content.every(isFailedCompaction);

/**
 * The last block with content, which replaces everything before it. The search goes backwards, so it costs only what
 * comes after the block.
 */
export function findLastCompaction(
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

/** One beta for each of the two kinds of compaction. */
export const compactionBetas = { threshold: "compact-2026-01-12", onDemand: "compact-2026-09-04" } as const;

export const hasCompactionBeta = (betas: ReadonlySet<string>): boolean =>
  betas.has(compactionBetas.threshold) || betas.has(compactionBetas.onDemand);

/** A compaction that a request asks for and that is due. */
export interface DueCompaction {
  /** `on-demand`: the summary is the whole reply, and signed. */
  readonly way: "threshold" | "on-demand";
  /** The instructions by which the model is asked for the summary. */
  readonly instructions: string;
  /** Whether the model is then asked for its reply. */
  readonly afterwards: "reply" | "pause";
}

/** `promptTokens`: after all other edits. A request for no tokens only warms the cache. */
export function findDueCompaction(request: MessagesRequest, promptTokens: number): DueCompaction | undefined {
  if (request.compaction !== null && request.compaction !== undefined)
    return { way: "on-demand", instructions: summaryInstructions(request.compaction), afterwards: "pause" };
  const edit = (request.context_management?.edits ?? []).find(isCompactEdit);
  if (edit === undefined || request.max_tokens === 0) return undefined;
  if (promptTokens < (edit.trigger?.value ?? compactTriggerTokensDefault)) return undefined;
  const afterwards = edit.pause_after_compaction === true ? "pause" : "reply";
  return { way: "threshold", instructions: summaryInstructions(edit), afterwards };
}

export const isCompactEdit = (edit: ContextEdit): edit is ContextEditOf<"compact_20260112"> =>
  edit.type === "compact_20260112";

/** The client's instructions replace the server's; blank ones do not count. */
const summaryInstructions = ({ instructions }: { readonly instructions?: string | null | undefined }): string =>
  instructions !== null && instructions !== undefined && instructions.trim() !== "" ? instructions : summaryPrompt;

/** The server's request for a summary, used if the client's request brings no instructions of its own. */
export const summaryPrompt = `This conversation is about to be replaced by a summary. You will go on with the work from the summary alone: whatever it leaves out is gone.

Write it for yourself, so that you could take up the work at once. Say:
- what was asked for, with every wish and limit that the user stated and that still holds;
- what has been done and decided, and why, with names, paths, figures and commands as they were;
- what was tried and failed, and what was learned from it;
- where the work stands at this moment, and what comes next.

Call no tools. Put the summary between <summary> and </summary>.`;
