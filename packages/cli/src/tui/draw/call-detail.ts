import { getCapabilities, Image } from "@earendil-works/pi-tui";
import type { ResultContent } from "palimpsest/internal/schema/block";
import { field, isObject, type Json, type JsonObject, text } from "palimpsest/internal/schema/json";
import type { CallItem } from "../state/chat-item.ts";
import { type CallLook, drawCallHead } from "./call.ts";
import { drawChange } from "./diff-lines.ts";
import { imageColumnsMax, imageRowsMax } from "./limits.ts";
import { cut, hung, type Room } from "./lines.ts";
import { shownLine } from "./shown-text.ts";

export interface CallDetail {
  readonly call: CallItem;
  readonly input: JsonObject;
  /** Undefined while there is none. */
  readonly result: ResultContent | undefined;
}

/** The whole of a call: what went in, field by field or as a change, and what came out. Costs by the length of the result. */
export function drawCallDetail(
  { call, input, result }: CallDetail,
  room: Room & Pick<CallLook, "cwd">,
): readonly string[] {
  const { change } = call;
  const fields = Object.entries(input).filter(([name]) => change === undefined || !changeFields.has(name));
  return [
    ...drawCallHead(call, { ...room, fold: "unfolded" }),
    ...fields.flatMap(([name, value]) => drawField(name, { ...room, value })),
    ...(change === undefined ? [] : drawChange(change, { ...room, indent: "    " })),
    ...(result === undefined
      ? hung(call.summary, { ...room, first: "  └ ", paint: room.theme.dim })
      : drawResult(result, room)),
  ];
}

/** What the diff and the title show. */
const changeFields: ReadonlySet<string> = new Set(["file_path", "old_string", "new_string", "content"]);

function drawField(name: string, { value, ...room }: Room & { readonly value: Json }): readonly string[] {
  const words = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  const label = cut(room.theme.dim(`    ${shownLine(name)}:`), room);
  return words.includes("\n") || words.length > room.width
    ? [label, ...hung(words, { ...room, first: "      " })]
    : hung(`${shownLine(name)}: ${words}`, { ...room, first: "    ", rest: "      " });
}

function drawResult(result: ResultContent, room: Room): readonly string[] {
  const parts = typeof result === "string" ? [{ type: "text", text: result }] : result;
  return parts.flatMap((part, index) => drawPart(part, { ...room, first: index === 0 ? "  └ " : "    " }));
}

function drawPart(part: JsonObject, room: Room & { readonly first: string }): readonly string[] {
  const words = text(part, "text");
  if (words !== undefined) return hung(words.trimEnd(), { ...room, rest: "    " });
  const source = field(part, "source");
  const media = isObject(source) ? text(source, "media_type") : undefined;
  const data = isObject(source) ? text(source, "data") : undefined;
  const picture = data !== undefined && media !== undefined ? drawPicture({ data, media }, room) : undefined;
  if (picture !== undefined) return picture;
  const kind = text(part, "type") ?? "part";
  return hung(`[${[kind, media ?? ""].join(" ").trim()}]`, { ...room, paint: room.theme.dim });
}

interface Picture {
  readonly data: string;
  readonly media: string;
}

/**
 * Undefined where the terminal shows none, or not of this kind. What goes into its sequence is base64 and nothing else: a
 * tool of others must not end the sequence and begin one of its own.
 */
function drawPicture({ data, media }: Picture, { width, theme }: Room): readonly string[] | undefined {
  const { images } = getCapabilities();
  const isTaken = images === "iterm2" ? media.startsWith("image/") : images === "kitty" && media === "image/png";
  if (theme.colours === "none" || !isTaken || !/^[A-Za-z\d+/]+={0,2}$/.test(data)) return undefined;
  const size = { maxWidthCells: imageColumnsMax, maxHeightCells: imageRowsMax };
  return new Image(data, media, { fallbackColor: theme.dim }, size).render(width);
}
