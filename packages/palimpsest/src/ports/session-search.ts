import type { EntryId, ToolUseId } from "../schema/brand.ts";

/** `user`: what the user typed. `meta`: what a program or an agent wrote in the user's name. `stand-in`: the text that replaces a collapsed range of rounds. */
export const searchTextKinds = [
  "user",
  "meta",
  "reply",
  "thinking",
  "call",
  "result",
  "summary",
  "attachment",
  "stand-in",
  "notes",
  "memory",
] as const;
export type SearchTextKind = (typeof searchTextKinds)[number];

export interface SearchOptions {
  /** Words, any of which may match; a phrase in quotation marks must match exactly. */
  readonly query: string;
  /** From 1. */
  readonly page?: number | undefined;
  readonly pageSize?: number | undefined;
}

/** Where a text of an index stands: in one of our sessions, in another agent's, in notes or in a memory. */
export interface HitSession {
  readonly id: string;
  readonly title: string | undefined;
  /** The name of its source: `session`, `claude-code`, `notes` … */
  readonly source: string;
  /** The position of the passage in its document, which `neighbours` takes. */
  readonly place: number;
}

export type SearchOutcome =
  | {
      readonly kind: "found";
      /** Best first; among equals the newest first. */
      readonly hits: readonly SearchHit[];
      readonly page: number;
      readonly pages: number;
      /** Number of texts found, including duplicates and those that rank too low for any page. */
      readonly total: number;
      /** Number of the best of them, which the pages show or name. */
      readonly shown: number;
    }
  /** The query contains nothing to search for. */
  | { readonly kind: "no-words" };

/** Of one session. `unavailable`: this platform has no SQLite. */
export type SessionSearchOutcome = SearchOutcome | { readonly kind: "unavailable"; readonly why: string };

/** A text beside a hit. */
export interface HitNeighbour {
  /** Gives back the whole of it, as a hit's does. */
  readonly id: EntryId | ToolUseId;
  readonly kind: SearchTextKind;
  /** Its beginning, in one line. */
  readonly text: string;
}

export interface SearchHit {
  /** The id with which `expand` returns the whole text: a call's id for its result, otherwise an entry's. */
  readonly id: EntryId | ToolUseId;
  readonly kind: SearchTextKind;
  /** The timestamp in the entry. */
  readonly at: string | undefined;
  /** For a result: what was called, in a few words. */
  readonly call: string | undefined;
  readonly snippet: string;
  /** Offset of the snippet in the text that `id` expands to; undefined if the hit is not in that text. */
  readonly offset: number | undefined;
  readonly score: number;
  /** Other texts in which the same line was found, best first. One of another session is written `session/id`. */
  readonly also: readonly string[];
  /** What another entry said right before it and right after it. Absent at the ends of a log. */
  readonly before?: HitNeighbour | undefined;
  readonly after?: HitNeighbour | undefined;
  /** For a call and its result. */
  readonly tool?: string | undefined;
  /** Paths that the call named. */
  readonly files?: readonly string[] | undefined;
  /** Absent in a search of one log. */
  readonly session?: HitSession | undefined;
}
