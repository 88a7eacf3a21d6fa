import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { ShownInstead } from "./watch.ts";

/** What `Flattened` keeps of each message and each call. */
export interface Group {
  readonly index: number;
  readonly role: "user" | "assistant";
  readonly content: Block[];
  /** The entry each block comes from. */
  readonly sources: EntryId[];
  /** Replies in an assistant group; calls answered so far in a user group, in the order of their calls. */
  readonly replies: Set<string>;
  readonly answered: ToolUseId[];
}

export interface Call {
  readonly group: number;
  readonly order: number;
  readonly name: string;
  readonly at: number;
  answer: Answer | undefined;
  /** A real result that came after the synthetic answer, and the block it is said in. */
  late: Late | undefined;
}

export interface Answer {
  readonly block: ToolResultBlock;
  readonly entry: EntryId;
  readonly at: number;
  /** `repair`: a synthetic answer that a repair on the path froze. */
  readonly by: "tool" | "repair";
}

/** A block as it is sent, and what it stands for where an edit decided. */
export interface Rendered {
  readonly block: Block;
  readonly instead?: ShownInstead;
}

export interface Put extends Rendered {
  readonly entry: EntryId;
  /** Behind everything where it is absent. */
  readonly at?: number;
}

/** One block of an entry in place of another. */
export interface Swap {
  readonly entry: EntryId;
  readonly before: Block;
  readonly after: Block;
}

export interface Late {
  readonly answer: Answer;
  readonly group: Group;
  block: Block;
  /** Images and documents said behind it, until an edit shows the result by a text. */
  media: number;
}
