import type { Inventory } from "../cache/inventory.ts";
import { type CollectRoundsOptions, collectImportedRounds, type RoundResult } from "../layers/1-offload/run.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { Message } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../schema/brand.ts";
import type { LeftOutPart } from "../schema/edit.ts";
import type { Entry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import type { DoubtedCounter, DoubtedUsage } from "../tokens/token-ledger.ts";
import type { NextRequest, ViewOptions } from "../transcript/fold.ts";
import type { Draft } from "../transcript/draft.ts";
import { leaveOutDraft } from "../transcript/leave-out-draft.ts";
import type { AppendEntriesOutcome, EditOutcome, EditInput, Session } from "../session/session.ts";

/** The message history that an agent extends: a session's path, or a fork that leaves the session unchanged. */
export interface Line {
  /** The messages so far in a copied list, with a result for every open call: the beginning of a fork. */
  snapshot(): readonly Message[];
  /** Messages are live: valid until the next append. */
  next(options?: Pick<ViewOptions, "ending">): NextRequest;
  /** Size of the next request, including tools and system prompt. */
  readonly usedTokens: Tokens;
  /** The part of it that the provider has not counted. */
  readonly uncountedTokens: Tokens;
  /** Size of tools and system prompt. */
  readonly fixedTokens: Tokens;
  /** The provider's newest count, if it is implausible for its request; a fork has none. */
  readonly doubtedUsage: DoubtedUsage | undefined;
  /** The count of the caller's tokenizer, if it is implausible. */
  readonly doubtedCounter: DoubtedCounter | undefined;
  /** The last entry; null at the very beginning. */
  readonly leaf: EntryId | null;
  /** Rounds that another tool recorded and that no model has answered here: what was sent once must not change. */
  unsentRounds(options: CollectRoundsOptions): readonly (readonly RoundResult[])[];
  /** Lets layers plan and edit; undefined for a fork's line, which is never edited. */
  readonly editable: EditableLine | undefined;
  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome>;
  /** Replaces what a reply added after this entry; settings that were written there stay. */
  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome>;
  /** From now on requests omit this part of the messages so far. */
  leaveOut(part: LeftOutPart, reason: LeaveOutReason): Promise<LeaveOutOutcome>;
  /** Records a synthetic result for every open call. */
  settle(): Promise<AppendEntriesOutcome>;
  endTurn(): Promise<AppendEntriesOutcome>;
}

interface LeaveOutReason {
  /** One line for the user. */
  readonly because: string;
  /** Rates of the model and cache lifetime in use. */
  readonly rates?: EditInput["rates"];
}

/** `receipt` is absent in a fork, which records nothing. */
export type LeaveOutOutcome =
  | {
      readonly kind: "left-out";
      readonly count: number;
      readonly edits: readonly EntryId[];
      readonly receipt?: Receipt;
    }
  | { readonly kind: "nothing" }
  | WriteFailure;

/** A session that knows what could be cleared. Its members are live: an undo replaces them. */
export interface EditableLine extends Pick<Session, "fold" | "ledger" | "readBy"> {
  readonly inventory: Inventory;
  edit(input: EditInput): Promise<EditOutcome>;
}

/** Was a request sent before this entry? True for a reply, and for a boundary, which only a running conversation can have. */
const followsRequest = (entry: Entry): boolean =>
  entry.kind === "assistant" ? !entry.synthetic : entry.kind === "edit" && entry.edit.type === "boundary";

export class SessionLine implements Line {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  snapshot(): readonly Message[] {
    return [...this.#session.view().messages];
  }

  next(options: Pick<ViewOptions, "ending"> = {}): NextRequest {
    return this.#session.fold.next(options);
  }

  get usedTokens(): Tokens {
    return this.#session.ledger.size.tokens;
  }

  get uncountedTokens(): Tokens {
    return this.#session.ledger.size.estimated;
  }

  get fixedTokens(): Tokens {
    return tokens(this.#session.ledger.fixedTokens);
  }

  get doubtedUsage(): DoubtedUsage | undefined {
    return this.#session.ledger.doubtedUsage;
  }

  get doubtedCounter(): DoubtedCounter | undefined {
    return this.#session.ledger.doubtedCounter;
  }

  get leaf(): EntryId | null {
    return this.#session.fold.path.leaf?.id ?? null;
  }

  unsentRounds(options: CollectRoundsOptions): readonly (readonly RoundResult[])[] {
    const { foreignUntil, path, projection } = this.#session.fold;
    const sentAt = path.findLastIndex(({ start, entry }) => start >= foreignUntil && followsRequest(entry));
    return sentAt !== -1 ? [] : collectImportedRounds(projection, options);
  }

  get editable(): EditableLine | undefined {
    const session = this.#session;
    return session.inventory === undefined ? undefined : new EditableSession(session, session.inventory);
  }

  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#session.append(...drafts);
  }

  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome> {
    return this.#session.appendInstead(behind, draft);
  }

  async leaveOut(part: LeftOutPart, { because, rates }: LeaveOutReason): Promise<LeaveOutOutcome> {
    const draft = leaveOutDraft(this.#session.fold.shown(), { part, because });
    if (draft === undefined) return { kind: "nothing" };
    const edited = await this.#session.edit({ drafts: [draft], cause: "refused", nature: "reduced", because, rates });
    if (edited.kind === "failed") return edited;
    return { kind: "left-out", count: draft.entries.length, edits: edited.entries, receipt: edited.receipt };
  }

  settle(): Promise<AppendEntriesOutcome> {
    return this.#session.settle();
  }

  endTurn(): Promise<AppendEntriesOutcome> {
    return this.#session.endTurn();
  }
}

class EditableSession implements EditableLine {
  readonly #session: Session;
  readonly #inventory: Inventory;

  constructor(session: Session, inventory: Inventory) {
    this.#session = session;
    this.#inventory = inventory;
  }

  get fold(): Session["fold"] {
    return this.#session.fold;
  }

  get ledger(): Session["ledger"] {
    return this.#session.ledger;
  }

  /** The session's current inventory: it is replaced when the log is read again. */
  get inventory(): Inventory {
    return this.#session.inventory ?? this.#inventory;
  }

  readBy(model: string | undefined): void {
    this.#session.readBy(model);
  }

  edit(input: EditInput): Promise<EditOutcome> {
    return this.#session.edit(input);
  }
}
