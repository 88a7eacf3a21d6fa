import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";

/**
 * The kinds of facts in a recording that may be needed later. `lastErrors`: the lines of the newest failure; `errors`: those
 * of all earlier failures. `details`: identifiers and numbers in the user's messages.
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

/** A place in a recording that mentions a possible fact. */
export interface FactMention {
  readonly kind: Exclude<FactKind, "lastErrors">;
  /** The exact text; one line, except for user messages. */
  readonly words: string;
  readonly at: MentionPlace;
  /** The call that mentions it, itself or in its result. */
  readonly call: ToolUseId | undefined;
  /** Other entries that bring the fact back: for a mention in a result, the entry of its call. */
  readonly alsoIn: readonly EntryId[];
  /** The text that a later reply would repeat if it needed this. Undefined for results, which `Recording.needs` covers. */
  readonly said: string | undefined;
}

export interface MentionPlace {
  readonly entry: EntryId;
  /** Index into `Recording.rounds`. */
  readonly round: number;
  readonly part: "before" | "reply";
}

/** One fact with all of its mentions. */
export interface Fact {
  readonly kind: FactKind;
  readonly words: string;
  /** The round of the newest mention. */
  readonly round: number;
  /** The entries and calls that contain it. */
  readonly ids: ReadonlySet<EntryId | ToolUseId>;
  readonly calls: ReadonlySet<ToolUseId>;
  readonly said: string | undefined;
}

/** Whether the mention comes before a compaction that takes place before the request of round `compactedIn`. */
export const isSaidBy = ({ round, part }: MentionPlace, compactedIn: number): boolean =>
  round < compactedIn || (round === compactedIn && part === "before");
