import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { CountText } from "../clip-text.ts";
import { cutLine, cutNotes, isBare, type Notes, readNotes } from "./notes.ts";
import { isEmptyText } from "../../transcript/to-wire-block.ts";
import { cleanBorders } from "../2-clear/round.ts";
import { keptTextsMin, keptTokensMax, keptTokensMin } from "./limits.ts";

export interface NotesCompactInput extends Pick<KeepInput, "items" | "count"> {
  /** The notes that the transcript refers to, and the entry up to which they cover. Undefined if there are none. */
  readonly noted: { readonly text: string; readonly covers: EntryId } | undefined;
  readonly template: Notes;
  /** Path of the notes file. */
  readonly path: string;
  readonly countText: CountText;
  /** Tokens of the header and of what is restored behind a boundary. */
  readonly otherTokens: number;
  /** Items that stay wherever the cut is. Absent: none. */
  readonly pinned?: readonly Item[];
  /** The compaction threshold. */
  readonly thresholdTokens: number;
}

type NotesCompact =
  | {
      readonly kind: "available";
      /** The notes, each section within its budget. */
      readonly summary: string;
      readonly kept: readonly Item[];
      readonly covered: readonly Item[];
      readonly tokensAfter: number;
    }
  | { readonly kind: "unavailable"; readonly why: NotesRefusal };

/** Decides whether the notes can be the summary of this view. Needs no model and does not wait. */
export function planNotesCompact(input: NotesCompactInput): NotesCompact {
  const { noted, template, path, items, count, countText } = input;
  if (noted === undefined) return unavailable("no-notes");
  const notes = readNotes(noted.text, template);
  if (isBare(notes, template)) return unavailable("bare-template");
  const keep = keepBehindNotes({ items, covers: noted.covers, count });
  if (keep.kind === "unavailable") return keep;
  const summary = cutNotes(notes, { count: countText, rest: cutLine(path) });
  const kept = new Set(keep.items);
  const pinnedTokens = (input.pinned ?? []).reduce((sum, item) => sum + (kept.has(item) ? 0 : count(item)), 0);
  const tokensAfter = input.otherTokens + countText(summary) + keep.tokens + pinnedTokens;
  if (tokensAfter >= input.thresholdTokens) return unavailable("still-over");
  return { kind: "available", summary, kept: keep.items, covered: keep.covered, tokensAfter };
}

const unavailable = (why: NotesRefusal): NotesCompact => ({ kind: "unavailable", why });

/**
 * Why notes can't be the summary:
 *
 *   no-notes         none were taken
 *   bare-template    the file has only its headings
 *   cover-gone       the last message that they cover is not in the view behind the last boundary, so what they leave
 *                    out is unknown
 *   no-cut           a reply or a call reaches across the last boundary
 *   nothing-covered  everything would stay: the notes would replace nothing
 *   still-over       the result would be at or over the compaction threshold, which would fire again at once
 */
export type NotesRefusal = "no-notes" | "bare-template" | "cover-gone" | "no-cut" | "nothing-covered" | "still-over";

export interface KeepInput {
  /** Items of the view. */
  readonly items: readonly Item[];
  /** The newest entry that the notes cover. */
  readonly covers: EntryId;
  /** Counts in tokens of the context. */
  readonly count: (item: Item) => number;
}

export type KeepOutcome =
  | {
      readonly kind: "keep";
      /** Items that stay verbatim behind the notes, in order; may be empty. */
      readonly items: readonly Item[];
      /** Items that the notes replace, including earlier summaries. */
      readonly covered: readonly Item[];
      readonly tokens: number;
    }
  | { readonly kind: "unavailable"; readonly why: "cover-gone" | "no-cut" | "nothing-covered" };

/**
 * Decides what stays verbatim behind the notes: everything that they do not cover, and before it whole rounds until
 * there are 10,000 tokens and 5 messages with text. It stops at the last boundary, and before a round that would make
 * it more than 40,000 tokens. Costs work in proportion to the items.
 */
export function keepBehindNotes({ items, covers, count }: KeepInput): KeepOutcome {
  const coveredAt = items.findLastIndex(({ entry }) => entry === covers);
  const floor = items.findLastIndex(({ summary }) => summary === true) + 1;
  if (coveredAt === -1 || coveredAt + 1 < floor) return { kind: "unavailable", why: "cover-gone" };
  const borders = cleanBorders(items);
  const uncovered = borders.lastIndexOf(true, coveredAt + 1);
  if (uncovered < floor) return { kind: "unavailable", why: "no-cut" };
  let cut = uncovered;
  let kept = measureItems(items.slice(cut), count);
  for (let at = cut; at > floor && !isEnough(kept);) {
    const earlier = borders.lastIndexOf(true, at - 1);
    if (earlier < floor) break;
    const round = measureItems(items.slice(earlier, at), count);
    if (kept.tokens + round.tokens > keptTokensMax) break;
    kept = { tokens: kept.tokens + round.tokens, texts: kept.texts + round.texts };
    cut = at = earlier;
  }
  if (cut <= floor) return { kind: "unavailable", why: "nothing-covered" };
  return { kind: "keep", items: items.slice(cut), covered: items.slice(0, cut), tokens: kept.tokens };
}

interface KeptSize {
  readonly tokens: number;
  readonly texts: number;
}

const isEnough = ({ tokens, texts }: KeptSize): boolean => tokens >= keptTokensMin && texts >= keptTextsMin;

const measureItems = (items: readonly Item[], count: KeepInput["count"]): KeptSize => ({
  tokens: items.reduce((sum, item) => sum + count(item), 0),
  texts: items.filter((item) => saysText(item)).length,
});

/** Reminders and restored files are no messages. */
const saysText = ({ attachment, blocks }: Item): boolean =>
  attachment === undefined && blocks.some((block) => block.type === "text" && !isEmptyText(block));
