import { coveredNow } from "../../layers/3-notes/borders.ts";
import { keptBehindNotes } from "../../layers/3-notes/keep.ts";
import { notesPrompt } from "../../layers/3-notes/prompt.ts";
import { ownTemplate, renderNotes } from "../../layers/3-notes/template.ts";
import { type NotesRule, notesIdle, type NotesState, onEnd, onMoment } from "../../layers/3-notes/triggers.ts";
import type { Policy } from "../../layers/policy.ts";
import type { Block } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { NotedPart } from "../compaction/compactions.ts";
import { notesPathStandIn } from "../limits.ts";
import type { NotesSizes } from "./notes-sizes.ts";

/** The end of a round. */
export interface RoundEnd {
  readonly items: readonly Item[];
  readonly contextTokens: number;
  /** Of tools, in its reply. */
  readonly calls: number;
}

/**
 * The notes of one run. They are taken at the layer's own moments and are there at once: a model takes a while, in which
 * a moment may pass, so this is the most that can be taken. None fails, so none is asked for twice.
 */
export class ReplayedNotes {
  readonly #rule: NotesRule;
  readonly sizes: NotesSizes;
  #state: NotesState = notesIdle();
  #calls = 0;
  #covers: EntryId | undefined;
  taken = 0;

  constructor({ rule, sizes }: { readonly rule: NotesRule; readonly sizes: NotesSizes }) {
    this.#rule = rule;
    this.sizes = sizes;
  }

  /** What the newest extraction was shown of the file, behind its headings: nothing, where it was the first. */
  get shownTokens(): number {
    return this.taken <= 1 ? 0 : this.sizes.fileTokens;
  }

  /** Whether notes are taken now. */
  roundEnded({ items, contextTokens, calls }: RoundEnd): "taken" | "not-taken" {
    const rule = this.#rule;
    this.#calls += calls;
    const lastReply = calls > 0 ? "calls" : "no-calls";
    const step = onMoment(this.#state, { moment: { contextTokens, calls: this.#calls, lastReply }, rule });
    this.#state = step.state;
    if (step.starts === undefined) return "not-taken";
    const covers = coveredNow(items);
    this.#state = onEnd(step.state, { outcome: covers === undefined ? "failed" : "taken", rule }).state;
    if (covers === undefined) return "not-taken";
    this.#covers = covers;
    this.taken += 1;
    return "taken";
  }

  /** What stays verbatim where the notes are the summary; undefined where they can't be. */
  noted({ items, count, roomTokens }: NotedInput): NotedPart | undefined {
    if (this.#covers === undefined) return undefined;
    const { fileTokens: notesTokens } = this.sizes;
    const keep = keptBehindNotes({ items, covers: this.#covers, count });
    if (keep.kind === "unavailable" || notesTokens + keep.tokens >= roomTokens) return undefined;
    return { kept: keep.items, notesTokens };
  }
}

export interface NotedInput {
  readonly items: readonly Item[];
  readonly count: (item: Item) => number;
  /** Below the compaction threshold, beside the header. */
  readonly roomTokens: number;
}

/** Undefined where the policy takes none. */
export const notesRuleOf = ({ notes, background }: Policy): NotesRule | undefined =>
  notes === "on" ? background?.notes : undefined;

/** What a fork is asked with, but for what stands in the file. */
export const notesDirective: Block = {
  type: "text",
  text: notesPrompt({
    path: notesPathStandIn,
    tool: "edit",
    notes: renderNotes(ownTemplate),
    sizes: { tokens: 0, sections: [] },
  }),
};
