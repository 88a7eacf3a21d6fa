import type { Millis } from "palimpsest/internal/schema/brand";
import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import type {
  ChatItem,
  CompactedItem,
  EditItem,
  NoticeItem,
  OutputItem,
  PersonItem,
  RetryItem,
  SpokenItem,
  Tone,
} from "../state/chat-item.ts";
import { beginningOf } from "../text/beginning.ts";
import { retryText } from "../text/status-words.ts";
import { type CallLook, drawCall } from "./call.ts";
import { retryMessageCharsMax } from "./limits.ts";
import { cut, fitted, hung } from "./lines.ts";
import { drawMarkdown } from "./markdown.ts";
import { colouredText, shownLine } from "./shown-text.ts";

export interface Look extends CallLook {
  /** For what counts seconds. */
  readonly now: Millis;
}

/**
 * An item as lines, without any above or below it. A settled one looks the same at every moment, so its lines can be kept;
 * an answer that still streams is better drawn by `GrowingMarkdown`.
 */
export function drawItem(item: ChatItem, look: Look): readonly string[] {
  switch (item.kind) {
    case "person":
      return drawPerson(item, look);
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
    case "retry":
      return drawRetry(item, look);
    case "notice":
      return drawNotice(item, look);
    case "output":
      return drawOutput(item, look);
  }
}

function drawPerson({ text }: PersonItem, look: Look): readonly string[] {
  const { person, dim } = look.theme;
  const shown = look.fold === "folded" ? beginningOf(text) : text;
  const lines = hung(shown, { ...look, first: person("> "), rest: "  ", paint: person });
  if (shown.length === text.length) return lines;
  return [...lines, cut(dim(`  … ${leftWords(text.slice(shown.length))}: Ctrl-O shows them`), look)];
}

/** Of a line that goes on, its characters. */
function leftWords(left: string): string {
  const lines = left.trimEnd().split("\n").length - 1;
  const [count, thing] = left.startsWith("\n") && lines > 0 ? [lines, "line"] : [left.length, "character"];
  return `${figure(count)} more ${plural(count, thing)}`;
}

/** Folded, its first line; while it streams, the one that is being thought. */
function drawThinking({ text, state }: SpokenItem, look: Look): readonly string[] {
  const { dim, italic } = look.theme;
  if (look.fold === "unfolded") return hung(text.trim(), { ...look, first: dim("✻ "), paint: dim });
  const lines = text.trim().split("\n");
  const line = shownLine((state === "streaming" ? lines.at(-1) : lines[0]) ?? "").replaceAll("**", "");
  return [cut(dim(`✻ ${italic(line === "" ? "thinking" : line)}`), look)];
}

function drawEdit({ line, because }: EditItem, look: Look): readonly string[] {
  const { dim } = look.theme;
  if (look.fold === "folded") return [cut(dim(`◦ ${shownLine(line)}`), look)];
  const why = because === "" ? [] : hung(because, { ...look, first: "    ", paint: dim });
  return [...hung(line, { ...look, first: dim("◦ "), paint: dim }), ...why];
}

function drawCompacted({ line }: CompactedItem, look: Look): readonly string[] {
  const mark = look.theme.accent("◆ ");
  if (look.fold === "folded") return [cut(`${mark}${shownLine(line)}`, look)];
  return hung(line, { ...look, first: mark });
}

/** The seconds left stand at its end: it is the message that is cut. */
function drawRetry(item: RetryItem, look: Look): readonly string[] {
  const { dim, warning } = look.theme;
  const whole = shownLine(item.message);
  const message =
    whole.length <= retryMessageCharsMax ? whole : `${whole.slice(0, wholeCharacter(whole, retryMessageCharsMax))}…`;
  const words = retryText({ ...item, message }, look.now);
  return hung(words, { ...look, first: (item.state === "waiting" ? warning : dim)("↻ "), paint: dim });
}

function drawNotice({ tone, text }: NoticeItem, look: Look): readonly string[] {
  const { mark, paint } = markByTone[tone];
  return hung(text, { ...look, first: look.theme[paint](mark), paint: look.theme[paint] });
}

const markByTone: Readonly<Record<Tone, { readonly mark: string; readonly paint: "dim" | "warning" | "bad" }>> = {
  plain: { mark: "· ", paint: "dim" },
  warning: { mark: "! ", paint: "warning" },
  error: { mark: "✗ ", paint: "bad" },
};

/** Laid out by a command of ours: its colours stay, and nothing else that a text it quotes might have brought in. */
const drawOutput = ({ lines }: OutputItem, look: Look): readonly string[] =>
  lines.flatMap((line) => colouredText(line).split("\n")).map((line) => fitted(line, look));
