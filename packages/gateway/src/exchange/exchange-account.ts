import type { Context } from "palimpsest/internal/context/context";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { tokens, type Tokens } from "palimpsest/internal/schema/brand";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { OpenConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/gateway-conversation.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";

/** What an exchange sent and cost, beside what the client's own request would have been. */
export class ExchangeAccount {
  readonly #open: OpenConversation;
  readonly #bytes: number;
  readonly #user: string;
  readonly #onEvent: GatewayListener;
  #sent: PreparedBody | undefined;

  constructor(input: {
    readonly open: OpenConversation;
    /** Of the client's own request. */
    readonly bytes: number;
    readonly user: string;
    readonly onEvent: GatewayListener;
  }) {
    this.#open = input.open;
    this.#bytes = input.bytes;
    this.#user = input.user;
    this.#onEvent = input.onEvent;
  }

  sent(prepared: PreparedBody): void {
    this.#sent = prepared;
    const { row } = this.#open;
    const more = this.moreTokens;
    row.inputTokensUsed += prepared.tokens;
    row.inputTokensSent += prepared.tokens + more;
    row.windowShareMax = Math.max(row.windowShareMax, (prepared.tokens + more) / prepared.windowTokens);
    const price = findModel(row.model)?.prices.cacheRead ?? 0;
    row.savedUsd += (more * price) / 1e6;
  }

  /** The client's own request was sent instead. */
  sentOwn(): void {
    this.#sent = undefined;
  }

  /** By how many tokens the client's own request is larger than what was sent: estimated by their bytes. */
  get moreTokens(): Tokens {
    const sent = this.#sent;
    if (sent === undefined || sent.untouched) return tokens(0);
    const bytes = sent.bytes.reduce((sum, piece) => sum + piece.byteLength, 0);
    return tokens(Math.max(0, Math.round((this.#bytes / bytes - 1) * sent.tokens)));
  }

  /** Once the reply is stored. Must not reject. */
  async replied(stored: Promise<void> | undefined): Promise<void> {
    await stored;
    const context = await this.#open.conversation.context?.catch(() => undefined);
    if (context !== undefined) this.#tellCost(context);
  }

  /** What an edit moves is written to the cache again, once; `sent` counts what each request leaves out, also the first. */
  #charge(edits: readonly Pick<RecordedEdit, "at" | "receipt">[]): void {
    const open = this.#open;
    const price = findModel(open.row.model)?.prices.input ?? 0;
    for (const { at, receipt } of edits) {
      if (at <= open.chargedUntil) continue;
      const { now = 0, perRound = 0 } = receipt?.price ?? {};
      open.row.savedUsd -= ((now + perRound) * price) / 1e6;
    }
    open.chargedUntil = edits.at(-1)?.at ?? open.chargedUntil;
  }

  #tellCost(context: Pick<Context<Provider>, "receipts" | "costs">): void {
    const { row } = this.#open;
    // What the client itself took back is no work of ours.
    const edits = context.receipts().filter(({ by }) => by === "engine");
    row.edits = edits.length;
    this.#charge(edits);
    const { session } = context.costs();
    this.#onEvent({
      kind: "reply-cost",
      user: this.#user,
      model: row.model,
      nanos: session.totalNanos - this.#open.paidNanos,
      inputTokens: this.#sent?.tokens ?? 0,
      outputTokens: 0,
    });
    this.#open.paidNanos = session.totalNanos;
  }
}
