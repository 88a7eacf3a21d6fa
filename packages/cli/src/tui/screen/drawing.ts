import type { Millis } from "palimpsest/internal/schema/brand";
import type { ChatItem } from "../state/chat-item.ts";
import type { Phase, Status } from "../state/chat-shape.ts";

export interface ItemLook {
  readonly width: number;
  readonly fold: "folded" | "unfolded";
  readonly now: Millis;
}

export interface PhaseLook {
  readonly width: number;
  readonly now: Millis;
  /** When the phase began. */
  readonly since: Millis;
}

/** A text that grows, as lines. What is finished of it is not laid out again. */
export interface GrowingLines {
  /** `behind`: what was given last is not all of the text, and is worth another look. */
  readonly state: "whole" | "behind";
  lines(text: string, width: number): readonly string[];
}

/** What a screen is drawn with. No line is wider than asked for, and none holds a sequence but for colour. */
export interface Drawing {
  readonly item: (item: ChatItem, look: ItemLook) => readonly string[];
  /** For an answer that is still streaming. */
  readonly growing: () => GrowingLines;
  readonly warning: (status: Status, width: number) => readonly string[];
  /** Nothing where the chat is idle. */
  readonly phase: (phase: Phase, look: PhaseLook) => readonly string[];
  readonly queue: (queue: readonly string[], width: number) => readonly string[];
  readonly status: (status: Status, width: number) => readonly string[];
  /** A line to be passed over. */
  readonly hint: (text: string, width: number) => readonly string[];
  /** A line that has its colours, cut where it is too long. */
  readonly styled: (line: string, width: number) => string;
}

export interface DrawingDep {
  readonly drawing: Drawing;
}
