import { isSaid } from "../transcript/attachment-text.ts";
import type { Inventory } from "../cache/inventory.ts";
import { ratesForModel } from "../cache/cache-rates.ts";
import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../ports/clock-dep.ts";
import type { SetAside, TranscriptsDep, TranscriptWriter } from "../ports/transcripts.ts";
import { type EntryId, entryId, type SessionId, type Tokens, type ToolUseId } from "../schema/brand.ts";
import { agentIdField, type Entry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import { memoizeCount, estimateBlock, utf8Length } from "../tokens/estimate-block.ts";
import type { ContextLedger } from "../tokens/token-ledger.ts";
import { findModel } from "../tokens/known-models.ts";
import {
  anchorSegment,
  type SessionFields,
  type Draft,
  parseDraft,
  placeDraft,
  type PlacedEntry,
  readBack,
  repeatSetting,
} from "../transcript/draft.ts";
import type { Fold, View } from "../transcript/fold.ts";
import { makeReceipt, type ReceiptInput, receiptTotals, type ShownBlocks } from "../transcript/make-receipt.ts";
import { interruptedText } from "../transcript/repair.ts";
import { type CountedLog, type ReadLogOptions, readLog } from "./counted-log.ts";
import { redactDrafts, type RedactionDep } from "./redaction.ts";
import { checkLineSize } from "./scan-lines.ts";
import { findUndoneBeforeFold, haveSameView } from "./tail-fold.ts";
import { WriteGroup } from "./write-group.ts";

export interface SessionDeps extends TranscriptsDep, BlobsDep, ClockDep, IdsDep, RedactionDep, ReadLogOptions {}

export type OpenSessionOutcome =
  | { readonly kind: "open"; readonly session: Session; readonly setAside: SetAside | undefined }
  | { readonly kind: "busy"; readonly holder: string }
  | { readonly kind: "missing" }
  | { readonly kind: "exists" }
  | WriteFailure;

export interface OpenSessionOptions {
  readonly id: SessionId;
  readonly circumstances: Omit<SessionFields, "sessionId">;
  readonly mode: "create" | "resume";
  /** It is the transcript of an agent of this session: all its entries are a sidechain. */
  readonly agentOf?: SessionId | undefined;
  /** `whole`: this time the log is read from its beginning. By default it is read from its end, as far as the view needs. */
  readonly reads?: "whole";
}

export async function openSession(given: SessionDeps, options: OpenSessionOptions): Promise<OpenSessionOutcome> {
  const { id, mode, agentOf } = options;
  const deps: SessionDeps = agentOf === undefined ? given : { ...given, line: "side" };
  const opened = await (mode === "create" ? deps.transcripts.create(id) : deps.transcripts.openForWriting(id));
  if (opened.kind !== "open") return opened;
  const reading = options.reads === undefined ? deps : { ...deps, tailBytes: Number.MAX_SAFE_INTEGER };
  const log = await readLog(reading, id).catch(async (error: unknown) => {
    await opened.writer.close();
    throw error;
  });
  if (log === undefined) {
    await opened.writer.close();
    return { kind: "missing" };
  }
  const agent = agentOf && ({ sessionId: agentOf, agentId: agentIdField(id), isSidechain: true } as const);
  const circumstances = { sessionId: id, ...options.circumstances, ...agent };
  return {
    kind: "open",
    session: new Session(deps, { writer: opened.writer, log, circumstances }),
    setAside: opened.setAside,
  };
}

export type AppendEntriesOutcome = { readonly kind: "appended"; readonly entries: readonly EntryId[] } | WriteFailure;
export type EditOutcome =
  | { readonly kind: "edited"; readonly entries: readonly EntryId[]; readonly receipt: Receipt }
  | WriteFailure;
/** The path has grown meanwhile, and nothing was written. */
export interface PathMoved {
  readonly kind: "moved";
}

/** The effect that an edit would have. */
interface EditPreview {
  readonly receipt: Receipt;
  /** Estimated size of the context after the edit. */
  readonly tokens: Tokens;
}

/** Runs when a session closes. Must not wait for the session's close, which waits for it. */
export type CloseHandler = (last: FinalAppender) => Promise<void>;

/** Appends entries to a session that is closing and refuses all other writes. */
export type FinalAppender = Pick<Session, "append">;

/**
 * A session open for writing: every entry goes to disk first, then into the fold, so the view never shows what the log
 * does not hold.
 *
 *   open ──close()──▶ closing: close handlers run, pending writes finish ──▶ closed: the writer and its lock are gone
 *
 * From `close()` on every write is refused with a TypeError, except what close handlers append through their argument.
 */
export class Session {
  readonly id: SessionId;
  readonly count: ReceiptInput["count"];
  readonly #deps: SessionDeps;
  readonly #writer: TranscriptWriter;
  readonly writes: WriteGroup;
  #circumstances: SessionFields;
  #log: CountedLog;
  #reader: string | undefined;
  #lastWrite: Promise<unknown> = Promise.resolve();
  readonly #closeHandlers = new Set<CloseHandler>();
  #closed: Promise<void> | undefined;

  constructor(deps: SessionDeps, parts: { writer: TranscriptWriter; log: CountedLog; circumstances: SessionFields }) {
    this.id = parts.writer.id;
    this.count = deps.count ?? deps.counter?.believedBlock ?? memoizeCount(estimateBlock);
    this.#deps = deps;
    this.#writer = parts.writer;
    this.writes = new WriteGroup(parts.writer);
    this.#log = parts.log;
    this.#circumstances = parts.circumstances;
  }

  get fold(): Fold {
    return this.#log.fold;
  }

  /** The last entry of the path; null if the session is empty. */
  get leaf(): EntryId | null {
    return this.fold.path.leaf?.id ?? null;
  }

  /** The size of the context at any moment. */
  get ledger(): ContextLedger {
    return this.#log.ledger;
  }

  /** The results in the view; undefined unless `isClearable` was given. */
  get inventory(): Inventory | undefined {
    return this.#log.inventory;
  }

  /** The model that answered last. */
  get model(): string | undefined {
    return this.#log.model;
  }

  /** From now on the view is what this model may be shown; undefined: what any model may be shown. */
  readBy(model: string | undefined): void {
    this.#reader = model;
    this.fold.readBy(model);
  }

  /** Entries are written with this git branch from now on: the user may have checked out another one. */
  recordBranch(gitBranch: string | undefined): void {
    const { gitBranch: _before, ...others } = this.#circumstances;
    this.#circumstances = gitBranch === undefined ? others : { ...others, gitBranch };
  }

  /** How much of the log was read for the fold. */
  get read(): CountedLog["read"] {
    return this.#log.read;
  }

  /** Number of damaged ranges in the part of the log that was read. */
  get damagedRanges(): number {
    return this.#log.damage.length;
  }

  view(): View {
    return this.fold.view();
  }

  /** Appends in the order of the calls, also of calls that are not awaited: each entry continues the previous one. */
  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() => this.#append(drafts));
  }

  /** Replaces what follows an entry of the path. Settings written there belong to the session and are appended again. */
  appendInstead(behind: EntryId | null, ...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() =>
      this.#enqueue(async () => {
        const all = [...this.#settingsBehind(behind), ...(await redactDrafts(this.#deps, drafts))];
        return this.#write(this.#place(all.map((one, at) => (at === 0 ? { ...one, parentUuid: behind } : one))));
      }),
    );
  }

  #settingsBehind(behind: EntryId | null): readonly Draft[] {
    const { path } = this.fold;
    if (behind !== null && !path.has(behind)) return [];
    const from = path.findLastIndex(({ entry }) => entry.id === behind) + 1;
    return path.loggedFrom(from).flatMap(({ entry }) => repeatSetting(entry) ?? []);
  }

  /** Appends an edit and reports what it changed. The receipt's totals are stored in the log with the edit. */
  edit(input: EditInput): Promise<EditOutcome> {
    return this.#whileOpen(() => this.#enqueue(() => this.#edit(input)));
  }

  /** Edits only if the path still ends at `leaf` when the edit's turn comes: for edits that cover everything up to the end. */
  editAt(leaf: EntryId | null, input: EditInput): Promise<EditOutcome | PathMoved> {
    return this.#whileOpen(() =>
      this.#enqueue(async () => (this.leaf === leaf ? await this.#edit(input) : { kind: "moved" as const })),
    );
  }

  /** What an edit would do now. Writes nothing; the ids in the receipt belong to no entry. */
  foresee(input: EditInput): EditPreview {
    const entries = this.#place(input.drafts).map(readBack);
    const after = this.fold.preview(entries);
    const tokens = this.ledger.estimateView([...after.values()].flat());
    return { receipt: this.#makeReceipt({ entries, after }, input), tokens };
  }

  #makeReceipt({ entries, after }: { entries: readonly Entry[]; after: ShownBlocks }, input: EditInput): Receipt {
    const { ledger, fold, count } = this;
    const isCounted = ledger.size.source === "usage";
    return makeReceipt({
      ...input,
      edits: entries.flatMap(({ id }) => id ?? []),
      before: fold.shown(),
      after,
      count,
      countedTokens: isCounted ? ledger.size.tokens - ledger.fixedTokens : undefined,
      withheld: fold.projection.withheld,
      rates: input.rates ?? ratesForModel(findModel(this.model ?? ""), "5m"),
    });
  }

  async #edit(input: EditInput): Promise<EditOutcome> {
    await this.#readBackForUndo(input);
    const raws = anchorSegment(this.#place(await redactDrafts(this.#deps, input.drafts)));
    const entries = raws.map(readBack);
    const receipt = this.#makeReceipt({ entries, after: this.fold.preview(entries) }, input);
    const withReceipt = raws.map((raw, at) => (at === 0 ? { ...raw, receipt: receiptTotals(receipt) } : raw));
    const appended = await this.#write(withReceipt, entries);
    return appended.kind === "failed" ? appended : { kind: "edited", entries: appended.entries, receipt };
  }

  /** Before the undo of an edit that the fold does not hold, reads the log further back: its receipt compares both views. */
  async #readBackForUndo({ drafts }: EditInput): Promise<void> {
    const undone = this.read.from === "beginning" ? new Set<EntryId>() : findUndoneBeforeFold(this.fold, drafts);
    const log = undone.size === 0 ? undefined : await this.readUndone(undone);
    if (log === undefined) return;
    log.fold.refold();
    this.adoptLog(log);
  }

  /**
   * Records a synthetic result for every open call, so that the next request can be sent and later ones repeat it
   * unchanged. `shown`: the text for calls of which more is known.
   */
  settle(shown: ReadonlyMap<ToolUseId, string> = new Map()): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() => this.#enqueue(() => this.#settle(shown)));
  }

  async #settle(shown: ReadonlyMap<ToolUseId, string>): Promise<AppendEntriesOutcome> {
    const open = [...this.fold.openCalls];
    if (open.length === 0) return { kind: "appended", entries: [] };
    const results = open.map((toolUse) => ({ toolUse, shown: shown.get(toolUse) ?? interruptedText }));
    return await this.#write(this.#place([{ type: "repair", results }]));
  }

  /** The log as it would open with these edits undone. */
  async readUndone(undone: ReadonlySet<EntryId>): Promise<CountedLog | undefined> {
    return readLog(this.#deps, this.id, undone);
  }

  /** The log from its beginning, also what lies before the boundary that the fold begins with. */
  async readWhole(): Promise<CountedLog | undefined> {
    return readLog({ ...this.#deps, tailBytes: Number.MAX_SAFE_INTEGER }, this.id);
  }

  /**
   * Drops from memory what lies before the newest boundary, by opening the log again from there. It is read again when it
   * is needed. Must not reject: if the log can't be read, or would show a different view, everything stays in memory.
   */
  shed(): Promise<void> {
    return this.#enqueue(async () => {
      const log = await readLog(this.#deps, this.id).catch(() => undefined);
      if (log === undefined || log.read.from === "beginning") return;
      log.fold.readBy(this.#reader);
      if (log.fold.path.leaf?.id === this.fold.path.leaf?.id && haveSameView(log.fold, this.fold)) this.adoptLog(log);
    });
  }

  /** Continues with a log that was read further back, or less far. */
  adoptLog(log: CountedLog): void {
    log.fold.readBy(this.#reader);
    this.#log = log;
  }

  async endTurn(): Promise<AppendEntriesOutcome> {
    const outcome = await this.#whileOpen(() => this.#writer.endTurn());
    return outcome.kind === "failed" ? outcome : { kind: "appended", entries: [] };
  }

  /**
   * The handler is called before the writer closes, or at once if closing has begun. Its errors are ignored. Returns a
   * function that removes it.
   */
  onClose(handler: CloseHandler): () => void {
    if (this.#closed === undefined) this.#closeHandlers.add(handler);
    else void runCloseHandlers([handler], { append: (...drafts) => this.append(...drafts) });
    return () => void this.#closeHandlers.delete(handler);
  }

  close(): Promise<void> {
    return this.#closeOnce("close");
  }

  /** Closes the session. If this process created it and it holds no message, its log is removed. */
  discard(): Promise<void> {
    return this.#closeOnce("discard");
  }

  #closeOnce(how: "close" | "discard"): Promise<void> {
    if (this.#closed === undefined) {
      const closing = Promise.withResolvers<void>();
      // Set before the handlers run, so that they find the session closing.
      this.#closed = closing.promise;
      this.#close(how).then(closing.resolve, closing.reject);
    }
    return this.#closed;
  }

  async #close(how: "close" | "discard"): Promise<void> {
    await runCloseHandlers([...this.#closeHandlers], { append: (...drafts) => this.#append(drafts) });
    this.#closeHandlers.clear();
    await this.#lastWrite;
    const removesLog = how === "discard" && !this.fold.path.everyBranch.some(isSaid);
    await this.#writer[removesLog ? "discard" : "close"]();
  }

  #append(drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#enqueue(async () => this.#write(this.#place(await redactDrafts(this.#deps, drafts))));
  }

  /** Async, so that a refusal is a rejection like any other unexpected failure. */
  async #whileOpen<Result>(write: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw new TypeError(`the session ${this.id} is closed`);
    return write();
  }

  /** Placing, writing and folding are one step: no other entry may come between. */
  #enqueue<Result>(write: () => Promise<Result>): Promise<Result> {
    const result = this.#lastWrite.then(write, write);
    this.#lastWrite = result.catch(() => undefined);
    return result;
  }

  #place(drafts: readonly Draft[]): PlacedEntry[] {
    let leaf = this.fold.path.leaf?.id;
    return drafts.map((draft) => {
      const timestamp = new Date(this.#deps.now()).toISOString();
      const raw = placeDraft(draft, { uuid: this.#deps.uuid(), leaf, timestamp, circumstances: this.#circumstances });
      leaf = entryId(raw.uuid);
      return raw;
    });
  }

  /** Writes in order and stops at the first failure; what was written before it stays. `parsed`: the entries as they read back, if that is known. */
  async #write(raws: readonly PlacedEntry[], parsed: readonly Entry[] = []): Promise<AppendEntriesOutcome> {
    const entries: EntryId[] = [];
    for (const [nth, raw] of raws.entries()) {
      const line = JSON.stringify(raw);
      const tooLarge = checkLineSize(line);
      if (tooLarge !== undefined) return tooLarge;
      const outcome = await this.writes.append(line);
      if (outcome.kind === "failed") return outcome;
      const start = outcome.at[0] ?? 0;
      const step = this.fold.append({ entry: parsed[nth] ?? parseDraft(line), start, end: start + utf8Length(line) });
      if (step === "switched" || raw["type"] === "undo") await this.#reread();
      entries.push(entryId(raw.uuid));
    }
    return { kind: "appended", entries };
  }

  /** Another branch or an undo may need an earlier part of the log, and offloads whose blobs were not fetched. */
  async #reread(): Promise<void> {
    this.adoptLog((await readLog(this.#deps, this.id)) ?? this.#log);
  }
}

export const isMessage = ({ kind }: Entry): boolean => kind === "user" || kind === "assistant";

/** Never rejects: no handler may keep a session's lock. */
const runCloseHandlers = (handlers: readonly CloseHandler[], appender: FinalAppender): Promise<unknown> =>
  Promise.allSettled(handlers.map(async (handler) => handler(appender)));

export interface EditInput extends Pick<ReceiptInput, "cause" | "nature" | "because" | "figures" | "planned"> {
  readonly drafts: readonly Draft[];
  /** Rates of the model and cache lifetime in use; by default those of the model that answered last, at the short lifetime. */
  readonly rates?: ReceiptInput["rates"] | undefined;
}
