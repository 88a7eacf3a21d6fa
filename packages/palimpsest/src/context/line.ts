import type { Inventory } from "../cache/inventory.ts";
import { type CollectRoundsOptions, collectImportedRounds, type RoundResult } from "../layers/1-offload/run.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { Message } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../schema/brand.ts";
import type { LeftOutPart } from "../schema/edit.ts";
import type { Entry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import type { DoubtedCounter, DoubtedUsage } from "../tokens/token-ledger.ts";
import type { NextRequest } from "../transcript/fold.ts";
import type { Draft } from "../transcript/draft.ts";
import { leaveOutDraft } from "../transcript/leave-out-draft.ts";
import type { AppendEntriesOutcome, EditOutcome, EditInput, Session } from "../session/session.ts";

/** What an agent talks along: a session's path, or a fork that leaves it alone. */
export interface Line {
  /** What the model has been told so far, in a list of its own, with an answer for every open call: where a fork begins. */
  snapshot(): readonly Message[];
  /** Messages are live: valid until the next append. */
  next(): NextRequest;
  /** Of the next request, tools and system prompt included. */
  readonly usedTokens: Tokens;
  /** Of these, what the provider has not counted. */
  readonly uncountedTokens: Tokens;
  /** Of tools and system prompt. */
  readonly fixedTokens: Tokens;
  /** The newest count of the provider that can't be that of its request; a fork takes none for its own. */
  readonly doubtedUsage: DoubtedUsage | undefined;
  /** What the caller's tokenizer says of the view, if that is not believed. */
  readonly doubtedCounter: DoubtedCounter | undefined;
  /** Where the line goes on; null at its very beginning. */
  readonly leaf: EntryId | null;
  /** Rounds that another tool recorded, as long as no model has answered to them here; what was shown once stays as it is. */
  unsentRounds(options: CollectRoundsOptions): readonly (readonly RoundResult[])[];
  /** By what layers plan and act; undefined where nothing that was said is ever changed: a fork's line. */
  readonly editable: EditableLine | undefined;
  append(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome>;
  /** In place of what a reply said behind this entry; what others noted meanwhile stays. */
  appendInstead(behind: EntryId | null, draft: Draft): Promise<AppendEntriesOutcome>;
  /** Every request is sent without this part of what was said so far. */
  leaveOut(part: LeftOutPart, reason: LeaveOutReason): Promise<LeaveOutOutcome>;
  /** Freezes an answer for every open call. */
  settle(): Promise<AppendEntriesOutcome>;
  endTurn(): Promise<AppendEntriesOutcome>;
}

interface LeaveOutReason {
  /** For people, one line. */
  readonly because: string;
  /** Of the model and the lifetime in use. */
  readonly rates?: EditInput["rates"];
}

/** `receipt` is absent where nothing is written down: in a fork. */
export type LeaveOutOutcome =
  | {
      readonly kind: "left-out";
      readonly count: number;
      readonly edits: readonly EntryId[];
      readonly receipt?: Receipt;
    }
  | { readonly kind: "nothing" }
  | WriteFailure;

/** A session that knows what could be cleared. What it holds is live: another after an undo. */
export interface EditableLine extends Pick<Session, "fold" | "ledger" | "readBy"> {
  readonly inventory: Inventory;
  edit(input: EditInput): Promise<EditOutcome>;
}

/** Stands behind a request of ours: a reply, or a boundary, which only a conversation that was going on can have. */
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

  next(): NextRequest {
    return this.#session.fold.next();
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
    const shownAt = path.findLastIndex(({ start, entry }) => start >= foreignUntil && followsRequest(entry));
    return shownAt !== -1 ? [] : collectImportedRounds(projection, options);
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
    const priced = rates === undefined ? {} : { rates };
    const edited = await this.#session.edit({
      drafts: [draft],
      cause: "refused",
      nature: "reduced",
      because,
      ...priced,
    });
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

  /** The session's, which is another one where its log was read again. */
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
