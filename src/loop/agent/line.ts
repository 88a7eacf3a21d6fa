import { type HeldOptions, heldRounds } from "../../layers/1-offload/held.ts";
import type { RoundResult } from "../../layers/1-offload/run.ts";
import type { Message } from "../../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import type { NextRequest } from "../../transcript/fold.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Appended, Session } from "../session.ts";

/** What an agent talks along: a session's path, or a fork that leaves it alone. */
export interface Line {
  /** What the model has been told so far, in a list of its own, with an answer for every open call: where a fork begins. */
  snapshot(): readonly Message[];
  /** Messages are live: valid until the next append. */
  next(): NextRequest;
  /** Of the next request, tools and system prompt included. */
  readonly usedTokens: Tokens;
  /** Of tools and system prompt. */
  readonly fixedTokens: Tokens;
  /** Where the line goes on; null at its very beginning. */
  readonly leaf: EntryId | null;
  /** Rounds that another tool recorded, as long as no model has answered to them here; what was shown once stays as it is. */
  held(options: HeldOptions): readonly (readonly RoundResult[])[];
  append(...drafts: readonly Draft[]): Promise<Appended>;
  /** Freezes an answer for every open call. */
  settle(): Promise<Appended>;
  endTurn(): Promise<Appended>;
}

/** Stands behind a request of ours: a reply, or a boundary, which only a conversation that was going on can have. */
const isOfARequest = (entry: Entry): boolean =>
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

  get fixedTokens(): Tokens {
    return tokens(this.#session.ledger.fixedTokens);
  }

  get leaf(): EntryId | null {
    return this.#session.fold.path.leaf?.id ?? null;
  }

  held(options: HeldOptions): readonly (readonly RoundResult[])[] {
    const { foreignUntil, path, projection } = this.#session.fold;
    const isShown = path.logged.some(({ start, entry }) => start >= foreignUntil && isOfARequest(entry));
    return isShown ? [] : heldRounds(projection, options);
  }

  append(...drafts: readonly Draft[]): Promise<Appended> {
    return this.#session.append(...drafts);
  }

  settle(): Promise<Appended> {
    return this.#session.settle();
  }

  endTurn(): Promise<Appended> {
    return this.#session.endTurn();
  }
}
