import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { eventIn, rewrittenEvent } from "./event-text.ts";
import type { EventContent, Part } from "./line.ts";
import type { Masker } from "./mask.ts";

/**
 * The parts of a response, masked. A secret in a stream is spread over many events, so the pieces of one text are masked
 * together and cut again where they were cut before. Parts without a secret keep their very bytes.
 */
export function maskParts(parts: readonly Part[], masker: Masker): readonly Part[] {
  const events = parts.map(({ content }) => eventOf(content));
  const masked = maskPieces(events, masker);
  return parts.map((part, at) => {
    const { content } = part;
    const event = events[at];
    const data = masked[at];
    if (event === undefined || data === undefined)
      return "data" in content ? part : { ...part, content: masker.content(content) };
    if ("text" in content)
      return { ...part, content: { text: rewrittenEvent(content.text, { data, event, mask: masker.text }) } };
    return data === event.data ? part : { ...part, content: { ...event, data } };
  });
}

function eventOf(content: Part["content"]): EventContent | undefined {
  if ("data" in content) return content;
  return "text" in content ? eventIn(content.text) : undefined;
}

type Path = readonly (string | number)[];

/** One event's share of a text. */
interface Piece {
  readonly at: number;
  readonly path: Path;
  readonly text: string;
}

function maskPieces(events: readonly (EventContent | undefined)[], masker: Masker): readonly (Json | undefined)[] {
  const data = events.map((event) => (event === undefined ? undefined : masker.body(event.data)));
  const piecesByText = new Map<string, Piece[]>();
  for (const [at, event] of events.entries()) {
    if (!isObject(event?.data)) continue;
    const { type, index, output_index: output, content_index: content, item_id: item } = event.data;
    for (const { path, name, text } of deltasIn(event.data)) {
      const whole = JSON.stringify([type, index, output, content, item, name]);
      const pieces = piecesByText.get(whole);
      if (pieces === undefined) piecesByText.set(whole, [{ at, path, text }]);
      else pieces.push({ at, path, text });
    }
  }
  for (const pieces of piecesByText.values()) {
    const whole = pieces.map(({ text }) => text).join("");
    const masked = masker.text(whole);
    if (masked === whole) continue;
    for (const [number, text] of cutAsBefore(masked, pieces).entries()) {
      const piece = pieces[number];
      if (piece !== undefined) data[piece.at] = replaced(data[piece.at] ?? null, piece.path, text);
    }
  }
  return data;
}

interface Delta {
  readonly path: Path;
  /** The path with the positions that the API gives, not those in a list. */
  readonly name: Path;
  readonly text: string;
}

/** Fields beside a text that say what it is. */
const labels: ReadonlySet<string> = new Set(["type", "id", "role", "signature", "stop_reason"]);

/** Every text below a `delta`, in the forms of all APIs that stream. */
function* deltasIn(value: Json, path: Path = [], name: Path = []): Generator<Delta> {
  if (typeof value === "string") {
    if (path.includes("delta")) yield { path, name, text: value };
  } else if (isArray(value)) {
    for (const [at, one] of value.entries())
      yield* deltasIn(
        one,
        [...path, at],
        [...name, isObject(one) && typeof one["index"] === "number" ? one["index"] : at],
      );
  } else if (isObject(value)) {
    for (const [key, inner] of Object.entries(value))
      if (!labels.has(key)) yield* deltasIn(inner, [...path, key], [...name, key]);
  }
}

/** As long as the pieces were, the last with all that is left; no character is cut in two. */
function cutAsBefore(text: string, pieces: readonly Piece[]): readonly string[] {
  let start = 0;
  let offset = 0;
  return pieces.map((piece, at) => {
    offset += piece.text.length;
    const end = at === pieces.length - 1 ? text.length : Math.max(start, wholeCharacters(text, offset));
    const cut = text.slice(start, end);
    start = end;
    return cut;
  });
}

const wholeCharacters = (text: string, end: number): number =>
  /[\uDC00-\uDFFF]/.test(text[end] ?? "") ? end + 1 : end;

function replaced(value: Json, [key, ...rest]: Path, text: string): Json {
  if (key === undefined) return text;
  if (isArray(value)) return value.map((one, at) => (at === key ? replaced(one, rest, text) : one));
  return isObject(value) ? { ...value, [key]: replaced(value[key] ?? null, rest, text) } : value;
}
