import { lastSettledEntry } from "palimpsest/internal/layers/2-clear/round";
import { notesPrompt } from "palimpsest/internal/layers/3-notes/prompt";
import type { SettleOutcome } from "palimpsest/internal/layers/3-notes/run-keeper";
import { type Notes, defaultTemplate, renderNotes } from "palimpsest/internal/layers/3-notes/notes";
import {
  type NotesRule,
  notesIdle,
  type NotesState,
  onEnd,
  onMoment,
} from "palimpsest/internal/layers/3-notes/notes-state";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { CompactionSetup } from "palimpsest/internal/context/compact/compaction-setup";
import type { RecordedNotes } from "palimpsest/internal/context/compact/session-notes";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Item } from "palimpsest/internal/transcript/item";
import type { Summaries } from "./summaries.ts";
import { notesPathStandIn, notesTokensStandIn } from "../limits.ts";
import type { ReplayWorld } from "../replay-world.ts";

interface ReplayedNotesInput {
  readonly rule: NotesRule;
  readonly world: Pick<ReplayWorld, "standIn" | "tokensOf">;
  readonly summaries: Pick<Summaries, "notes">;
  readonly items: () => readonly Item[];
  readonly contextTokens: () => number;
  /** Runs a fork that takes the notes, with this directive. */
  readonly ask: (directive: string) => Promise<void>;
}

/**
 * The notes of one run. They are taken whenever the layer would take them and are available at once. A real model needs
 * time, in which the next update may become due, so this is the maximum. No update fails, so none is repeated.
 */
export class ReplayedNotes implements NonNullable<CompactionSetup["notes"]> {
  readonly path = notesPathStandIn;
  readonly #input: ReplayedNotesInput;
  #state: NotesState = notesIdle();
  #calls = 0;
  #covers: EntryId | undefined;
  #lastRead: ReturnType<Summaries["notes"]> | undefined;
  #update: Promise<void> = Promise.resolve();
  taken = 0;

  constructor(input: ReplayedNotesInput) {
    this.#input = input;
  }

  roundEnded(calls: number): void {
    const { rule, items, contextTokens } = this.#input;
    this.#calls += calls;
    const lastReply = calls > 0 ? "calls" : "no-calls";
    const moment = { contextTokens: contextTokens(), calls: this.#calls, lastReply } as const;
    const step = onMoment(this.#state, { moment, rule });
    this.#state = step.state;
    if (step.starts === undefined) return;
    const covers = lastSettledEntry(items());
    this.#state = onEnd(step.state, { outcome: covers === undefined ? "failed" : "taken", rule }).state;
    if (covers === undefined) return;
    this.#covers = covers;
    this.#update = this.#input.ask(this.#directive());
    this.taken += 1;
  }

  async settle(): Promise<SettleOutcome> {
    await this.#update;
    return "idle";
  }

  async read(): Promise<RecordedNotes | undefined> {
    if (this.#covers === undefined) return undefined;
    this.#lastRead = this.#input.summaries.notes(this.#covers);
    return { text: (await this.#lastRead).text, covers: this.#covers };
  }

  /** The template of the notes that were read last. */
  async template(): Promise<Notes> {
    return (await this.#lastRead)?.template ?? defaultTemplate;
  }

  /** The fork's directive; from the second time on it includes the current notes. */
  #directive(): string {
    const { world } = this.#input;
    const fileTokens = this.taken === 0 ? 0 : notesTokensStandIn.file;
    const within = world.tokensOf({ type: "text", text: notesDirective }) + fileTokens;
    return `${notesDirective}\n${world.standIn({ alone: within, within, behindBoundary: within })}`;
  }
}

/** Undefined if the policy takes no notes. */
export const findNotesRule = ({ notes, background }: Policy): NotesRule | undefined =>
  notes === "on" ? background?.notes : undefined;

/** Without the content of the file. */
const notesDirective = notesPrompt({
  path: notesPathStandIn,
  tool: "edit",
  notes: renderNotes(defaultTemplate),
  sizes: { tokens: 0, sections: [] },
});
