import { type Json, type JsonObject, field, isObject, listField, textField } from "../schema/json.ts";

/** Translates one agent's log format into ours. Pure: text in, entries out. */
export interface Importer {
  readonly format: ImportedFormat;
  /** The name for the user. */
  readonly label: string;
  /** By content, never by file name. `head`: the values at the beginning of the file; the last one may be truncated. */
  detect(head: readonly Json[]): boolean;
  translate(text: string, deps: ImportDeps): Translation;
}

export type ImportedFormat = "codex" | "pi" | "opencode" | "copilot" | "gemini" | "swe-agent" | "openhands";

/** `claude-code` is the ecosystem's own format and needs no translation. */
export type LogFormat = ImportedFormat | "claude-code";

export interface ImportDeps {
  /** Lower-case hex. */
  readonly sha256: (text: string) => string;
}

export interface Translation {
  /** Entries in the ecosystem's format, in order; each becomes one line. */
  readonly entries: readonly JsonObject[];
  /** What the source did not contain, and what could not be translated exactly. */
  readonly notes: readonly ImportNote[];
}

export interface ImportNote {
  readonly kind: NoteKind;
  readonly count: number;
  readonly detail: string;
}

export type NoteKind =
  | "call-from-text"
  | "call-id-changed"
  | "call-without-result"
  | "cleared"
  | "compacted"
  | "damaged"
  | "error-reply"
  | "file-without-data"
  | "input-not-json"
  | "instructions-as-user"
  | "no-model"
  | "no-timestamp"
  | "no-usage"
  | "other-conversation"
  | "record-left-out"
  | "result-without-call"
  | "summary-unreadable"
  | "system-prompt-aside"
  | "thinking-unreadable"
  | "thinking-unsigned"
  | "view-unknown";

/** Readers for records of unknown shape: a field that is missing or has another type is empty, never an error. */
export const objectAt = (value: Json | undefined, key: string): JsonObject => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return isObject(inner) ? inner : {};
};

export const objectsAt = (value: Json | undefined, key: string): readonly JsonObject[] =>
  listField(value, key).filter((inner) => isObject(inner));

export const textAt = (value: Json | undefined, key: string): string =>
  (isObject(value) ? textField(value, key) : undefined) ?? "";

export const numberAt = (value: Json | undefined, key: string): number => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return typeof inner === "number" && Number.isFinite(inner) ? inner : 0;
};

/** For times in milliseconds since 1970, which several tools write. */
export const isoAt = (value: Json | undefined, key: string): string | undefined => {
  const millis = numberAt(value, key);
  return millis > 0 && millis < 8.64e15 ? new Date(millis).toISOString() : undefined;
};

/** Returns an object to spread, without the empty fields. */
export const withoutEmpty = (fields: Readonly<Record<string, Json | undefined>>): JsonObject => {
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined && value !== "") kept[key] = value;
  return kept;
};

/** The image types that the API accepts. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The block for inline data; undefined if the API does not accept the type. */
export function mediaBlock(mediaType: string, data: string): JsonObject | undefined {
  if (data === "") return undefined;
  const source = { type: "base64", media_type: mediaType, data };
  if (imageTypes.has(mediaType)) return { type: "image", source };
  return mediaType === "application/pdf" ? { type: "document", source } : undefined;
}

/** The block for a `data:` or web URL; undefined if the API does not accept it. */
export function mediaBlockFromUrl(url: string, mediaType?: string): JsonObject | undefined {
  const data = /^data:([^;,]+);base64,/.exec(url);
  if (data !== null) return mediaBlock(data[1] ?? "", url.slice(data[0].length));
  const isImage = mediaType === undefined || mediaType.startsWith("image/");
  return /^https?:/.test(url) && isImage ? { type: "image", source: { type: "url", url } } : undefined;
}

/** The provider's counts. `input` excludes tokens that were read from or written to the cache. */
interface CountedTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** The usage in the fields of the Messages API. Undefined if nothing was counted: tools write zeros for replies that were cut off. */
export function toWireUsage({ input, cacheRead, cacheWrite, output }: CountedTokens): JsonObject | undefined {
  if (input + cacheRead + cacheWrite <= 0) return undefined;
  return {
    input_tokens: Math.max(0, input),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
  };
}
