import type { Json, JsonObject } from "../schema/json.ts";

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
