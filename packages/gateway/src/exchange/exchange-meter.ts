import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { ActiveConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/request/live-request.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import { estimateTokens, type ReplyCharge, ReplyUsage } from "../reply/reply-usage.ts";
import { replyCost } from "./charged-pass.ts";
import { savedNanos } from "./saved-nanos.ts";

interface MeterInput {
  readonly provider: Provider;
  readonly active: ActiveConversation;
  /** Size of the client's original request. */
  readonly bytes: number;
  readonly user: string;
  readonly prices: readonly ModelOverride[];
  readonly now: () => number;
  readonly onEvent: GatewayListener;
}

/**
 * Counts what an exchange sent and cost, and compares it with the client's original request. Each reply of upstream is charged
 * once, from its own usage, when it has ended or broken off:
 *
 *   (recordSent | recordOriginal → begin → take* → settle)*
 */
export class ExchangeMeter {
  readonly #input: MeterInput;
  #sent: PreparedBody | undefined;
  #usage: ReplyUsage | undefined;
  #replies = 0;
  /** Tokens of the original request. They are known once a reply reports its usage. */
  #clientTokens: number | undefined;
  #compared: { readonly sent: PreparedBody; readonly moreTokens: number } | undefined;

  constructor(input: MeterInput) {
    this.#input = input;
  }

  recordSent(prepared: PreparedBody): void {
    this.#sent = prepared;
  }

  /** The original request was sent instead. */
  recordOriginal(): void {
    this.#sent = undefined;
  }

  /** A reply of upstream has begun, or the client went away before it could. */
  begin(): void {
    this.#usage = new ReplyUsage(this.#input.provider);
  }

  /** Takes an event of the reply, or the whole reply. */
  take(event: JsonObject): void {
    this.#usage?.take(event);
  }

  /** Whether the reply's usage is complete: then no other event changes what is charged. */
  get isUsageKnown(): boolean {
    return this.#usage?.isComplete !== false;
  }

  /** Charges the reply. It has ended or broken off. */
  settle(): void {
    const usage = this.#usage;
    if (usage === undefined) return;
    this.#usage = undefined;
    const { bytes, user, prices, onEvent, active } = this.#input;
    const inputTokens = this.#sent?.tokens ?? estimateTokens(bytes);
    const charge = usage.charge({ model: active.row.model, inputTokens, prices });
    this.#count(charge);
    onEvent(replyCost(user, charge));
  }

  /**
   * By how many tokens the original request is larger than what was sent, which took `inputTokens`. The original request
   * stays the same if upstream is asked again, with the results of gateway calls.
   */
  omittedTokens(inputTokens: number): number {
    if (this.#sent === undefined) return 0;
    this.#clientTokens ??= Math.max(0, inputTokens + this.#compare(this.#sent, inputTokens));
    return this.#clientTokens - inputTokens;
  }

  /** Waits until the reply is stored. Must not reject. */
  async countEdits(stored: Promise<void> | undefined): Promise<void> {
    await stored;
    const { conversation, row } = this.#input.active;
    const context = await conversation.context?.catch(() => undefined);
    // Edits caused by the client's own rewinds don't count.
    const isCounted = ({ by, at }: RecordedEdit): boolean => by === "engine" && Date.parse(at) >= row.since;
    if (context !== undefined) row.edits = context.receipts().filter(isCounted).length;
  }

  /** The client sent its list once, even if upstream was asked several times. */
  #count(charge: ReplyCharge): void {
    const { active, prices, now } = this.#input;
    const { row, lastSent } = active;
    const isFirst = this.#replies === 0;
    this.#replies += 1;
    const wholeTokens = isFirst ? charge.inputTokens + this.#moreThan(charge.inputTokens) : 0;
    row.inputTokensUsed += charge.inputTokens;
    row.inputTokensSent += wholeTokens;
    const windowTokens = this.#sent?.windowTokens ?? Infinity;
    row.windowShareMax = Math.max(row.windowShareMax, wholeTokens / windowTokens);
    const isUnknown = charge.nanos === null && wholeTokens !== charge.inputTokens;
    const saved = savedNanos(charge, { wholeTokens, lastSent, now: now(), prices });
    row.savedUsd = isUnknown || row.savedUsd === null ? null : row.savedUsd + saved / 1e9;
    if (isFirst) active.lastSent = { tokens: wholeTokens, at: now() };
  }

  #moreThan(inputTokens: number): number {
    const sent = this.#sent;
    return sent === undefined || sent.untouched ? 0 : Math.max(0, this.#compare(sent, inputTokens));
  }

  /** Compares once for each request, because its usage comes in several events. */
  #compare(sent: PreparedBody, inputTokens: number): number {
    if (this.#compared?.sent !== sent) this.#compared = { sent, moreTokens: sent.moreTokens(inputTokens) };
    return this.#compared.moreTokens;
  }
}
