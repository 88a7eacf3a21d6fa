import type { Json, JsonObject } from "../schema/json.ts";

/** One agent's way of writing sessions down, and how it reads in ours. Pure: text in, entries out. */
export interface Importer {
  readonly format: ImportedFormat;
  /** What people call it. */
  readonly label: string;
  /** By content, never by name. `head`: the values at the beginning of the file, the last one perhaps cut short. */
  detect(head: readonly Json[]): boolean;
  translate(text: string, deps: ImportDeps): Translation;
}

export type ImportedFormat = "codex" | "pi" | "opencode" | "copilot" | "gemini" | "swe-agent" | "openhands";

/** `claude-code` is the ecosystem's own form and needs no translating. */
export type LogFormat = ImportedFormat | "claude-code";

export interface ImportDeps {
  /** Lower-case hex. */
  readonly sha256: (text: string) => string;
}

export interface Translation {
  /** In the ecosystem's form, one a line, in order. */
  readonly entries: readonly JsonObject[];
  /** What the format did not carry, and what could not be taken over as it was. */
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
