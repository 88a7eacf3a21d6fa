import type { CallItem, CallState } from "../state/chat-item.ts";
import type { Paint, Theme } from "../theme.ts";
import { shortPaths } from "../text/call-title.ts";
import { formatChangeCounts, drawChange } from "./draw-change.ts";
import { foldedDiffLinesMax, imageColumnsMax, imageRowsMax } from "../limits.ts";
import { cutLine, wrapText, type DrawArea } from "./wrap-text.ts";
import { sanitizeLine } from "./sanitize-text.ts";
import { getCapabilities, Image } from "@earendil-works/pi-tui";
import type { ResultContent } from "palimpsest/internal/schema/block";
import { field, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";

export interface CallLook extends DrawArea {
  readonly fold: "folded" | "unfolded";
  /** Paths below it are shown relative to it. If absent, paths are shown as they are. */
  readonly cwd?: string | undefined;
}

/**
 *   ● edit src/a.ts +1 -1
 *     └ 1 line replaced
 *       - old
 *       + new
 * The change is left out while the user is asked, because the dialog shows it, and after a denial.
 */
export function drawCall(call: CallItem, look: CallLook): readonly string[] {
  const { change } = call;
  const isShown = change !== undefined && call.state !== "asking" && call.state !== "denied";
  const linesMax = look.fold === "folded" ? foldedDiffLinesMax : undefined;
  return [
    ...drawCallHead(call, look),
    ...drawOutcome(call, look),
    ...(isShown ? drawChange(change, { ...look, linesMax, indent: "    " }) : []),
  ];
}

/** The call in one line; unfolded, a title that did not fit follows in full. */
function drawCallHead(call: CallItem, look: CallLook): readonly string[] {
  const { theme } = look;
  const { mark, paint } = markByState[call.state];
  const title = sanitizeLine(displayTitle(call, look.cwd));
  const counts =
    call.change === undefined || call.state === "denied" ? "" : ` ${theme.dim(formatChangeCounts(call.change))}`;
  const line = `${theme[paint](mark)} ${theme.strong(sanitizeLine(call.tool))} ${title}${counts}`;
  const head = cutLine(line.trimEnd(), look);
  if (look.fold === "folded" || head === line.trimEnd()) return [head];
  return [head, ...wrapText(title, { ...look, first: "    " })];
}

/** A command is shown exactly as it runs. */
const displayTitle = ({ tool, title }: CallItem, cwd: string | undefined): string =>
  tool === "bash" ? title : shortPaths(title, cwd);

/** Omits the file name if the line above already shows it. */
function displaySummary(call: CallItem, cwd: string | undefined): string {
  const summary = shortPaths(call.summary, cwd);
  return call.change === undefined ? summary : summary.replace(` ${displayTitle(call, cwd)}`, "");
}

function drawOutcome(call: CallItem, look: CallLook): readonly string[] {
  const { state, progress = "" } = call;
  if (state === "running" && progress !== "") return [cutLine(look.theme.dim(`  └ ${sanitizeLine(progress)}`), look)];
  const summary = displaySummary(call, look.cwd);
  const line = outcomeText(state, sanitizeLine(summary));
  if (line === "") return [];
  const paint = outcomePaint(state, look.theme);
  if (look.fold === "folded") return [cutLine(paint(`  └ ${line}`), look)];
  return wrapText(outcomeText(state, summary.trim()), { ...look, first: paint("  └ "), paint });
}

/** The summary of a denied call is the reason, or what the user said. */
function outcomeText(state: CallState, summary: string): string {
  if (summary === "") return textByState[state];
  return state === "denied" ? `${textByState.denied}: ${summary}` : summary;
}

const outcomePaint = (state: CallState, theme: Theme): Paint => (state === "failed" ? theme.bad : theme.dim);

interface StateMark {
  /** Different for each state, so that it can be told without colours. */
  readonly mark: string;
  readonly paint: "accent" | "warning" | "good" | "bad" | "dim";
}

const markByState: Readonly<Record<CallState, StateMark>> = {
  running: { mark: "○", paint: "accent" },
  asking: { mark: "?", paint: "warning" },
  done: { mark: "●", paint: "good" },
  failed: { mark: "✗", paint: "bad" },
  denied: { mark: "⊘", paint: "warning" },
  interrupted: { mark: "■", paint: "dim" },
};

/** Shown if there is no summary. */
const textByState: Readonly<Record<CallState, string>> = {
  running: "",
  asking: "waits for your answer",
  done: "",
  failed: "failed",
  denied: "denied",
  interrupted: "interrupted",
};

interface CallDetail {
  readonly call: CallItem;
  readonly input: JsonObject;
  /** Undefined if there is none yet. */
  readonly result: ResultContent | undefined;
}

/** A whole call: its input, field by field or as a change, and its result. The cost grows with the result's length. */
export function drawCallDetail(
  { call, input, result }: CallDetail,
  room: DrawArea & Pick<CallLook, "cwd">,
): readonly string[] {
  const { change } = call;
  const fields = Object.entries(input).filter(([name]) => change === undefined || !changeFields.has(name));
  return [
    ...drawCallHead(call, { ...room, fold: "unfolded" }),
    ...fields.flatMap(([name, value]) => drawField(name, { ...room, value })),
    ...(change === undefined ? [] : drawChange(change, { ...room, indent: "    " })),
    ...(result === undefined
      ? wrapText(call.summary, { ...room, first: "  └ ", paint: room.theme.dim })
      : drawResult(result, room)),
  ];
}

/** Fields that the diff and the title already show. */
const changeFields: ReadonlySet<string> = new Set(["file_path", "old_string", "new_string", "content"]);

function drawField(name: string, { value, ...room }: DrawArea & { readonly value: Json }): readonly string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  const label = cutLine(room.theme.dim(`    ${sanitizeLine(name)}:`), room);
  return text.includes("\n") || text.length > room.width
    ? [label, ...wrapText(text, { ...room, first: "      " })]
    : wrapText(`${sanitizeLine(name)}: ${text}`, { ...room, first: "    ", rest: "      " });
}

