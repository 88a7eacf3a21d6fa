import { setImmediate, setTimeout as wait } from "node:timers/promises";
import type { Conversations, FindInput, MatchedRequest } from "../conversation/conversations.ts";
import type { HistoryLog } from "../conversation/history/history-log.ts";
import type { PreparedBody } from "../conversation/request/live-request.ts";
import { StoredHistories } from "../conversation/history/stored-histories.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import { plainUpstream } from "../upstream/plain-upstream.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { isRefused } from "./buffered-reply.ts";
import { passCharged, refuseUnpriced } from "./charged-pass.ts";
import { passCounted } from "./counted-pass.ts";
import { describeError } from "./describe-error.ts";
import type { ClientRequest, Exchange, ExchangeOptions } from "./exchange.ts";
import { historyExchange } from "./history-exchange.ts";
import { closeMsMax } from "./limits.ts";
import { modelSummarizer } from "./model-summarizer.ts";
import { observeReply } from "./observed-reply.ts";
import { relayReply } from "./relay-reply.ts";
import { RunningExchange, type RunningExchangeDeps } from "./running-exchange.ts";
import { sendPrepared } from "./send-prepared.ts";

export interface ContextExchangeDeps {
  readonly upstream: Upstream;
  readonly conversations: Conversations;
  /** Absent: histories of clients that send only what is new are lost at a restart. */
  readonly historyLog?: HistoryLog | undefined;
  readonly onEvent: GatewayListener;
  readonly options: () => ExchangeOptions;
}

/**
 * Sends each request through its conversation's context and relays the reply unchanged.
 *
 *   read ──▶ find ──▶ prepare ──▶ send ──2xx──▶ relay ──▶ done
 *                                  ▲  │            └─gateway calls─▶ answer ─┐
 *                                  │  └─400, 413─▶ reduce ───────────────────┤
 *                                  └─────────────────────────────────────────┘
 *
 * If the gateway fails at any step, it sends the client's original request instead, even in the middle of a reply: only another
 * reply can complete the client's message. That reply is not recorded; the client's next request contains it.
 */
export function contextExchange(deps: ContextExchangeDeps): Exchange {
  const histories = new StoredHistories(deps.historyLog);
  deps.conversations.onForget((deleted) => histories.forget(deleted));
  const prices = () => deps.options().prices ?? [];
  const plain = { ...deps, prices, upstream: plainUpstream(deps.upstream) };
  const exchange = wholeExchange({ ...plain, onJoined: (user, ids) => histories.linkReplies(user, ids) });
  return historyExchange({ ...plain, histories, threads: () => deps.options().threads }, exchange);
}

const wholeExchange =
  (deps: RunningExchangeDeps): Exchange =>
  async (request, reply) => {
    const { conversations } = deps;
    const found = await findConversation(deps, request);
    if (found === undefined) {
      const isCounted = request.operation === "count" && deps.options().usage === "used";
      const count = () => recognise(deps, request, (input) => conversations.count(input));
      if (!isCounted || !(await passCounted(deps, { request, reply, count }))) await passCharged(deps, request, reply);
      return;
    }
    request.onConversation?.(found.active.id);
    try {
      const model = found.body.field("model");
      if (await refuseUnpriced(deps, { request, reply, model: typeof model === "string" ? model : undefined })) return;
      const observed = observeReply(deps, { request, reply, found });
      await run(new RunningExchange(deps, { request, reply: observed, found }));
    } finally {
      conversations.leave(found);
    }
  };

async function run(exchange: RunningExchange): Promise<void> {
  const { deps, request, reply, found } = exchange;
  let prepared: PreparedBody;
  try {
    prepared = await prepare(exchange);
  } catch (error) {
    if (request.signal.aborted) return;
    exchange.reportFailure("prepare", error);
    await passCharged(deps, request, reply);
    return;
  }
  deps.conversations.countRequest(found.active, prepared);
  const gatewayTools = new Set<string>(prepared.gatewayTools.map(({ definition }) => definition.name));
  const sent = await sendPrepared(exchange, prepared);
  if (sent.outcome.kind === "reply" && isRefused(sent.outcome)) void deps.conversations.discard(found);
  await relayReply(exchange, { sent, gatewayTools });
}

function prepare(exchange: RunningExchange): Promise<PreparedBody> {
  const { deps, request, found } = exchange;
  const { body, previous, persisted, active } = found;
  const { files } = request;
  const askModel = modelSummarizer(deps, request);
  return exchange.inTime(async (signal) => {
    await persisted;
    return await active.conversation.prepare({ body, previous, askModel, files, signal });
  });
}

/** Enters the conversation at once, so that nobody closes or deletes it. Undefined: the request is to be passed on as it is. */
async function findConversation(
  deps: RunningExchangeDeps,
  request: ClientRequest,
): Promise<MatchedRequest | undefined> {
  if (request.operation !== "create") return undefined;
  const { conversations } = deps;
  const enter = (found: MatchedRequest | undefined): MatchedRequest | undefined => {
    if (found !== undefined) conversations.enter(found);
    return found;
  };
  const found = recognise(deps, request, (input) => conversations.findUnlessTaken(input));
  if (found !== "taken") return enter(found);
  // If a client gives up and tries again at once, its new request may come before the end of its connection.
  await wait(closeMsMax);
  await setImmediate();
  if (request.signal.aborted) return undefined;
  return enter(recognise(deps, request, (input) => conversations.find(input)));
}

function recognise<Found>(
  { onEvent, options }: RunningExchangeDeps,
  { user, project, provider, headers, body: bytes, signal }: ClientRequest,
  find: (input: FindInput) => Found,
): Found | undefined {
  try {
    return find({ user, project, provider, headers, bytes, signal, summarizer: options().summarizer });
  } catch (error) {
    onEvent({ kind: "failed-open", user, step: "recognise", message: describeError(error) });
    return undefined;
  }
}
