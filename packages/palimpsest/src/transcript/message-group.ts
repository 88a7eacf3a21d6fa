import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { ResultReplacement } from "./view-watch.ts";

/** The state that `Flattener` keeps for each message. */
export interface MessageGroup {
  readonly index: number;
  readonly role: "user" | "assistant";
  readonly content: Block[];
  /** The entry that each block comes from. */
  readonly sources: EntryId[];
  /** Replies in an assistant group. */
  readonly replies: Set<string>;
  /** Calls answered so far in a user group, in the order of the calls. */
  readonly answered: ToolUseId[];
}

export interface CallState {
  readonly group: number;
  readonly order: number;
  readonly name: string;
  readonly at: number;
  answer: CallAnswer | undefined;
  /** A real result that arrived after the synthetic answer, and the block that shows it. */
  late: LateAnswer | undefined;
}

export interface CallAnswer {
  readonly block: ToolResultBlock;
  readonly entry: EntryId;
  readonly at: number;
  /** `repair`: a synthetic answer that a repair on the path froze. */
  readonly by: "tool" | "repair";
}

/** A block as it is sent, and what it replaces if an edit decided so. */
export interface RenderedBlock {
  readonly block: Block;
  readonly instead?: ResultReplacement;
}

export interface BlockInsertion extends RenderedBlock {
  readonly entry: EntryId;
  /** Absent: at the end. */
  readonly at?: number;
}

/** Replaces one block of an entry by another. */
export interface BlockSwap {
  readonly entry: EntryId;
  readonly before: Block;
  readonly after: Block;
}

export interface LateAnswer {
  readonly answer: CallAnswer;
  readonly group: MessageGroup;
  block: Block;
  /** Number of images and documents appended after it, until an edit replaces the result by a text. */
  media: number;
}
