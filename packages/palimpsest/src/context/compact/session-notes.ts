import type { ClockDep } from "../../ports/clock-dep.ts";
import { lastSettledEntry } from "../../layers/2-clear/round.ts";
import { coverageDraft, parseCoverage } from "../../layers/3-notes/notes-coverage.ts";
import { NotesKeeper, type SettleOutcome } from "../../layers/3-notes/run-keeper.ts";
import { type NotesOutcome, takeNotes, type TakeNotesDeps } from "../../layers/3-notes/run-notes.ts";
import type { Notes } from "../../layers/3-notes/notes.ts";
import type { NotesMoment, NotesRule } from "../../layers/3-notes/notes-state.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import type { ResolvedSettingsDep, WaitDep } from "../deps.ts";
import type { Line } from "../line.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import { notesCostDraft } from "../past-costs.ts";

export interface SessionNotesDeps extends ClockDep, WaitDep, ResolvedSettingsDep, Omit<TakeNotesDeps, "count"> {
  /** Counts a text at the rates of the context. */
  readonly count: TakeNotesDeps["count"];
  /** `no`: a rule or a mode forbids to change the file, so each try would be paid for and fail. Must not reject. */
  readonly mayEdit: () => Promise<"yes" | "no">;
  /** Called each time, so that changes to the files apply at once. Must not reject. */
  readonly options: () => Promise<NotesOptions>;
  /** `one`: the session closes after its only turn, so an update after its last reply would only be aborted. */
  readonly turns: "one" | "many";
}

/** The user's options for notes. */
export interface NotesOptions {
  readonly template: Notes;
  /** Replaces our prompt. */
  readonly prompt?: string | undefined;
  /** What could not be used, one line each, for the user. */
  readonly warnings?: readonly string[] | undefined;
}

interface NotesInput {
  readonly session: Session;
  readonly line: Pick<Line, "snapshot" | "usedTokens">;
}

/** The notes that the transcript refers to, as they were when they were taken. */
export interface RecordedNotes {
  readonly text: string;
  readonly covers: EntryId;
}

/** Notes of a session's main conversation: taken in the background, and read if they become its summary. Ends with the session. */
export class SessionNotes {
  readonly #deps: SessionNotesDeps;
  readonly #input: NotesInput;
  readonly #keeper: NotesKeeper;
  /** The session or, while it closes, its final appender. */
  #log: FinalAppender;
  #calls = 0;
  /** The last entry when the last round ended. */
  #roundEnd: EntryId | null = null;
  readonly #warned = new Set<string>();
  #pendingWarnings: string[] = [];

