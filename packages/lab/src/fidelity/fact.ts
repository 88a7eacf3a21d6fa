import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";

/**
 * What of a recording one may want to know again. `lastErrors`: the lines of the newest failure; `errors`: of all before
 * it. `details`: identifiers and numbers in what people said.
 */
export const factKinds = [
  "userMessages",
  "filesModified",
  "filesRead",
  "commands",
  "errors",
  "lastErrors",
  "details",
  "decisions",
  "openTodos",
] as const;
export type FactKind = (typeof factKinds)[number];

/** Where a recording says something that may be a fact. */
export interface FactMention {
  readonly kind: Exclude<FactKind, "lastErrors">;
  /** As it stands there; one line, except of user messages. */
  readonly words: string;
  readonly at: MentionPlace;
  /** The call whose result says it, or that says it itself. */
  readonly call: ToolUseId | undefined;
  /** By which it comes back besides: the entry of the call, where its result is the place. */
  readonly alsoIn: readonly EntryId[];
  /** What a later reply would repeat if it needed this. Of results nothing: `Recording.needs` knows. */
  readonly said: string | undefined;
}

export interface MentionPlace {
  readonly entry: EntryId;
  /** Index into `Recording.rounds`. */
  readonly round: number;
  readonly part: "before" | "reply";
}

/** One fact, however often it was seen. */
export interface Fact {
  readonly kind: FactKind;
  readonly words: string;
  /** Of the newest sighting. */
  readonly round: number;
  /** Entries and calls that expand to it. */
  readonly ids: ReadonlySet<EntryId | ToolUseId>;
  readonly calls: ReadonlySet<ToolUseId>;
  readonly said: string | undefined;
}

/** Is this said when a compaction takes place before the request of that round? */
export const isSaidBy = ({ round, part }: MentionPlace, compactedIn: number): boolean =>
  round < compactedIn || (round === compactedIn && part === "before");
