import type { EntryId, ToolUseId } from "../schema/brand.ts";

/** `meta`: written by the engine in a person's place. `stand-in`: what a range of rounds was collapsed to. */
export type SearchTextKind =
  | "user"
  | "meta"
  | "reply"
  | "thinking"
  | "call"
  | "result"
  | "summary"
  | "attachment"
  | "stand-in";

export interface SearchOptions {
  /** Words of which any may be found; what stands in quotation marks must be found as it stands. */
  readonly query: string;
  /** From 1. */
  readonly page?: number | undefined;
  readonly pageSize?: number | undefined;
}

export type SearchOutcome =
  | {
      readonly kind: "found";
      /** Best first, of equals the newest. */
      readonly hits: readonly SearchHit[];
      readonly page: number;
      readonly pages: number;
      /** Texts that were found, also those that say the same or come too late to be shown on any page. */
      readonly total: number;
      /** Those of them that the pages show or name: the best. */
      readonly shown: number;
    }
  /** Nothing in the query can be searched for. */
  | { readonly kind: "no-words" };

export interface SearchHit {
  /** What `expand` takes to give the whole back: a call's id for its result, else an entry's. */
  readonly id: EntryId | ToolUseId;
  readonly kind: SearchTextKind;
  /** When its entry was written, as the entry says. */
  readonly at: string | undefined;
  /** Of a result: what was called, in a few words. */
  readonly call: string | undefined;
  readonly snippet: string;
  /** Where the snippet begins in what `id` gives back; undefined where that is not the text itself. */
  readonly offset: number | undefined;
  readonly score: number;
  /** Others in which the same line was found, best first. */
  readonly also: readonly (EntryId | ToolUseId)[];
}
