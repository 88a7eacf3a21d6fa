import { tryParseJson } from "palimpsest/internal/schema/json";
import { GatewayFailure } from "../conversation/gateway-failure.ts";
import { refusalRetriesMax } from "../conversation/limits.ts";
import type { PreparedBody } from "../conversation/request/live-request.ts";
import { type Addition, findNamed } from "../conversation/request/refused-additions.ts";
import { addBetas, forwardHeaders, type Headers } from "../upstream/headers.ts";
import type { UpstreamFailure, UpstreamReply, UpstreamRequest } from "../upstream/upstream.ts";
import { bufferReply, isGood } from "./buffered-reply.ts";
import { isClientsMistake } from "./is-clients-mistake.ts";
import { errorBytesMax } from "./limits.ts";
import type { RunningExchange } from "./running-exchange.ts";

export interface SentRequest {
  readonly outcome: UpstreamReply | UpstreamFailure;
  /** The context has not asked for the reply to the client's original request: it must not be recorded. */
  readonly sentAs: "prepared" | "original";
  /** What the gateway added to the request. */
  readonly additions: readonly Addition[];
}

/**
 * A request that is refused for what it contains is reduced and sent again. The last attempt is the original request.
 *
 * An error that names an addition may mean what the client wrote. Only if the request without it is accepted, the addition
 * stays left out of other requests.
 */
export async function sendPrepared(exchange: RunningExchange, first: PreparedBody): Promise<SentRequest> {
  const { body, active } = exchange.found;
  const leftOut = new Set<Addition>();
  const sent = await sendWithFallbacks(exchange, { first, leftOut });
  const isAccepted = sent.sentAs === "prepared" && sent.outcome.kind === "reply" && isGood(sent.outcome);
  if (!isAccepted) for (const addition of leftOut) void active.conversation.addAgain(body, addition);
  return sent;
}

/** `leftOut` gets the additions that errors named. None is left out twice, so this ends. */
async function sendWithFallbacks(
  exchange: RunningExchange,
  { first, leftOut }: { readonly first: PreparedBody; readonly leftOut: Set<Addition> },
): Promise<SentRequest> {
  const { body, active } = exchange.found;
  const { conversation } = active;
  let prepared = first;
  for (let tries = 0; ; tries += 1) {
    const sent = await sendOnce(exchange, prepared);
    if (sent.outcome.kind === "failed" || !refusalStatuses.has(sent.outcome.status)) return sent;
    const { status } = sent.outcome;
    const { bytes, reply } = await bufferReply(sent.outcome, errorBytesMax);
    const refused = { ...sent, outcome: reply };
    if (bytes === undefined) return refused;
    const error = bytes.toString("utf8");
    const named = findNamed(
      error,
      prepared.additions.filter((one) => !leftOut.has(one)),
    );
    if (named === undefined && (status === 422 || isMistake(exchange, { status, error, prepared }))) return refused;
    const isOriginal = prepared.changes.length === 0 && prepared.betas.length === 0;
    try {
      if (named !== undefined) {
        leftOut.add(named);
        await exchange.inTime(() => conversation.leaveOut(body, { addition: named, sign: "named" }));
      } else {
        const refusal = { status, body: tryParseJson(error) ?? error };
        const canRetry =
          tries < refusalRetriesMax && (await exchange.inTime(() => conversation.handleRefusal(body, refusal)));
        if (!canRetry) return isOriginal ? refused : await replaceRefused(exchange, { status, prepared });
      }
      prepared = await exchange.inTime((signal) => conversation.next(body, signal));
    } catch (failure) {
      return isOriginal ? refused : await failOpen(exchange, { step: "refused", error: failure });
    }
  }
}

/** Reports that the gateway failed, and sends the client's original request instead. */
export async function failOpen(
  exchange: RunningExchange,
  { step, error }: { readonly step: string; readonly error: unknown },
): Promise<SentRequest> {
  if (!exchange.request.signal.aborted) exchange.reportFailure(step, error);
  return await sendOriginal(exchange);
}

/** 400 and 413 are for what a request contains, 422 is of servers that check its fields. */
export const refusalStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

function isMistake(
  { request: { provider }, found: { body } }: RunningExchange,
  { status, error, prepared }: { readonly status: number; readonly error: string; readonly prepared: PreparedBody },
): boolean {
  const hasField = (name: string): boolean => body.field(name) !== undefined;
  return isClientsMistake({ provider, status, error, changes: prepared.changes, hasField });
}

/**
 * If the original request is refused too, the mistake is the client's. If it is taken, the upstream does not take one of the
 * additions: one after the other is left out.
 */
async function replaceRefused(
  exchange: RunningExchange,
  { status, prepared }: { readonly status: number; readonly prepared: PreparedBody },
): Promise<SentRequest> {
  const { body, active } = exchange.found;
  const sent = await sendOriginal(exchange);
  const { outcome } = sent;
  if (outcome.kind === "reply" && outcome.status !== status)
    exchange.reportFailure("refused", new GatewayFailure(`status ${status}`));
  const [suspect] = prepared.untouched && outcome.kind === "reply" && isGood(outcome) ? prepared.additions : [];
  if (suspect !== undefined) void active.conversation.leaveOut(body, { addition: suspect, sign: "guessed" });
  return sent;
}

async function sendOnce(exchange: RunningExchange, prepared: PreparedBody): Promise<SentRequest> {
  exchange.meter.recordSent(prepared);
  const headers = addBetas(forwardHeaders(exchange.request.headers), prepared.betas);
  const outcome = await send(exchange, { headers, body: prepared.bytes });
  return { outcome, sentAs: "prepared", additions: prepared.additions };
}

async function sendOriginal(exchange: RunningExchange): Promise<SentRequest> {
  const { headers, body } = exchange.request;
  exchange.meter.recordOriginal();
  const outcome = await send(exchange, { headers: forwardHeaders(headers), body: [body] });
  return { outcome, sentAs: "original", additions: [] };
}

/** A client that goes away before the reply has begun has paid for its request too. */
async function send(
  { deps, request: { provider, method, path, signal }, meter }: RunningExchange,
  { headers, body }: { readonly headers: Headers; readonly body: UpstreamRequest["body"] },
): Promise<UpstreamReply | UpstreamFailure> {
  const outcome = await deps.upstream.send({ provider, method, path, headers, body, signal });
  const isPaid = outcome.kind === "reply" ? isGood(outcome) : outcome.why === "cancelled";
  if (isPaid) meter.begin();
  if (isPaid && outcome.kind === "failed") meter.settle();
  return outcome;
}
