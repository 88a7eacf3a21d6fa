import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { ResultReplacement } from "./view-watch.ts";

/** What `Flattened` keeps of each message and each call. */
export interface MessageGroup {
  readonly index: number;
  readonly role: "user" | "assistant";
  readonly content: Block[];
  /** The entry each block comes from. */
  readonly sources: EntryId[];
  /** Replies in an assistant group; calls answered so far in a user group, in the order of their calls. */
  readonly replies: Set<string>;
  readonly answered: ToolUseId[];
}

export interface CallState {
  readonly group: number;
  readonly order: number;
  readonly name: string;
  readonly at: number;
  answer: CallAnswer | undefined;
  /** A real result that came after the synthetic answer, and the block it is said in. */
  late: LateAnswer | undefined;
}

export interface CallAnswer {
  readonly block: ToolResultBlock;
  readonly entry: EntryId;
  readonly at: number;
  /** `repair`: a synthetic answer that a repair on the path froze. */
  readonly by: "tool" | "repair";
}

/** A block as it is sent, and what it stands for where an edit decided. */
export interface RenderedBlock {
  readonly block: Block;
  readonly instead?: ResultReplacement;
}

export interface BlockInsertion extends RenderedBlock {
  readonly entry: EntryId;
  /** Behind everything where it is absent. */
  readonly at?: number;
}

/** One block of an entry in place of another. */
export interface BlockSwap {
  readonly entry: EntryId;
  readonly before: Block;
  readonly after: Block;
}

export interface LateAnswer {
  readonly answer: CallAnswer;
  readonly group: MessageGroup;
  block: Block;
  /** Images and documents said behind it, until an edit shows the result by a text. */
  media: number;
}
