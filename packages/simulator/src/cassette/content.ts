import { isArray, isObject } from "palimpsest/internal/schema/json";
import { eventIn, eventText } from "./event-text.ts";
import type { Content, EventContent, Part } from "./line.ts";
import { parsedBody } from "./parsed-body.ts";

/** What was received at one moment. */
export interface Chunk {
  readonly atMillis: number;
  readonly bytes: Uint8Array;
}

/** The body of a request: it is compared, not sent, so that its own spelling does not matter. */
export function requestContent(bytes: Uint8Array): Content | null {
  if (bytes.length === 0) return null;
  const text = decoded(bytes);
  if (text === undefined || text.length === 0 || hasTail(text, bytes)) return base64(bytes);
  const json = parsedBody(text);
  return json === undefined ? { text } : { json };
}

/** The body of a response: `partBytes` of all parts together are the bytes of all chunks. */
export function responseParts(chunks: readonly Chunk[], contentType: string): readonly Part[] {
  const isStream = /^text\/event-stream\b/i.test(contentType.trim());
  return (isStream ? eventsIn(chunks) : together(chunks)).flatMap(({ atMillis, bytes }) =>
    contentsOf(bytes, isStream ? "event" : "body").map((content) => ({ atMillis, content })),
  );
}

export function partBytes({ content }: Pick<Part, "content">): Uint8Array {
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  return Buffer.from(contentText(content), "utf8");
}

function contentText(content: Exclude<Content, { base64: string }> | EventContent): string {
  if ("text" in content) return content.text;
  if ("json" in content) return JSON.stringify(content.json);
  return eventText(content);
}

function contentsOf(bytes: Uint8Array, form: "event" | "body"): readonly (Content | EventContent)[] {
  const text = decoded(bytes);
  if (text === undefined) return [base64(bytes)];
  const tail = hasTail(text, bytes) ? [base64(bytes.subarray(Buffer.byteLength(text)))] : [];
  return text === "" ? tail : [textContent(text, form), ...tail];
}

function textContent(text: string, form: "event" | "body"): Content | EventContent {
  if (form === "event") {
    const event = eventIn(text);
    return event !== undefined && eventText(event) === text ? event : { text };
  }
  const json = parsedBody(text);
  return (isObject(json) || isArray(json)) && JSON.stringify(json) === text ? { json } : { text };
}

const base64 = (bytes: Uint8Array): Content => ({ base64: Buffer.from(bytes).toString("base64") });

/** Without the beginning of a character that was cut at the end; undefined for what is no text. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const hasTail = (text: string, bytes: Uint8Array): boolean => Buffer.byteLength(text) < bytes.length;

const together = (chunks: readonly Chunk[]): readonly Chunk[] => {
  const last = chunks.at(-1);
  return last === undefined
    ? []
    : [{ atMillis: last.atMillis, bytes: Buffer.concat(chunks.map(({ bytes }) => bytes)) }];
};

/** Cut behind each event, however the network had cut them; an event's moment is that of its last byte. */
function eventsIn(chunks: readonly Chunk[]): readonly Chunk[] {
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
  // One byte a character: positions in the text are positions in the bytes.
  for (const { index, 0: blank } of bytes.toString("latin1").matchAll(/\r\n\r\n|\n\n|\r\r/g)) {
    const end = index + blank.length;
    events.push({ atMillis: momentOf(end), bytes: bytes.subarray(start, end) });
    start = end;
  }
  return start === bytes.length
    ? events
    : [...events, { atMillis: momentOf(bytes.length), bytes: bytes.subarray(start) }];
}
