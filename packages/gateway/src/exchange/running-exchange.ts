import type { Conversations, MatchedRequest } from "../conversation/conversations.ts";
import { GatewayFailure } from "../conversation/gateway-failure.ts";
import type { ChargedPassDeps } from "./charged-pass.ts";
import { describeError } from "./describe-error.ts";
import { ExchangeMeter } from "./exchange-meter.ts";
import type { ClientReply, ClientRequest, ExchangeOptions } from "./exchange.ts";

export interface RunningExchangeDeps extends ChargedPassDeps {
  readonly conversations: Conversations;
  readonly options: () => ExchangeOptions;
  /** Is called if a reply of the Responses API was made of several, with its id and the id of the last one. */
  readonly onJoined: (user: string, ids: { readonly first: string; readonly last: string }) => void;
}

interface MatchedExchange {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  readonly found: MatchedRequest;
}

/** A request of a known conversation while it is answered: what its steps (prepare, send, relay) share. */
export class RunningExchange {
  readonly deps: RunningExchangeDeps;
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  readonly found: MatchedRequest;
  readonly meter: ExchangeMeter;

  constructor(deps: RunningExchangeDeps, { request, reply, found }: MatchedExchange) {
    this.deps = deps;
    this.request = request;
    this.reply = reply;
    this.found = found;
    this.meter = new ExchangeMeter({
      provider: request.provider,
      active: found.active,
      bytes: request.body.byteLength,
      user: request.user,
      prices: deps.prices(),
      now: Date.now,
      onEvent: deps.onEvent,
    });
  }

  /** Limits the gateway's own work that the client waits for. `signal` is also aborted when the client has gone. */
  async inTime<Result>(call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal: clientGone } = this.request;
    // Not `AbortSignal.any`: each request would make two more signals.
    const until = new AbortController();
    const stop = (): void => until.abort();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new GatewayFailure("it took too long"));
      stop();
    }, this.found.active.conversation.turnMsMax);
    timer.unref();
    if (clientGone.aborted) stop();
    clientGone.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([call(until.signal), late.promise]);
    } finally {
      clearTimeout(timer);
      clientGone.removeEventListener("abort", stop);
    }
  }

  reportFailure(step: string, error: unknown): void {
    this.deps.onEvent({ kind: "failed-open", user: this.request.user, step, message: describeError(error) });
  }
}
