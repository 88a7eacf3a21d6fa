import type { Inventory } from "../cache/inventory.ts";
import { ratesForModel } from "../cache/cache-rates.ts";
import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../ports/clock-dep.ts";
import type { SetAside, TranscriptsDep, TranscriptWriter } from "../ports/transcripts.ts";
import { type EntryId, entryId, type SessionId, type Tokens, type ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
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
  repeatSetting,
} from "../transcript/draft.ts";
import type { Fold, View } from "../transcript/fold.ts";
import { makeReceipt, type ReceiptInput, receiptTotals, type ShownBlocks } from "../transcript/make-receipt.ts";
import { interruptedText } from "../transcript/repair.ts";
import type { CountedLog } from "./counted-log.ts";
import { showsSame, undoneBefore } from "./let-go.ts";
import { overLimit } from "./over-limit.ts";
import { type ReadingDep, readLog } from "./read-log.ts";

export interface SessionDeps extends TranscriptsDep, BlobsDep, ClockDep, IdsDep, ReadingDep {}

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
  /** `whole`: the log is read from its beginning, this once; absent: from its end, as far as the view reaches. */
  readonly reads?: "whole";
}

export async function openSession(deps: SessionDeps, options: OpenSessionOptions): Promise<OpenSessionOutcome> {
  const { id, mode } = options;
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
  const circumstances = { sessionId: id, ...options.circumstances };
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
/** The path went on meanwhile, and nothing was written. */
export interface PathMoved {
  readonly kind: "moved";
}

/** What an edit that moves most of the view would leave. */
interface EditPreview {
  readonly receipt: Receipt;
  /** Of the context behind it, until the provider has counted it. */
  readonly tokens: Tokens;
}

/** Runs along with a session and ends with it. Must not wait for the session's close: that waits for it. */
export type CloseHandler = (last: FinalAppender) => Promise<void>;

/** By which entries still get into a session that is closing and takes no others. */
export type FinalAppender = Pick<Session, "append">;

/**
 * A session open for writing: every entry goes to disk first, then into the fold, so the view never shows what the log
 * does not hold.
 *
 *   open ──close()──▶ closing: acts end, what was begun is written ──▶ closed: the writer and its lock are gone
 *
 * From `close()` on every write is refused with a TypeError, but for what acts append by what they are given.
 */
export class Session {
  readonly id: SessionId;
  readonly count: ReceiptInput["count"];
  readonly #deps: SessionDeps;
  readonly #writer: TranscriptWriter;
  #circumstances: SessionFields;
  #log: CountedLog;
  #reader: string | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #ending = new Set<CloseHandler>();
  #closed: Promise<void> | undefined;

  constructor(deps: SessionDeps, parts: { writer: TranscriptWriter; log: CountedLog; circumstances: SessionFields }) {
    this.id = parts.writer.id;
    this.count = deps.count ?? deps.counter?.believedBlock ?? memoizeCount(estimateBlock);
    this.#deps = deps;
    this.#writer = parts.writer;
    this.#log = parts.log;
    this.#circumstances = parts.circumstances;
  }

  get fold(): Fold {
    return this.#log.fold;
  }

  /** Where the path ends; null where there is none yet. */
  get leaf(): EntryId | null {
    return this.fold.path.leaf?.id ?? null;
  }

  /** The size of the context at any moment. */
  get ledger(): ContextLedger {
    return this.#log.ledger;
  }

  /** What stands in the view, result by result; undefined where nobody asked for it. */
  get inventory(): Inventory | undefined {
    return this.#log.inventory;
  }

  /** That answered last. */
  get model(): string | undefined {
    return this.#log.model;
  }

  /** From now on the view is what this model is shown; undefined: what any model may be shown. */
  readBy(model: string | undefined): void {
    this.#reader = model;
    this.fold.readBy(model);
  }

  /** What entries are written with from now on: another branch may have been checked out. */
  recordBranch(gitBranch: string | undefined): void {
    const { gitBranch: _before, ...others } = this.#circumstances;
    this.#circumstances = gitBranch === undefined ? others : { ...others, gitBranch };
  }

  /** How much of the log the fold was made from. */
  get read(): CountedLog["read"] {
    return this.#log.read;
  }

  /** Ranges of the log that could not be read, as far as it was read. */
  get damagedRanges(): number {
    return this.#log.damage.length;
  }

  view(): View {
    return this.fold.view();
  }

  /** In the order of the calls, also of calls that are not awaited: each entry continues at the one before. */
  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() => this.#append(drafts));
  }

  /** In place of what was said behind an entry of the path. Settings written there meanwhile are appended again: they are of the session. */
  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() =>
      this.#inTurn(() => {
        const [first, ...others] = [...this.#settingsBehind(behind), draft];
        return this.#write(this.#place([{ ...first, parentUuid: behind }, ...others]));
      }),
    );
  }

  #settingsBehind(behind: EntryId | null): readonly Draft[] {
    const { path } = this.fold;
    if (behind !== null && !path.has(behind)) return [];
    const from = path.findLastIndex(({ entry }) => entry.id === behind) + 1;
    return path.loggedFrom(from).flatMap(({ entry }) => repeatSetting(entry) ?? []);
  }

  /** Appends an edit and says what it changed. The receipt's totals are in the log with the edit. */
  edit(input: EditInput): Promise<EditOutcome> {
    return this.#whileOpen(() => this.#inTurn(() => this.#edit(input)));
  }

  /** Where the path still ends there when its turn comes: for an edit that says what becomes of everything up to its end. */
  editAt(leaf: EntryId | null, input: EditInput): Promise<EditOutcome | PathMoved> {
    return this.#whileOpen(() =>
      this.#inTurn(async () => (this.leaf === leaf ? await this.#edit(input) : { kind: "moved" as const })),
    );
  }

  /** What an edit would do now. Writes nothing; the ids in the receipt are of no entry that will ever be. */
  foresee(input: EditInput): EditPreview {
    const entries = readDrafts(this.#place(input.drafts));
    const after = this.fold.preview(entries);
    const tokens = this.ledger.estimateView([...after.values()].flat());
    return { receipt: this.#receiptOf({ entries, after }, input), tokens };
  }

  #receiptOf(
    { entries, after }: { entries: readonly Entry[]; after: ShownBlocks },
    { cause, nature, because, planned, rates }: EditInput,
  ): Receipt {
    return makeReceipt({
      cause,
      nature,
      because,
      planned,
      edits: entries.flatMap(({ id }) => id ?? []),
      before: this.fold.shown(),
      after,
      count: this.count,
      rates: rates ?? ratesForModel(findModel(this.model ?? ""), "5m"),
    });
  }

  async #edit(input: EditInput): Promise<EditOutcome> {
    await this.#reachBack(input);
    const raws = anchorSegment(this.#place(input.drafts));
    const entries = readDrafts(raws);
    const receipt = this.#receiptOf({ entries, after: this.fold.preview(entries) }, input);
    const withReceipt = raws.map((raw, at) => (at === 0 ? { ...raw, receipt: receiptTotals(receipt) } : raw));
    const appended = await this.#write(withReceipt, entries);
    return appended.kind === "failed" ? appended : { kind: "edited", entries: appended.entries, receipt };
  }

  /** An undo of what the fold does not hold: its receipt tells both views, so the log is read further back first. */
  async #reachBack({ drafts }: EditInput): Promise<void> {
    const undone = this.read.from === "beginning" ? new Set<EntryId>() : undoneBefore(this.fold, drafts);
    const log = undone.size === 0 ? undefined : await this.readUndone(undone);
    if (log === undefined) return;
    log.fold.refold();
    this.adoptLog(log);
  }

  /** Freezes a synthetic answer for every open call, so that the next request can be sent and stays what it was. `shown`: for calls of which more is known. */
  settle(shown: ReadonlyMap<ToolUseId, string> = new Map()): Promise<AppendEntriesOutcome> {
    return this.#whileOpen(() => this.#inTurn(() => this.#settle(shown)));
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
   * Goes on with the log as it opens now, from its newest boundary on: what lies before is read again when somebody asks
   * for it. Must not reject: where the log can't be read, or would show anything else, everything stays in memory.
   */
  shed(): Promise<void> {
    return this.#inTurn(async () => {
      const log = await readLog(this.#deps, this.id).catch(() => undefined);
      if (log === undefined || log.read.from === "beginning") return;
      log.fold.readBy(this.#reader);
      if (log.fold.path.leaf?.id === this.fold.path.leaf?.id && showsSame(log.fold, this.fold)) this.adoptLog(log);
    });
  }

  /** Goes on with a log that was read further back, or less far. */
  adoptLog(log: CountedLog): void {
    log.fold.readBy(this.#reader);
    this.#log = log;
  }

  async endTurn(): Promise<AppendEntriesOutcome> {
    const outcome = await this.#whileOpen(() => this.#writer.endTurn());
    return outcome.kind === "failed" ? outcome : { kind: "appended", entries: [] };
  }

  /** Called before the writer closes, or at once where that has begun. What it throws is lost. Returns how to take it back. */
  onClose(act: CloseHandler): () => void {
    if (this.#closed === undefined) this.#ending.add(act);
    else void runCloseHandlers([act], { append: (...drafts) => this.append(...drafts) });
    return () => void this.#ending.delete(act);
  }

  close(): Promise<void> {
    return this.#closeBy("close");
  }

  /** Closes it, and where nothing was ever said in it since this process made it, its log is taken away. */
  discard(): Promise<void> {
    return this.#closeBy("discard");
  }

  #closeBy(how: "close" | "discard"): Promise<void> {
    if (this.#closed === undefined) {
      const closing = Promise.withResolvers<void>();
      // Before anything ends, so that whatever ends finds the session closing.
      this.#closed = closing.promise;
      this.#close(how).then(closing.resolve, closing.reject);
    }
    return this.#closed;
  }

  async #close(how: "close" | "discard"): Promise<void> {
    await runCloseHandlers([...this.#ending], { append: (...drafts) => this.#append(drafts) });
    this.#ending.clear();
    await this.#last;
    const isUnsaid = how === "discard" && !this.fold.path.everyBranch.some(isSpokenEntry);
    await this.#writer[isUnsaid ? "discard" : "close"]();
  }

  #append(drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#inTurn(() => this.#write(this.#place(drafts)));
  }

  /** Async, so that a refusal is a rejection as any other failure that nobody expects. */
  async #whileOpen<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw new TypeError(`the session ${this.id} is closed`);
    return act();
  }

  /** Placing, writing and folding are one step: nobody else's entry may come between them. */
  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(act, act);
    this.#last = result.catch(() => undefined);
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

  /** In order, and no further than the first write the machine refuses: what was written before it stays. `read`: as they read back, where that is known. */
  async #write(raws: readonly PlacedEntry[], read: readonly Entry[] = []): Promise<AppendEntriesOutcome> {
    const entries: EntryId[] = [];
    for (const [nth, raw] of raws.entries()) {
      const line = JSON.stringify(raw);
      const tooLarge = overLimit(line);
      if (tooLarge !== undefined) return tooLarge;
      const outcome = await this.#writer.append([line]);
      if (outcome.kind === "failed") return outcome;
      const start = outcome.at[0] ?? 0;
      const step = this.fold.append({ entry: read[nth] ?? parseDraft(line), start, end: start + utf8Length(line) });
      if (step === "switched" || raw["type"] === "undo") await this.#readAgain();
      entries.push(entryId(raw.uuid));
    }
    return { kind: "appended", entries };
  }

  /** Another branch or an undo may reach further back than the log was read, and to offloads whose blobs were not fetched. */
  async #readAgain(): Promise<void> {
    const log = await readLog(this.#deps, this.id);
    if (log !== undefined) this.adoptLog(log);
  }
}

/** A receipt is not among what is read of an entry. */
const readDrafts = (raws: readonly PlacedEntry[]): readonly Entry[] =>
  raws.map((raw) => parseDraft(JSON.stringify(raw)));

const isSpokenEntry = ({ kind }: Entry): boolean => kind === "user" || kind === "assistant";

/** Never rejects: nothing that runs along may keep a session's lock. */
async function runCloseHandlers(acts: readonly CloseHandler[], last: FinalAppender): Promise<void> {
  await Promise.allSettled(acts.map(async (act) => act(last)));
}

export interface EditInput extends Pick<ReceiptInput, "cause" | "nature" | "because" | "planned"> {
  readonly drafts: readonly Draft[];
  /** Of the model and the lifetime in use; those of the model that answered last, at the short lifetime, where it is absent. */
  readonly rates?: ReceiptInput["rates"];
}
