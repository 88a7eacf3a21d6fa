import { expand, type ExpandOutcome } from "../session/expand.ts";
import { ReceiptTracker, type RecordedEdit } from "../session/past-receipts.ts";
import { branchBehind, rewind, type RewindOutcome, undo, type UndoOutcome, type UndoOptions } from "../session/undo.ts";
import { openStoreRecall } from "../session/open-recall.ts";
import { SessionSearch } from "../session/search-session.ts";
import { appendBoundary } from "../session/append-boundary.ts";
import type { AppendEntriesOutcome, EditOutcome, Session } from "../session/session.ts";
import { withSource } from "../session/counted-log.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { RecallOptions } from "../ports/recall-index.ts";
import type { StorePorts } from "../ports/store.ts";
import type { SearchOutcome, SessionSearchOutcome } from "../ports/session-search.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { EntryId } from "../schema/brand.ts";
import { callerCause } from "../schema/receipt.ts";
import type { ResolvedSettings } from "../settings/resolved-settings.ts";
import type { ContextReport } from "../tokens/context-report.ts";
import { LogView } from "./log-view.ts";

/** What is searched: this session, or all of the store. */
export interface RecallScope {
  readonly scope?: "session" | "project" | undefined;
}

type TrimmedEntries =
  | { readonly kind: "dropped"; readonly entries: readonly EntryId[] }
  /** Everything but what is kept leaves the view. */
  | {
      readonly kind: "summarised";
      readonly summary: string;
      readonly kept: { readonly head: EntryId; readonly tail: EntryId };
    };

interface SessionViewParts {
  readonly session: Session;
  /** The list of sessions and an index let the search reach all sessions. */
  readonly deps: TranscriptsDep & BlobsDep & Pick<StorePorts, "sessions" | "recall">;
  /** The settings as they resolve now. */
  readonly settings: () => Pick<ResolvedSettings, "thresholds" | "autoCompact">;
  /** Does the model bind thinking to its prefix? By default it does not. */
  readonly thinking?: (() => UndoOptions["thinking"] | undefined) | undefined;
  /** Called after an undo or a rewind, to bring state outside the session in line with it. */
  readonly follow?: (() => Promise<void>) | undefined;
}

/** What the model sees of a session, and the user's operations on it: report, undo, rewind, pin, search, expand. */
export class SessionView {
  readonly #parts: SessionViewParts;
  readonly #search: SessionSearch;
  readonly #receipts = new ReceiptTracker();

  constructor(parts: SessionViewParts) {
    this.#parts = parts;
    this.#search = new SessionSearch(parts.deps, { session: parts.session.id });
  }

  /** What fills the window. */
  report(): ContextReport {
    const { session, settings } = this.#parts;
    return new LogView(session).report(settings());
  }

  /** Undoes an edit; by default the newest one in force. */
  async undo({ target, mode = "path" }: Partial<Pick<UndoOptions, "target" | "mode">> = {}): Promise<UndoOutcome> {
    const { session, settings, thinking } = this.#parts;
    const blockingTokens = settings().thresholds.blocking;
    const undone = await undo(session, { target, mode, blockingTokens, thinking: thinking?.() ?? "free" });
    if (undone.kind === "undone" || undone.kind === "branched") await this.#parts.follow?.();
    return undone;
  }

  /** Continues the conversation from before this message of the user. */
  async rewind(message: EntryId): Promise<RewindOutcome> {
    const rewound = await rewind(this.#parts.session, message);
    if (rewound.kind === "rewound") await this.#parts.follow?.();
    return rewound;
  }

  /**
   * Continues the conversation behind an entry, as the caller's own list does; null: from its very beginning. The list knows
   * nothing of the user's undos and pins, so it takes none back.
   */
  async branch(at: Omit<Parameters<typeof branchBehind>[1], "asked">): Promise<AppendEntriesOutcome> {
    const branched = await branchBehind(this.#parts.session, { ...at, asked: "repeated" });
    if (branched.kind === "appended") await this.#parts.follow?.();
    return branched;
  }

  /** Takes entries out of the view that the caller took out of its own list, or replaced by a summary of its own. */
  async trim(trimmed: TrimmedEntries): Promise<EditOutcome> {
    const { session, deps } = this.#parts;
    const because = "the caller left them out of its own list";
    const edited =
      trimmed.kind === "dropped"
        ? await session.edit({
            drafts: [{ type: "snip", entries: trimmed.entries, because }],
            cause: callerCause,
            nature: "reduced",
            because,
          })
        : await appendBoundary(deps, session, {
            summary: trimmed.summary,
            kept: trimmed.kept,
            trigger: "manual",
            cause: callerCause,
            because,
          });
    if (edited.kind === "edited") await this.#parts.follow?.();
    return edited;
  }

  /** A pinned entry is carried through every compaction. */
  pin(entry: EntryId, verb: "pin" | "unpin" = "pin"): Promise<EditOutcome> {
    return this.#parts.session.edit({ drafts: [{ type: verb, entry }], cause: "asked", nature: "reduced" });
  }

  /**
   * Searches the whole session, including what is no longer in the view, or all sessions of the store. What is new is
   * indexed first. Undefined if the transcript can't be read, or if the store has no index of all sessions.
   */
  async recall({
    scope = "session",
    ...options
  }: RecallScope & RecallOptions): Promise<SessionSearchOutcome | undefined> {
    const { session: _, otherThan: __, source: ___, ...ofSession } = options;
    return scope === "session" ? await this.#search.search(ofSession) : await this.searchProject(options);
  }

  /** All sessions of the store. Undefined if it has no index, or none that can be opened. */
  async searchProject(options: RecallOptions): Promise<SearchOutcome | undefined> {
    const opened = await openStoreRecall(this.#parts.deps);
    if (opened.kind !== "open") return undefined;
    const { index } = opened;
    try {
      await index.catchUp();
      return await index.search(options);
    } finally {
      await index.close();
    }
  }

  /** Frees what a search keeps. */
  close(): Promise<void> {
    return this.#search.close();
  }

  /** The full original behind an id. Undefined if the transcript can't be read. */
  async expand(id: string): Promise<ExpandOutcome | undefined> {
    const { deps, session } = this.#parts;
    return await withSource(deps, session.id, (source) => expand(deps, source, id));
  }

  /** Every edit, oldest first, with the receipts that `followReceipts` has read. */
  receipts(): readonly RecordedEdit[] {
    return this.#receipts.list(this.#parts.session.fold);
  }

  /** Reads the receipts of new edits. */
  async followReceipts(): Promise<void> {
    const { session, deps } = this.#parts;
    await this.#receipts.follow({
      fold: session.fold,
      from: session.read.from,
      open: () => deps.transcripts.openForReading(session.id),
      whole: async () => (await session.readWhole())?.fold,
    });
  }
}
