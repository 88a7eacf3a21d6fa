import type { EntryId, Millis, ToolUseId } from "palimpsest/internal/schema/brand";
import type { TextChange } from "../text/call-title.ts";
import { safeCutIndex } from "palimpsest/internal/schema/safe-cut-index";
import { messageCharsMax, messageLinesMax } from "../limits.ts";

/** Numbers grow in the order in which items begin, and none is used twice. */
export type ItemId = number;

/** What a chat shows, from top to bottom. Texts are as they were said: whoever draws them makes them printable. */
export type ChatItem =
  | UserItem
  | SpeechItem
  | CallItem
  | EditItem
  | CompactionItem
  | RetryItem
  | NoticeItem
  | OutputItem;

export interface UserItem {
  readonly kind: "person";
  readonly id: ItemId;
  readonly text: string;
  /** `meanwhile`: while the agent worked, and handed to it between two rounds. */
  readonly when: "first" | "meanwhile";
}

/** Of the model. `cut`: the turn ended before the reply did. */
export interface SpeechItem {
  readonly kind: "text" | "thinking";
  readonly id: ItemId;
  readonly text: string;
  readonly state: "streaming" | "whole" | "cut";
}

export interface CallItem {
  readonly kind: "call";
  readonly id: ItemId;
  readonly call: ToolUseId;
  readonly tool: string;
  /** What it is about, in a line. */
  readonly title: string;
  /** Present where it changes a file. */
  readonly change?: TextChange;
  readonly state: CallState;
  /** Its result in a line; empty until it is there. */
  readonly summary: string;
}

/** `asking`: a person is to decide whether it may run. */
export type CallState = "running" | "asking" | "done" | "failed" | "denied" | "interrupted";

/** The view was changed. */
export interface EditItem {
  readonly kind: "edit";
  readonly id: ItemId;
  readonly line: string;
  /** What it unfolds into: the arithmetic of whoever decided. */
  readonly because: string;
  readonly entries: readonly EntryId[];
}

/**
 * Unfolds into its summary and what was said since the boundary before it: the items of this range, `to` not included. An
 * empty one where the chat begins with it.
 */
export interface CompactionItem {
  readonly kind: "compacted";
  readonly id: ItemId;
  readonly line: string;
  readonly covers: { readonly from: ItemId; readonly to: ItemId };
  readonly entries: readonly EntryId[];
}

/** The provider has to be asked again. One item for all tries of a request; `asked`: a reply comes, and may break again. */
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

/** What a command shows, laid out already: its lines are cut where the terminal ends, not wrapped. */
export interface OutputItem {
  readonly kind: "output";
  readonly id: ItemId;
  /** Printable, with sequences for colour and nothing else. */
  readonly lines: readonly string[];
}

export type Tone = "plain" | "warning" | "error";

/** Whether nothing of it will change any more: then its lines can be drawn once and kept. */
export function isSettled(item: ChatItem): boolean {
  switch (item.kind) {
    case "text":
    case "thinking":
      return item.state !== "streaming";
    case "call":
      return !isUnderWay(item);
    case "retry":
      return item.state === "over";
    case "person":
    case "edit":
    case "compacted":
    case "notice":
    case "output":
      return true;
  }
}

export const isUnderWay = ({ state }: CallItem): boolean => state === "running" || state === "asking";

/** Which items show one line, or the first ones, until a person wants to see more. */
export function isFoldable(item: ChatItem): boolean {
  switch (item.kind) {
    case "thinking":
    case "call":
    case "edit":
    case "compacted":
      return true;
    case "person":
      return messagePreview(item.text).length < item.text.length;
    case "text":
    case "retry":
    case "notice":
    case "output":
      return false;
  }
}

/** Of a message, as much as is shown folded: all of it where it is short. Costs by what it gives, not by what is there. */
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
