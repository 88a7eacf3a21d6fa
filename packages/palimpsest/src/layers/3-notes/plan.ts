import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { CountText } from "../clip-text.ts";
import { cutLine, cutNotes, isBare, type Notes, readNotes } from "./notes.ts";
import { isEmptyText } from "../../transcript/to-wire-block.ts";
import { cleanBorders } from "../2-clear/round.ts";
import { keptTextsMin, keptTokensMax, keptTokensMin } from "./limits.ts";

export interface NotesCompactInput extends Pick<KeepInput, "items" | "count"> {
  /** The notes as the transcript names them, and up to where they go; undefined where it names none. */
  readonly noted: { readonly text: string; readonly covers: EntryId } | undefined;
  readonly template: Notes;
  /** Of their file. */
  readonly path: string;
  readonly countText: CountText;
  /** Of the header, and of what is put back behind a boundary. */
  readonly otherTokens: number;
  /** They stay wherever the cut falls; absent: none. */
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

/** Can the notes be the summary of this view? Without a model's help, and without waiting for anything. */
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
 *   no-notes         nobody has taken any
 *   bare-template    the file has its headings and nothing else
 *   cover-gone       the last message that they cover is not in the view behind the last boundary: nobody can tell what
 *                    they leave out
 *   no-cut           a reply or a call reaches over the last boundary
 *   nothing-covered  everything would stay: there is nothing that the notes could stand for
 *   still-over       the result would be at or over the compaction threshold, which would fire again at once
 */
export type NotesRefusal = "no-notes" | "bare-template" | "cover-gone" | "no-cut" | "nothing-covered" | "still-over";

export interface KeepInput {
  /** Of the view. */
  readonly items: readonly Item[];
  /** The newest entry that the notes cover. */
  readonly covers: EntryId;
  /** In tokens of the context as it is counted. */
  readonly count: (item: Item) => number;
}

export type KeepOutcome =
  | {
      readonly kind: "keep";
      /** Stay verbatim behind the notes, in order; perhaps none. */
      readonly items: readonly Item[];
      /** For which the notes stand; earlier summaries among them. */
      readonly covered: readonly Item[];
      readonly tokens: number;
    }
  | { readonly kind: "unavailable"; readonly why: "cover-gone" | "no-cut" | "nothing-covered" };

/**
 * What stays verbatim behind the notes: everything that they do not cover, and before it whole rounds until there are
 * 10,000 tokens and 5 messages with text. The last boundary stops that, and so does a round that would make it more than
 * 40,000 tokens. Costs work in proportion to the items.
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
    const more = measureItems(items.slice(earlier, at), count);
    if (kept.tokens + more.tokens > keptTokensMax) break;
    kept = { tokens: kept.tokens + more.tokens, texts: kept.texts + more.texts };
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

/** Reminders and files that were put back are no messages. */
const saysText = ({ attachment, blocks }: Item): boolean =>
  attachment === undefined && blocks.some((block) => block.type === "text" && !isEmptyText(block));