  constructor(deps: SessionNotesDeps, input: NotesInput) {
    this.#deps = deps;
    this.#input = input;
    this.#log = input.session;
    const known = parseCoverage(input.session.fold.projection.settings);
    const last: NotesMoment | undefined = known && {
      contextTokens: known.contextTokens,
      calls: 0,
      lastReply: "no-calls",
    };
    const { now, wait } = deps;
    this.#keeper = new NotesKeeper(
      {
        now,
        wait,
        rule: () => this.#rule(),
        take: ({ contextTokens }, signal) => this.#take(contextTokens, signal),
        onEnded: (outcome) => this.#recordOutcome(outcome),
      },
      last,
    );
    input.session.onClose((closing) => {
      this.#log = closing;
      return this.#keeper.close();
    });
  }

  get path(): string {
    return this.#deps.notesFile.path;
  }

  get state(): NotesKeeper["state"] {
    return this.#keeper.state;
  }

  /** Called when a reply has come and its calls have their results. Returns at once; the work runs in the background. */
  roundEnded(calls: number): void {
    this.#calls += calls;
    this.#roundEnd = this.#input.session.leaf;
    if (this.#rule() === undefined || (calls === 0 && this.#deps.turns === "one")) return;
    const moment: NotesMoment = {
      contextTokens: this.#input.line.usedTokens,
      calls: this.#calls,
      lastReply: calls > 0 ? "calls" : "no-calls",
    };
    void this.#offer(moment);
  }

  /** For a compaction: waits a short time for notes that are being taken. */
  settle(signal: AbortSignal): Promise<SettleOutcome> {
    return this.#keeper.settle(signal);
  }

  /** Undefined if the path refers to no notes, or if their text is gone. */
  async read(): Promise<RecordedNotes | undefined> {
    const covers = parseCoverage(this.#input.session.fold.projection.settings);
    const bytes = covers === undefined ? undefined : await this.#deps.blobs.get(covers.blob);
    if (covers === undefined || bytes === undefined) return undefined;
    return { text: new TextDecoder().decode(bytes), covers: covers.entry };
  }

  async template(): Promise<Notes> {
    return (await this.#readOptions()).template;
  }

  /** Warnings about the user's options for notes; each is returned once. */
  takeWarnings(): readonly string[] {
    return this.#pendingWarnings.splice(0);
  }

  /** Stops taking notes. Resolves when a running update has stopped and its cost is booked. */
  stop(): Promise<void> {
    return this.#keeper.close();
  }

  #rule(): NotesRule | undefined {
    const { switches, policy } = this.#deps.settings();
    return switches.notes.value ? policy.background?.notes : undefined;
  }

  async #offer(moment: NotesMoment): Promise<void> {
    if (!this.#keeper.wants(moment) || (await this.#deps.mayEdit()) === "yes") this.#keeper.notice(moment);
  }

  async #readOptions(): Promise<NotesOptions> {
    const options = await this.#deps.options();
    const news = (options.warnings ?? []).filter((warning) => !this.#warned.has(warning));
    for (const warning of news) this.#warned.add(warning);
    this.#pendingWarnings.push(...news);
    return options;
  }

  /** The fork point is fixed before the first await: the conversation continues meanwhile. */
  async #take(contextTokens: number, signal: AbortSignal): Promise<NotesOutcome> {
    const covers = lastSettledEntry(this.#completeRounds());
    if (covers === undefined)
      return { kind: "failed", why: "nothing-noted", message: "No round has ended yet.", usage: [] };
    const messagesMax = this.#countMessagesUntil(covers);
    const [{ template, prompt }, noted] = await Promise.all([this.#readOptions(), this.read()]);
    const input = { template, prompt, noted: noted?.text, covers, contextTokens, messagesMax };
    return takeNotes(this.#deps, input, signal);
  }

  /** Without a reply that is being written: a retry would remove its blocks from the path. */
  #completeRounds(): readonly Item[] {
    const { path, projection } = this.#input.session.fold;
    const roundAt = path.findLastIndex(({ entry }) => entry.id === this.#roundEnd);
    const replyAt = projection.items.findIndex(({ role, at }) => role === "assistant" && at > roundAt);
    return roundAt === -1 || replyAt === -1 ? projection.items : projection.items.slice(0, replyAt);
  }

  /** Number of messages in the next request up to the end of what is covered; undefined if no message shows it. */
  #countMessagesUntil(covers: EntryId): number | undefined {
    const { fold } = this.#input.session;
    const { items } = fold.projection;
    const shown = fold.shown();
    const end = items.findLastIndex(({ entry }) => entry === covers);
    const last = items.slice(0, end + 1).findLast(({ entry }) => (shown.get(entry) ?? []).length > 0);
    const blocks = new Set(last === undefined ? [] : shown.get(last.entry));
    const at = this.#input.line.snapshot().findLastIndex(({ content }) => content.some((block) => blocks.has(block)));
    return at === -1 ? undefined : at + 1;
  }

  async #recordOutcome(outcome: NotesOutcome): Promise<void> {
    const { model } = this.#deps.fork;
    const { usage } = outcome;
    if (outcome.kind === "taken" && this.#input.session.fold.path.has(outcome.covers.entry)) {
      await this.#log.append(notesCostDraft({ model, usage }), coverageDraft(outcome.covers));
      return;
    }
    const { why, message } = outcome.kind === "taken" ? leftBranch : outcome;
    // Closing the session aborts the update; that is recorded only if it has cost something.
    if (why === "aborted" && usage.length === 0) return;
    await this.#log.append(notesCostDraft({ model, usage, failed: { why, message } }));
  }
}

/** The notes cover an entry that is no longer on the path, which keeps its earlier notes. */
const leftBranch = { why: "left", message: "The conversation was rewound to before what they cover." } as const;
