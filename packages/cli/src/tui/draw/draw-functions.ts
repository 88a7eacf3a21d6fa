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

/** The lines of a growing text. Its finished part is not laid out again. */
export interface StreamingLines {
  /** `behind`: the lines returned last are not up to date, so the caller should draw again later. */
  readonly state: "whole" | "behind";
  lines(text: string, width: number): readonly string[];
}

/** How a screen is drawn. No line is wider than requested, and none holds escape sequences other than colours. */
export interface DrawFunctions {
  readonly item: (
    item: ChatItem,
    look: { readonly width: number; readonly fold: "folded" | "unfolded"; readonly now: Millis },
  ) => readonly string[];
  /** For an answer that is still streaming. */
  readonly growing: () => StreamingLines;
  readonly warning: (status: Status, width: number) => readonly string[];
  /** No lines if the chat is idle. */
  readonly phase: (phase: Phase, look: PhaseLook) => readonly string[];
  readonly queue: (queue: readonly string[], width: number) => readonly string[];
  readonly status: (status: Status, width: number) => readonly string[];
  /** A dimmed line. */
  readonly hint: (text: string, width: number) => readonly string[];
  /** A line that is coloured already, cut if it is too long. */
  readonly styled: (line: string, width: number) => string;
}

export interface DrawingDep {
  readonly drawing: DrawFunctions;
}

type ItemKind = ChatItem["kind"];

/** An empty line between items, except between consecutive actions of the agent. */
export const gapBetween = (before: ItemKind | undefined, kind: ItemKind): readonly string[] =>
  before === undefined || (isAgentAction(before) && isAgentAction(kind)) ? [] : [""];

function isAgentAction(kind: ItemKind): boolean {
  switch (kind) {
    case "call":
    case "edit":
    case "retry":
    case "thinking":
      return true;
    case "user":
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
