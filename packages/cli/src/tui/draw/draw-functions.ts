import type { Millis } from "palimpsest/internal/schema/brand";
import {
  type ChatItem,
  type CompactionItem,
  type EditItem,
  type MemoriesItem,
  type NoticeItem,
  type OutputItem,
  type UserItem,
  type RetryItem,
  type SpeechItem,
  type Tone,
  messagePreview,
} from "../state/chat-item.ts";
import type { Phase, Status } from "../state/chat-state.ts";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { StreamingMarkdown, drawMarkdown } from "./draw-markdown.ts";
import { cutLine, fitLine, wrapText } from "./wrap-text.ts";
import { drawPhase, drawStatus, drawQueue, drawWarning } from "./draw-status.ts";
import { sanitizeLine, sanitizeExceptColours } from "./sanitize-text.ts";
import type { Theme } from "../theme.ts";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { formatSavedMemory, revertText, undoMemoriesHint } from "../text/event-lines.ts";
import { retryText } from "../text/status-figures.ts";
import { type CallLook, drawCall } from "./draw-call.ts";
import { retryMessageCharsMax } from "../limits.ts";

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
    case "memories":
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

export interface DrawItemOptions extends CallLook {
  /** For counting the seconds until a retry. */
  readonly now: Millis;
}

/**
 * The lines of an item, without empty lines around it. Those of a settled item never change, so they can be kept. For
 * streaming text `StreamingMarkdown` is cheaper.
 */
export function drawItem(item: ChatItem, look: DrawItemOptions): readonly string[] {
  switch (item.kind) {
    case "user":
      return drawUser(item, look);
    case "text":
      return drawMarkdown(item.text, look);
    case "thinking":
      return drawThinking(item, look);
    case "call":
      return drawCall(item, look);
    case "edit":
      return drawEdit(item, look);
    case "compacted":
      return drawCompacted(item, look);
    case "memories":
      return drawMemories(item, look);
    case "retry":
      return drawRetry(item, look);
    case "notice":
      return drawNotice(item, look);
    case "output":
      return drawOutput(item, look);
  }
}

function drawUser({ text }: UserItem, look: DrawItemOptions): readonly string[] {
  const { user, dim } = look.theme;
  const shown = look.fold === "folded" ? messagePreview(text) : text;
  const lines = wrapText(shown, { ...look, first: user("> "), rest: "  ", paint: user });
  if (shown.length === text.length) return lines;
  return [...lines, cutLine(dim(`  … ${formatRest(text.slice(shown.length))}: Ctrl-O shows them`), look)];
}

/** Counts the lines that are left, or the characters if the cut is inside a line. */
function formatRest(rest: string): string {
  const lines = rest.trimEnd().split("\n").length - 1;
  const [count, thing] = rest.startsWith("\n") && lines > 0 ? [lines, "line"] : [rest.length, "character"];
  return `${formatCount(count)} more ${plural(count, thing)}`;
}

/** Folded: its first line, or its last one while it streams. */
function drawThinking({ text, state }: SpeechItem, look: DrawItemOptions): readonly string[] {
  const { dim, italic } = look.theme;
  if (look.fold === "unfolded") return wrapText(text.trim(), { ...look, first: dim("✻ "), paint: dim });
  const lines = text.trim().split("\n");
  const line = sanitizeLine((state === "streaming" ? lines.at(-1) : lines[0]) ?? "").replaceAll("**", "");
  return [cutLine(dim(`✻ ${italic(line === "" ? "thinking" : line)}`), look)];
}

function drawEdit({ line, because }: EditItem, look: DrawItemOptions): readonly string[] {
  const { dim } = look.theme;
  if (look.fold === "folded") return [cutLine(dim(`◦ ${sanitizeLine(line)}`), look)];
  const reason = because === "" ? [] : wrapText(because, { ...look, first: "    ", paint: dim });
  return [...wrapText(line, { ...look, first: dim("◦ "), paint: dim }), ...reason];
}

function drawCompacted({ line }: CompactionItem, look: DrawItemOptions): readonly string[] {
  const mark = look.theme.accent("◆ ");
  if (look.fold === "folded") return [cutLine(`${mark}${sanitizeLine(line)}`, look)];
  return wrapText(line, { ...look, first: mark });
}

/** Each memory with what it says, and how all of them are taken back. */
function drawMemories({ line, revision, memories }: MemoriesItem, look: DrawItemOptions): readonly string[] {
  const { dim } = look.theme;
  const head = wrapText(`${line} ${undoMemoriesHint("screen")}`, { ...look, first: dim("◇ "), paint: dim });
  if (look.fold === "folded") return head;
  const details = [...memories.map(formatSavedMemory), revertText(revision)];
  return [
    ...head,
    ...details.flatMap((text) => wrapText(text, { ...look, first: "    ", rest: "      ", paint: dim })),
  ];
}

/** Cuts the provider's message rather than the seconds left, which come last. */
function drawRetry(item: RetryItem, look: DrawItemOptions): readonly string[] {
  const { dim, warning } = look.theme;
  const whole = sanitizeLine(item.message);
  const message =
    whole.length <= retryMessageCharsMax ? whole : `${whole.slice(0, safeCutIndex(whole, retryMessageCharsMax))}…`;
  const text = retryText({ ...item, message }, look.now);
  return wrapText(text, { ...look, first: (item.state === "waiting" ? warning : dim)("↻ "), paint: dim });
}

function drawNotice({ tone, text }: NoticeItem, look: DrawItemOptions): readonly string[] {
  const { mark, paint } = markByTone[tone];
  return wrapText(text, { ...look, first: look.theme[paint](mark), paint: look.theme[paint] });
}

const markByTone: Readonly<Record<Tone, { readonly mark: string; readonly paint: "dim" | "warning" | "bad" }>> = {
  plain: { mark: "· ", paint: "dim" },
  warning: { mark: "! ", paint: "warning" },
  error: { mark: "✗ ", paint: "bad" },
};

/** Laid out by a slash command: its colours stay, but other sequences may come from text that it quotes. */
const drawOutput = ({ lines }: OutputItem, look: DrawItemOptions): readonly string[] =>
  lines.flatMap((line) => sanitizeExceptColours(line).split("\n")).map((line) => fitLine(line, look));
