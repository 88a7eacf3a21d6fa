import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { CountText } from "../4-compact/fit.ts";
import { cutLine, cutNotes } from "./cut.ts";
import { keptBehindNotes, type KeepInput, type NotesRefusal } from "./keep.ts";
import { isBare, type Notes, readNotes } from "./template.ts";

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

export type NotesCompact =
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
  const keep = keptBehindNotes({ items, covers: noted.covers, count });
  if (keep.kind === "unavailable") return keep;
  const summary = cutNotes(notes, { count: countText, rest: cutLine(path) });
  const kept = new Set(keep.items);
  const pinnedTokens = (input.pinned ?? []).reduce((sum, item) => sum + (kept.has(item) ? 0 : count(item)), 0);
  const tokensAfter = input.otherTokens + countText(summary) + keep.tokens + pinnedTokens;
  if (tokensAfter >= input.thresholdTokens) return unavailable("still-over");
  return { kind: "available", summary, kept: keep.items, covered: keep.covered, tokensAfter };
}

const unavailable = (why: NotesRefusal): NotesCompact => ({ kind: "unavailable", why });
