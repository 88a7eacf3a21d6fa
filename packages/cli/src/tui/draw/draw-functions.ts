import type { Millis } from "palimpsest/internal/schema/brand";
import type { ChatItem } from "../state/chat-item.ts";
import type { Phase, Status } from "../state/chat-state.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { drawItem } from "./draw-item.ts";
import { StreamingMarkdown } from "./draw-markdown.ts";
import { cutLine, fitLine } from "./wrap-text.ts";
import { drawPhase, drawStatus, drawQueue, drawWarning } from "./draw-status.ts";
import { sanitizeLine } from "./sanitize-text.ts";
import type { Theme } from "../theme.ts";

interface PhaseLook {
  readonly width: number;
  readonly now: Millis;
  /** When the phase began. */
  readonly since: Millis;
}

/** A text that grows, as lines. What is finished of it is not laid out again. */
export interface StreamingLines {
  /** `behind`: what was given last is not all of the text, and is worth another look. */
  readonly state: "whole" | "behind";
  lines(text: string, width: number): readonly string[];
}

/** What a screen is drawn with. No line is wider than asked for, and none holds a sequence but for colour. */
export interface DrawFunctions {
  readonly item: (
    item: ChatItem,
    look: { readonly width: number; readonly fold: "folded" | "unfolded"; readonly now: Millis },
  ) => readonly string[];
  /** For an answer that is still streaming. */
  readonly growing: () => StreamingLines;
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
  readonly drawing: DrawFunctions;
}

type ItemKind = ChatItem["kind"];

/** What the agent does stands together; what is said has air around it. */
export const gapBetween = (before: ItemKind | undefined, kind: ItemKind): readonly string[] =>
  before === undefined || (isAgentAction(before) && isAgentAction(kind)) ? [] : [""];

function isAgentAction(kind: ItemKind): boolean {
  switch (kind) {
    case "call":
    case "edit":
    case "retry":
    case "thinking":
      return true;
    case "person":
    case "text":
    case "compacted":
    case "notice":
    case "output":
      return false;
  }
}

interface DrawFunctionsDeps extends ClockDep {
  readonly theme: Theme;
  readonly cwd: string;
}

export const createDrawFunctions = ({ theme, cwd, now }: DrawFunctionsDeps): DrawFunctions => ({
  item: (item, look) => drawItem(item, { ...look, theme, cwd }),
  growing: () => new StreamingMarkdown({ theme, now }),
  warning: (status, width) => drawWarning(status, { width, theme }),
  phase: (phase, look) => drawPhase(phase, { ...look, theme }),
  queue: (queue, width) => drawQueue(queue, { width, theme }),
  status: (status, width) => [drawStatus(status, { width, theme })],
  hint: (text, width) => [cutLine(theme.dim(sanitizeLine(text)), { width, theme })],
  styled: (line, width) => fitLine(line, { width, theme }),
});
