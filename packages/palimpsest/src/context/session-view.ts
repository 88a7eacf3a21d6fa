import { expand, type ExpandOutcome } from "../session/expand.ts";
import { ReceiptTracker, type RecordedEdit } from "../session/past-receipts.ts";
import { rewind, type RewindOutcome, undo, type UndoOutcome, type UndoOptions } from "../session/undo.ts";
import { SessionSearch } from "../session/search-session.ts";
import type { EditOutcome, Session } from "../session/session.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { SearchOutcome, SearchOptions } from "../ports/session-search.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { EntryId } from "../schema/brand.ts";
import type { ResolvedSettings } from "../settings/resolved-settings.ts";
import { type ContextReport, contextReport } from "../tokens/context-report.ts";

interface SessionViewParts {
  readonly session: Session;
  readonly deps: TranscriptsDep & BlobsDep;
  /** In force at this moment. */
  readonly numbers: () => Pick<ResolvedSettings, "thresholds" | "autoCompact">;
  /** Whether the model binds thinking to its prefix. */
  readonly thinking: () => UndoOptions["thinking"] | undefined;
  /** Behind an undo or a rewind: what is kept beside the session is as the session tells it now. */
  readonly follow?: (() => Promise<void>) | undefined;
}

/** What the model sees of a session, and what a user does about it: look, take back, pin, find. */
export class SessionView {
  readonly #parts: SessionViewParts;
  readonly #search: SessionSearch;
  readonly #receipts = new ReceiptTracker();

  constructor(parts: SessionViewParts) {
    this.#parts = parts;
    this.#search = new SessionSearch(parts.deps, parts.session.id);
  }

  /** What fills the window. */
  report(): ContextReport {
    const { session, numbers } = this.#parts;
    const { thresholds, autoCompact } = numbers();
    return contextReport({ fold: session.fold, ledger: session.ledger, thresholds, autoCompact });
  }

  /** Takes back the newest edit in force, or the one that is named. */
  async undo({ target, mode = "path" }: Partial<Pick<UndoOptions, "target" | "mode">> = {}): Promise<UndoOutcome> {
    const { session, numbers, thinking } = this.#parts;
    const named = target === undefined ? {} : { target };
    const blockingTokens = numbers().thresholds.blocking;
    const undone = await undo(session, { ...named, mode, blockingTokens, thinking: thinking() ?? "free" });
    if (undone.kind === "undone" || undone.kind === "branched") await this.#parts.follow?.();
    return undone;
  }

  /** The conversation goes on from before this message of the user. */
  async rewind(message: EntryId): Promise<RewindOutcome> {
    const rewound = await rewind(this.#parts.session, message);
    if (rewound.kind === "rewound") await this.#parts.follow?.();
    return rewound;
  }

  /** From now on this entry is carried through every compaction, or no longer. */
  pin(entry: EntryId, verb: "pin" | "unpin" = "pin"): Promise<EditOutcome> {
    return this.#parts.session.edit({ drafts: [{ type: verb, entry }], cause: "asked", nature: "reduced" });
  }

  /** Everything that was ever said, also what is not shown any more. Undefined where the transcript can't be read. */
  search(options: SearchOptions): Promise<SearchOutcome | undefined> {
    return this.#search.search(options);
  }

  /** The whole of what an id stands for. Undefined where the transcript can't be read. */
  async expand(id: string): Promise<ExpandOutcome | undefined> {
    const { deps, session } = this.#parts;
    const source = await deps.transcripts.openForReading(session.id);
    if (source === undefined) return undefined;
    try {
      return await expand(deps, source, id);
    } finally {
      await source.close();
    }
  }

  /** Every edit, oldest first, as far as they were followed. */
  receipts(): readonly RecordedEdit[] {
    return this.#receipts.list(this.#parts.session.fold);
  }

  /** Reads what was appended since. */
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
