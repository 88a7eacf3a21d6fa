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
  /** What lies below it is named from there; absent: as it was given. */
  readonly cwd?: string | undefined;
}

/**
 *   ● edit src/a.ts +1 -1
 *     └ 1 line replaced
 *       - old
 *       + new
 * While a person is asked, the change stands in the question; one that was denied is none.
 */
export function drawCall(call: CallItem, look: CallLook): readonly string[] {
  const { change } = call;
  const isShown = change !== undefined && call.state !== "asking" && call.state !== "denied";
  const linesMax = look.fold === "folded" ? { linesMax: foldedDiffLinesMax } : {};
  return [
    ...drawCallHead(call, look),
    ...drawOutcome(call, look),
    ...(isShown ? drawChange(change, { ...look, ...linesMax, indent: "    " }) : []),
  ];
}

/** What is called, in a line; unfolded, what did not fit follows whole. */
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

/** A command is shown as it runs. */
const displayTitle = ({ tool, title }: CallItem, cwd: string | undefined): string =>
  tool === "bash" ? title : shortPaths(title, cwd);

/** Whose file stands in the line above need not be told again. */
function displaySummary(call: CallItem, cwd: string | undefined): string {
  const summary = shortPaths(call.summary, cwd);
  return call.change === undefined ? summary : summary.replace(` ${displayTitle(call, cwd)}`, "");
}

function drawOutcome(call: CallItem, look: CallLook): readonly string[] {
  const { state } = call;
  const summary = displaySummary(call, look.cwd);
  const told = outcomeText(state, sanitizeLine(summary));
  if (told === "") return [];
  const paint = outcomePaint(state, look.theme);
  if (look.fold === "folded") return [cutLine(paint(`  └ ${told}`), look)];
  return wrapText(outcomeText(state, summary.trim()), { ...look, first: paint("  └ "), paint });
}

/** Of a denied call it is the reason, or what the person said. */
function outcomeText(state: CallState, summary: string): string {
  if (summary === "") return textByState[state];
  return state === "denied" ? `${textByState.denied}: ${summary}` : summary;
}

const outcomePaint = (state: CallState, theme: Theme): Paint => (state === "failed" ? theme.bad : theme.dim);

interface StateMark {
  /** Each state has its own: colour alone tells nothing. */
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

/** Where the result says nothing itself. */
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
  /** Undefined while there is none. */
  readonly result: ResultContent | undefined;
}

/** The whole of a call: what went in, field by field or as a change, and what came out. Costs by the length of the result. */
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

/** What the diff and the title show. */
const changeFields: ReadonlySet<string> = new Set(["file_path", "old_string", "new_string", "content"]);

function drawField(name: string, { value, ...room }: DrawArea & { readonly value: Json }): readonly string[] {
  const words = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  const label = cutLine(room.theme.dim(`    ${sanitizeLine(name)}:`), room);
  return words.includes("\n") || words.length > room.width
    ? [label, ...wrapText(words, { ...room, first: "      " })]
    : wrapText(`${sanitizeLine(name)}: ${words}`, { ...room, first: "    ", rest: "      " });
}

function drawResult(result: ResultContent, room: DrawArea): readonly string[] {
  const parts = typeof result === "string" ? [{ type: "text", text: result }] : result;
  return parts.flatMap((part, index) => drawPart(part, { ...room, first: index === 0 ? "  └ " : "    " }));
}

function drawPart(part: JsonObject, room: DrawArea & { readonly first: string }): readonly string[] {
  const words = textField(part, "text");
  if (words !== undefined) return wrapText(words.trimEnd(), { ...room, rest: "    " });
  const source = field(part, "source");
  const media = isObject(source) ? textField(source, "media_type") : undefined;
  const data = isObject(source) ? textField(source, "data") : undefined;
  const picture = data !== undefined && media !== undefined ? drawImage({ data, media }, room) : undefined;
  if (picture !== undefined) return picture;
  const kind = textField(part, "type") ?? "part";
  return wrapText(`[${[kind, media ?? ""].join(" ").trim()}]`, { ...room, paint: room.theme.dim });
}

/**
 * Undefined where the terminal shows none, or not of this kind. What goes into its sequence is base64 and nothing else: a
 * tool of others must not end the sequence and begin one of its own.
 */
function drawImage(
  { data, media }: { readonly data: string; readonly media: string },
  { width, theme }: DrawArea,
): readonly string[] | undefined {
  const { images } = getCapabilities();
  const isTaken = images === "iterm2" ? media.startsWith("image/") : images === "kitty" && media === "image/png";
  if (theme.colours === "none" || !isTaken || !/^[A-Za-z\d+/]+={0,2}$/.test(data)) return undefined;
  const size = { maxWidthCells: imageColumnsMax, maxHeightCells: imageRowsMax };
  return new Image(data, media, { fallbackColor: theme.dim }, size).render(width);
}
