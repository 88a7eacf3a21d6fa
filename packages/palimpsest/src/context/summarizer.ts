import type { IdsDep, ClockDep } from "../ports/clock-dep.ts";
import type { ModelEvent, ModelPort } from "../ports/model-port.ts";
import { abortedFailure, brokenStream } from "../model/failure.ts";
import { raceAbort } from "../schema/race-abort.ts";
import { type Params, toProviderParams, type Provider, classifyRefusal, replyEvents } from "./provider-formats.ts";

/**
 * Sends one request and returns the reply: `({ params, signal }) => client.messages.create(params, { signal })`. Whether it is in
 * the provider's format is checked; any other object counts as a broken reply.
 */
export type AskModel<P extends Provider> = (request: SummaryRequest<P>) => Promise<object>;

export interface SummaryRequest<P extends Provider> {
  readonly params: Params<P>;
  readonly signal: AbortSignal;
}

/** Writes summaries: with the conversation's own model, which reads the conversation from its cache, or with another one. */
export type Summarizer<P extends Provider> = AskModel<P> | { readonly model: string; readonly ask: AskModel<P> };

/** Wraps the caller's function as a model. */
export function createCallerModel<P extends Provider>(
  deps: IdsDep & ClockDep,
  { provider, ask }: { readonly provider: P; readonly ask: AskModel<P> },
): ModelPort {
  return {
    provider,
    describe: () => Promise.resolve(undefined),
    send: async function* (request, signal): AsyncGenerator<ModelEvent> {
      try {
        const pending = ask({ params: toProviderParams(provider, request), signal });
        const reply = await raceAbort(pending, { signal, instead: () => undefined });
        const events = reply === undefined ? abortedEvents : replyEvents(provider, reply, deps);
        yield* events ?? noReplyEvents;
      } catch (error) {
        yield { kind: "failure", failure: signal.aborted ? abortedFailure : classifyRefusal(provider, deps, error) };
      }
    },
  };
}

const abortedEvents: readonly ModelEvent[] = [{ kind: "failure", failure: abortedFailure }];
const noReplyEvents: readonly ModelEvent[] = [
  { kind: "failure", failure: brokenStream("The summarizer returned no reply in the provider's format.") },
];

/** Stands in for a missing summarizer: summaries are made without a model. */
export const noModel: ModelPort = {
  provider: "none",
  describe: () => Promise.resolve(undefined),
  send: async function* (): AsyncGenerator<ModelEvent> {
    yield { kind: "failure", failure: { why: "refused", retry: "never", message: "There is no summarizer." } };
  },
};
