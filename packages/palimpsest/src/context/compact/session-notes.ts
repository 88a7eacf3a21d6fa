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
  /** Of a text, as the context is counted. */
  readonly count: TakeNotesDeps["count"];
  /** Whether a rule or a mode forbids to change the file; each try would be paid for and fail. Must not reject. */
  readonly mayEdit: () => Promise<"yes" | "no">;
  /** Read each time, so that a change of the files counts at once. Must not reject. */
  readonly options: () => Promise<NotesOptions>;
  /** `one`: the session closes with its only turn, and an extraction that its last reply began would only be stopped. */
  readonly turns: "one" | "many";
}

/** What people want their notes to be like. */
export interface NotesOptions {
  readonly template: Notes;
  /** In place of our prompt. */
  readonly prompt?: string | undefined;
  /** What could not be used of it, a line each, for a person. */
  readonly warnings?: readonly string[] | undefined;
}

interface NotesInput {
  readonly session: Session;
  readonly line: Pick<Line, "snapshot" | "usedTokens">;
}

/** The notes that the transcript names, as they were when they were taken. */
export interface RecordedNotes {
  readonly text: string;
  readonly covers: EntryId;
}

/** Notes of a session's main conversation: taken beside it, and read where they are to be its summary. Ends with the session. */
export class SessionNotes {
  readonly #deps: SessionNotesDeps;
  readonly #of: NotesInput;
  readonly #keeper: NotesKeeper;
  /** The session, or by what it takes its last entries. */
  #log: FinalAppender;
  #calls = 0;
  /** The newest entry when a round last ended. */
  #roundEnd: EntryId | null = null;
  readonly #warned = new Set<string>();
  #untold: string[] = [];

  constructor(deps: SessionNotesDeps, of: NotesInput) {
    this.#deps = deps;
    this.#of = of;
    this.#log = of.session;
    const known = parseCoverage(of.session.fold.projection.settings);
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
        onEnded: (outcome) => this.#ended(outcome),
      },
      last,
    );
    of.session.onClose((closing) => {
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

  /** A reply came, its calls are answered. Returns at once: nothing of what follows is waited for. */
  roundEnded(calls: number): void {
    this.#calls += calls;
    this.#roundEnd = this.#of.session.leaf;
    if (this.#rule() === undefined || (calls === 0 && this.#deps.turns === "one")) return;
    const moment: NotesMoment = {
      contextTokens: this.#of.line.usedTokens,
      calls: this.#calls,
      lastReply: calls > 0 ? "calls" : "no-calls",
    };
    void this.#offer(moment);
  }

  /** For a compaction: waits for notes that are being taken, but not long. */
  settle(signal: AbortSignal): Promise<SettleOutcome> {
    return this.#keeper.settle(signal);
  }

  /** Undefined where the path names none, or their text is gone. */
  async read(): Promise<RecordedNotes | undefined> {
    const covers = parseCoverage(this.#of.session.fold.projection.settings);
    const bytes = covers === undefined ? undefined : await this.#deps.blobs.get(covers.blob);
    if (covers === undefined || bytes === undefined) return undefined;
    return { text: new TextDecoder().decode(bytes), covers: covers.entry };
  }

  async template(): Promise<Notes> {
    return (await this.#wishes()).template;
  }

  /** What a person should know of what they want their notes to be like; each line once. */
  takeWarnings(): readonly string[] {
    return this.#untold.splice(0);
  }

  /** No more are taken. Resolves when an extraction in flight has stopped, and what it has cost is booked. */
  stop(): Promise<void> {
    return this.#keeper.close();
  }

  #rule(): NotesRule | undefined {
    const { switches, policy } = this.#deps.numbers();
    return switches.notes.value ? policy.background?.notes : undefined;
  }

  async #offer(moment: NotesMoment): Promise<void> {
    if (!this.#keeper.wants(moment) || (await this.#deps.mayEdit()) === "yes") this.#keeper.notice(moment);
  }

  async #wishes(): Promise<NotesOptions> {
    const wishes = await this.#deps.options();
    const news = (wishes.warnings ?? []).filter((warning) => !this.#warned.has(warning));
    for (const warning of news) this.#warned.add(warning);
    this.#untold.push(...news);
    return wishes;
  }

  /** Where the fork begins is fixed before anything is waited for: the conversation goes on meanwhile. */
  async #take(contextTokens: number, signal: AbortSignal): Promise<NotesOutcome> {
    const covers = lastSettledEntry(this.#itemsOfRounds());
    if (covers === undefined)
      return { kind: "failed", why: "nothing-noted", message: "No round has ended yet.", usage: [] };
    const messagesMax = this.#messagesUntil(covers);
    const [{ template, prompt }, noted] = await Promise.all([this.#wishes(), this.read()]);
    const input = { template, prompt, noted: noted?.text, covers, contextTokens, messagesMax };
    return takeNotes(this.#deps, input, signal);
  }

  /** Without a reply that is being written: what came of it so far leaves the path where it is asked for again. */
  #itemsOfRounds(): readonly Item[] {
    const { path, projection } = this.#of.session.fold;
    const roundAt = path.findLastIndex(({ entry }) => entry.id === this.#roundEnd);
    const begun = projection.items.findIndex(({ role, at }) => role === "assistant" && at > roundAt);
    return roundAt === -1 || begun === -1 ? projection.items : projection.items.slice(0, begun);
  }

  /** Messages of the next request up to the one that shows the end of what is covered; undefined where none shows it. */
  #messagesUntil(covers: EntryId): number | undefined {
    const { fold } = this.#of.session;
    const { items } = fold.projection;
    const shown = fold.shown();
    const end = items.findLastIndex(({ entry }) => entry === covers);
    const last = items.slice(0, end + 1).findLast(({ entry }) => (shown.get(entry) ?? []).length > 0);
    const blocks = new Set(last === undefined ? [] : shown.get(last.entry));
    const at = this.#of.line.snapshot().findLastIndex(({ content }) => content.some((block) => blocks.has(block)));
    return at === -1 ? undefined : at + 1;
  }

  async #ended(outcome: NotesOutcome): Promise<void> {
    const { model } = this.#deps.fork;
    const { usage } = outcome;
    if (outcome.kind === "taken" && this.#of.session.fold.path.has(outcome.covers.entry)) {
      await this.#log.append(notesCostDraft({ model, usage }), coverageDraft(outcome.covers));
      return;
    }
    const { why, message } = outcome.kind === "taken" ? leftBranch : outcome;
    // A session that closes wants no more notes: only what was paid for in vain is worth a word.
    if (why === "aborted" && usage.length === 0) return;
    await this.#log.append(notesCostDraft({ model, usage, failed: { why, message } }));
  }
}

/** The path has the notes of its own past, and those it keeps. */
const leftBranch = { why: "left", message: "The conversation went back behind what they cover." } as const;
