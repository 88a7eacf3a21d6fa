import { isArray, isObject, type Json, parseJson } from "palimpsest/internal/schema/json";
import type { BodyContent, EventContent, ResponsePart } from "./cassette.ts";
import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import { isTooDeep } from "../refusal.ts";

/** Bytes that were received at one moment. */
export interface Chunk {
  readonly atMillis: number;
  readonly bytes: Uint8Array;
}

/** The body of a request. It is compared, not sent, so its own spelling does not matter. */
export function requestContent(bytes: Uint8Array): BodyContent | null {
  if (bytes.length === 0) return null;
  const text = decodeText(bytes);
  if (text === undefined || text.length === 0 || hasTail(text, bytes)) return base64Content(bytes);
  const json = parseJsonBody(text);
  return json === undefined ? { text } : { json };
}

/** The body of a response: `partBytes` of all parts together are the bytes of all chunks. */
export function responseParts(chunks: readonly Chunk[], contentType: string): readonly ResponsePart[] {
  const isStream = /^text\/event-stream\b/i.test(contentType.trim());
  return (isStream ? splitEvents(chunks) : joinChunks(chunks)).flatMap(({ atMillis, bytes }) =>
    splitContents(bytes, isStream ? "event" : "body").map((content) => ({ atMillis, content })),
  );
}

export function partBytes({ content }: Pick<ResponsePart, "content">): Uint8Array {
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  return Buffer.from(contentText(content), "utf8");
}

function contentText(content: Exclude<BodyContent, { base64: string }> | EventContent): string {
  if ("text" in content) return content.text;
  if ("json" in content) return JSON.stringify(content.json);
  return formatEvent(content);
}

function splitContents(bytes: Uint8Array, form: "event" | "body"): readonly (BodyContent | EventContent)[] {
  const text = decodeText(bytes);
  if (text === undefined) return [base64Content(bytes)];
  const tail = hasTail(text, bytes) ? [base64Content(bytes.subarray(Buffer.byteLength(text)))] : [];
  return text === "" ? tail : [textContent(text, form), ...tail];
}

function textContent(text: string, form: "event" | "body"): BodyContent | EventContent {
  if (form === "event") {
    const event = parseEvent(text);
    return event !== undefined && formatEvent(event) === text ? event : { text };
  }
  const json = parseJsonBody(text);
  return (isObject(json) || isArray(json)) && JSON.stringify(json) === text ? { json } : { text };
}

const base64Content = (bytes: Uint8Array): BodyContent => ({ base64: Buffer.from(bytes).toString("base64") });

/** Drops the beginning of a character that was cut at the end; undefined if the bytes are not text. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const hasTail = (text: string, bytes: Uint8Array): boolean => Buffer.byteLength(text) < bytes.length;

const joinChunks = (chunks: readonly Chunk[]): readonly Chunk[] => {
  const last = chunks.at(-1);
  return last === undefined
    ? []
    : [{ atMillis: last.atMillis, bytes: Buffer.concat(chunks.map(({ bytes }) => bytes)) }];
};

/** Cuts after each event, however the network had cut; an event's time is that of its last byte. */
function splitEvents(chunks: readonly Chunk[]): readonly Chunk[] {
  const bytes = Buffer.concat(chunks.map((chunk) => chunk.bytes));
  const moments = chunks[Symbol.iterator]();
  let received = 0;
  let atMillis = 0;
  const momentOf = (end: number): number => {
    while (received < end) {
      const next = moments.next();
      if (next.done === true) break;
      received += next.value.bytes.length;
      ({ atMillis } = next.value);
    }
    return atMillis;
  };
  let start = 0;
  const events: Chunk[] = [];
  // One byte per character: positions in the text are positions in the bytes.
  for (const { index, 0: blank } of bytes.toString("latin1").matchAll(/\r\n\r\n|\n\n|\r\r/g)) {
    const end = index + blank.length;
    events.push({ atMillis: momentOf(end), bytes: bytes.subarray(start, end) });
    start = end;
  }
  return start === bytes.length
    ? events
    : [...events, { atMillis: momentOf(bytes.length), bytes: bytes.subarray(start) }];
}

/** An event in the usual form. */
const formatEvent = ({ event, data }: EventContent): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

/** The event in a text, whatever its spelling and its other lines; undefined if it carries no list or object. */
export function parseEvent(text: string): EventContent | undefined {
  const lines = splitEventLines(text);
  const data = parseJsonBody(joinDataLines(lines));
  if (data === undefined) return undefined;
  const event = lines.findLast(({ name }) => name === "event")?.value;
  return { ...(event === undefined ? {} : { event }), data };
}

interface RewriteEventInput {
  /** What `parseEvent` found, masked: the same object if nothing was to be hidden. */
  readonly data: Json;
  readonly event: EventContent;
  /** For the lines besides the data. */
  readonly mask: MaskText;
}

/** The same event with other data, its other lines masked: the exact text if nothing was to be hidden. */
export function rewriteEvent(text: string, { data, event, mask }: RewriteEventInput): string {
  const lines = splitEventLines(text);
  const isKept = data === event.data && !hasRepeatedNames(joinDataLines(lines), data);
  const first = lines.findIndex(({ name }) => name === "data");
  return lines
    .map((line, at) => {
      if (line.name !== "data") return `${mask(line.whole)}${line.end}`;
      if (isKept) return `${line.whole}${line.end}`;
      return at === first ? `data: ${JSON.stringify(data)}${line.end}` : "";
    })
    .join("");
}

interface EventLine {
  /** Empty for a comment. */
  readonly name: string;
  readonly value: string;
  readonly whole: string;
  readonly end: string;
}

function splitEventLines(text: string): readonly EventLine[] {
  return [...text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)].map(([, whole = "", end = ""]) => {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(whole) ?? [];
    return { name, value, whole, end };
  });
}

const joinDataLines = (lines: readonly EventLine[]): string =>
  lines
    .filter(({ name }) => name === "data")
    .map(({ value }) => value)
    .join("\n");

/** A list or an object; undefined for all other texts, and for values that are nested too deep. */
export function parseJsonBody(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const json = parseJson(text);
    return isTooDeep(json) ? undefined : json;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether the text says more than its parsed value: of two fields with one name, parsing drops the first. */
export function hasRepeatedNames(text: string, json: Json): boolean {
  if (JSON.stringify(json) === text) return false;
  let names = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:)?/g)) if (colon !== undefined) names += 1;
  return names !== countNames(json);
}

function countNames(value: Json): number {
  if (isArray(value)) return value.reduce((sum: number, one) => sum + countNames(one), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + 1 + countNames(one), 0);
}