function drawResult(result: ResultContent, room: DrawArea): readonly string[] {
  const parts = typeof result === "string" ? [{ type: "text", text: result }] : result;
  return parts.flatMap((part, index) => drawPart(part, { ...room, first: index === 0 ? "  └ " : "    " }));
}

function drawPart(part: JsonObject, room: DrawArea & { readonly first: string }): readonly string[] {
  const text = textField(part, "text");
  if (text !== undefined) return wrapText(text.trimEnd(), { ...room, rest: "    " });
  const source = field(part, "source");
  const media = isObject(source) ? textField(source, "media_type") : undefined;
  const data = isObject(source) ? textField(source, "data") : undefined;
  const image = data !== undefined && media !== undefined ? drawImage({ data, media }, room) : undefined;
  if (image !== undefined) return image;
  const kind = textField(part, "type") ?? "part";
  return wrapText(`[${[kind, media ?? ""].join(" ").trim()}]`, { ...room, paint: room.theme.dim });
}

/**
 * Undefined if the terminal cannot show images of this type. Only valid base64 goes into the escape sequence: the output of
 * a third-party tool must not end that sequence and begin one of its own.
 */
function drawImage(
  { data, media }: { readonly data: string; readonly media: string },
  { width, theme }: DrawArea,
): readonly string[] | undefined {
  const { images } = getCapabilities();
  const isSupported = images === "iterm2" ? media.startsWith("image/") : images === "kitty" && media === "image/png";
  if (theme.colours === "none" || !isSupported || !/^[A-Za-z\d+/]+={0,2}$/.test(data)) return undefined;
  const size = { maxWidthCells: imageColumnsMax, maxHeightCells: imageRowsMax };
  return new Image(data, media, { fallbackColor: theme.dim }, size).render(width);
}
