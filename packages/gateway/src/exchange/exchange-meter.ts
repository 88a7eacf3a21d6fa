import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { ActiveConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/live-request.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import { estimateTokens, type ReplyFigures, ReplyUsage } from "../reply/reply-usage.ts";
import { replyCost } from "./charged-pass.ts";
import { savedNanos } from "./saved-nanos.ts";

interface AccountInput {
  readonly provider: Provider;
  readonly open: ActiveConversation;
  /** Of the client's own request. */
  readonly bytes: number;
  readonly user: string;
  readonly prices: readonly ModelOverride[];
  readonly now: () => number;
  readonly onEvent: GatewayListener;
}

/**
 * What an exchange sent and cost, beside what the client's own request would have been. Each reply of upstream is charged
 * once, from its own usage, when it has ended or broken off:
 *
 *   (sent | recordOriginal → begin → take* → settle)*
 */
export class ExchangeMeter {
  readonly #input: AccountInput;
  #sent: PreparedBody | undefined;
  #usage: ReplyUsage | undefined;
  #replies = 0;
  /** Tokens of the client's own request, once a reply says what was sent for it. */
  #clientTokens: number | undefined;
  #compared: { readonly sent: PreparedBody; readonly moreTokens: number } | undefined;

  constructor(input: AccountInput) {
    this.#input = input;
  }

  sent(prepared: PreparedBody): void {
    this.#sent = prepared;
  }

  /** The client's own request was sent instead. */
  recordOriginal(): void {
    this.#sent = undefined;
  }

  /** A reply of upstream has begun, or was given up by the client before it could. */
  begin(): void {
    this.#usage = new ReplyUsage(this.#input.provider);
  }

  /** An event of it, or all of it. */
  take(event: JsonObject): void {
    this.#usage?.take(event);
  }

  /** It has ended, however it did. */
  settle(): void {
    const usage = this.#usage;
    if (usage === undefined) return;
    this.#usage = undefined;
    const { bytes, user, prices, onEvent, open } = this.#input;
    const inputTokens = this.#sent?.tokens ?? estimateTokens(bytes);
    const figures = usage.figures({ model: open.row.model, inputTokens, prices });
    this.#count(figures);
    onEvent(replyCost(user, figures));
  }

  /**
   * By how many tokens the client's own request is larger than what was sent, which took `inputTokens`. The client's request
   * stays the same if upstream is asked again, with the results of own calls.
   */
  moreTokens(inputTokens: number): number {
    if (this.#sent === undefined) return 0;
    this.#clientTokens ??= Math.max(0, inputTokens + this.#compare(this.#sent, inputTokens));
    return this.#clientTokens - inputTokens;
  }

  /** Once the reply is stored. Must not reject. */
  async replied(stored: Promise<void> | undefined): Promise<void> {
    await stored;
    const { conversation, row } = this.#input.open;
    const context = await conversation.context?.catch(() => undefined);
    // Edits caused by the client's own rewinds don't count.
    const isCounted = ({ by, at }: RecordedEdit): boolean => by === "engine" && Date.parse(at) >= row.since;
    if (context !== undefined) row.edits = context.receipts().filter(isCounted).length;
  }

  /** The client sent its list once, also if upstream was asked several times. */
  #count(figures: ReplyFigures): void {
    const { open, prices, now } = this.#input;
    const { row, lastSent } = open;
    const isFirst = this.#replies === 0;
    this.#replies += 1;
    const wholeTokens = isFirst ? figures.inputTokens + this.#moreThan(figures.inputTokens) : 0;
    row.inputTokensUsed += figures.inputTokens;
    row.inputTokensSent += wholeTokens;
    const windowTokens = this.#sent?.windowTokens ?? Infinity;
    row.windowShareMax = Math.max(row.windowShareMax, wholeTokens / windowTokens);
    const isUnknown = figures.nanos === null && wholeTokens !== figures.inputTokens;
    const saved = savedNanos(figures, { wholeTokens, lastSent, now: now(), prices });
    row.savedUsd = isUnknown || row.savedUsd === null ? null : row.savedUsd + saved / 1e9;
    if (isFirst) open.lastSent = { tokens: wholeTokens, at: now() };
  }

  #moreThan(inputTokens: number): number {
    const sent = this.#sent;
    return sent === undefined || sent.untouched ? 0 : Math.max(0, this.#compare(sent, inputTokens));
  }

  /** Once for each request: its usage comes in several events. */
  #compare(sent: PreparedBody, inputTokens: number): number {
    if (this.#compared?.sent !== sent) this.#compared = { sent, moreTokens: sent.moreTokens(inputTokens) };
    return this.#compared.moreTokens;
  }
}
