import type { EntryId, Millis, ToolUseId } from "palimpsest/internal/schema/brand";
import type { MemoriesSavedEvent } from "palimpsest/internal/schema/loop-event";
import type { TextChange } from "../text/call-title.ts";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { messageCharsMax, messageLinesMax } from "../limits.ts";

/** Ids grow in the order in which items begin, and none is used twice. */
export type ItemId = number;

/** What a chat shows, from top to bottom. Texts are raw: the draw functions sanitize them. */
export type ChatItem =
  | UserItem
  | SpeechItem
  | CallItem
  | EditItem
  | CompactionItem
  | MemoriesItem
  | RetryItem
  | NoticeItem
  | OutputItem;

/** Of an item that was read from the log: the entry that says it. What is still being said has none yet. */
interface LoggedItem {
  readonly entry?: EntryId | undefined;
}

export interface UserItem extends LoggedItem {
  readonly kind: "user";
  readonly id: ItemId;
  readonly text: string;
  /** `meanwhile`: typed while the agent worked, and sent to it between two rounds. */
  readonly when: "first" | "meanwhile";
}

/** Text or thinking of the model. `cut`: the turn ended before the reply did. */
export interface SpeechItem extends LoggedItem {
  readonly kind: "text" | "thinking";
  readonly id: ItemId;
  readonly text: string;
  readonly state: "streaming" | "whole" | "cut";
}

export interface CallItem extends LoggedItem {
  readonly kind: "call";
  readonly id: ItemId;
  readonly call: ToolUseId;
  readonly tool: string;
  /** What the call is about, in one line. */
  readonly title: string;
  /** Present if the call changes a file. */
  readonly change?: TextChange;
  readonly state: CallState;
  /** The result in one line; empty until there is one. */
  readonly summary: string;
  /** What it does now, in a few words; only while it runs. */
  readonly progress?: string | undefined;
}

/** `asking`: the user has to decide whether it may run. */
export type CallState = "running" | "asking" | "done" | "failed" | "denied" | "interrupted";

/** A change of the view. */
export interface EditItem {
  readonly kind: "edit";
  readonly id: ItemId;
  readonly line: string;
  /** Shown unfolded: the calculation behind the decision. */
  readonly because: string;
  readonly entries: readonly EntryId[];
}

/**
 * Unfolds into its summary and what was said since the previous boundary: the items of the range `covers`, `to` excluded.
 * The range is empty if the chat begins with the boundary.
 */
export interface CompactionItem {
  readonly kind: "compacted";
  readonly id: ItemId;
  readonly line: string;
  readonly covers: { readonly from: ItemId; readonly to: ItemId };
  readonly entries: readonly EntryId[];
}

/** What work in the background has saved. Unfolds into each memory and how to take them back. */
export interface MemoriesItem extends Pick<MemoriesSavedEvent, "revision" | "memories"> {
  readonly kind: "memories";
  readonly id: ItemId;
  readonly line: string;
}

/** Retries of a request, one item for all of them. `asked`: a reply is arriving, and may break off again. */
export interface RetryItem {
  readonly kind: "retry";
  readonly id: ItemId;
  readonly attempt: number;
  readonly message: string;
  readonly until: Millis;
  readonly state: "waiting" | "asked" | "over";
}

export interface NoticeItem {
  readonly kind: "notice";
  readonly id: ItemId;
  readonly tone: Tone;
  readonly text: string;
}

/** Output of a slash command that is laid out already: its lines are cut at the terminal's width, not wrapped. */
export interface OutputItem {
  readonly kind: "output";
  readonly id: ItemId;
  /** Printable, with no escape sequences but colours. */
  readonly lines: readonly string[];
}

export type Tone = "plain" | "warning" | "error";

/** Whether the item can no longer change: then its lines can be drawn once and kept. */
export function isSettled(item: ChatItem): boolean {
  switch (item.kind) {
    case "text":
    case "thinking":
      return item.state !== "streaming";
    case "call":
      return !isUnderWay(item);
    case "retry":
      return item.state === "over";
    case "user":
    case "edit":
    case "compacted":
    case "memories":
    case "notice":
    case "output":
      return true;
  }
}

export const isUnderWay = ({ state }: CallItem): boolean => state === "running" || state === "asking";

/** Whether the item shows only its first line or lines until the user unfolds it. */
export function isFoldable(item: ChatItem): boolean {
  switch (item.kind) {
    case "thinking":
    case "call":
    case "edit":
    case "compacted":
    case "memories":
      return true;
    case "user":
      return messagePreview(item.text).length < item.text.length;
    case "text":
    case "retry":
    case "notice":
    case "output":
      return false;
  }
}

/** The part of a message that is shown folded: all of it if it is short. The cost depends on the length of the preview only. */
export function messagePreview(text: string): string {
  let end = -1;
  for (let line = 0; line < messageLinesMax; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end === -1 || end > messageCharsMax) break;
  }
  const lines = end === -1 || end === text.length - 1 ? text.length : end;
  if (lines <= messageCharsMax) return text.slice(0, lines);
  return text.slice(0, safeCutIndex(text, messageCharsMax));
}
