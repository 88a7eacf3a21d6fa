import type { IncomingHttpHeaders } from "node:http";
import type { StoredHistories, HistoryOutcome } from "../conversation/history/stored-histories.ts";
import type { ReadReply } from "../reply/reply-reader.ts";
import { readBetas } from "../upstream/headers.ts";
import { type ChargedPassDeps, passCharged } from "./charged-pass.ts";
import { describeError } from "./describe-error.ts";
import { sendError } from "./error-reply.ts";
import type { ClientRequest, Exchange } from "./exchange.ts";
import { ObservedReply } from "./observed-reply.ts";

export interface HistoryExchangeDeps extends ChargedPassDeps {
  readonly histories: StoredHistories;
  readonly threads: () => "keep" | "refuse";
}

/**
 * Expands requests that contain only new messages to the full list, sends them through `exchange`, and stores the reply so
 * that the client can continue from it. If only the upstream has the history, the request passes unchanged: it can't be reduced.
 */
export const historyExchange =
  (deps: HistoryExchangeDeps, exchange: Exchange): Exchange =>
  async (request, reply) => {
    const history = await findHistory(deps, request);
    switch (history.kind) {
      case "whole":
        await exchange(request, reply);
        return;
      case "stored": {
        const headers = withoutThreadBeta(request.headers);
        const provider = request.provider === "anthropic" ? "anthropic" : "openai-responses";
        let session: string | undefined;
        const settle = (read: ReadReply): Promise<void> => history.settle(read, session);
        const onConversation = (id: string): void => void (session = id);
        const observed = new ObservedReply(reply, { provider, settle });
        await exchange({ ...request, headers, body: history.bytes, onConversation }, observed);
        return;
      }
      case "elsewhere":
        await passCharged(deps, { ...request, body: history.bytes }, reply);
        return;
      case "not-found":
        await sendError(reply, {
          provider: "anthropic",
          error: "not-found",
          message: `thread: no thread goes on from '${history.id}'; send the whole conversation with \`thread: {"type": "create"}\``,
          details: { error_code: "thread_not_found" },
        });
        return;
      case "unsupported":
        await sendError(reply, {
          provider: "anthropic",
          error: "wrong-request",
          message: "thread: the gateway is set to refuse threads; send the whole conversation without one",
          // Of the names that the API has, this one is closest to what a gateway does.
          details: { error_code: "thread_unsupported_request", unsupported: ["context_management"] },
        });
    }
  };

/** An unknown id may be older than a restart. */
async function findHistory(deps: HistoryExchangeDeps, request: ClientRequest): Promise<ReturnType<typeof openHistory>> {
  const history = openHistory(deps, request);
  if (history.kind !== "not-found" && history.kind !== "elsewhere") return history;
  await deps.histories.restore(request.user);
  return openHistory(deps, request);
}

function openHistory(
  { histories, threads, onEvent }: HistoryExchangeDeps,
  { provider, operation, user, headers, body: bytes }: ClientRequest,
): HistoryOutcome | { readonly kind: "unsupported" } {
  try {
    if (provider === "anthropic") {
      // Without the beta the API knows no threads, so most bodies need not be read.
      const history = hasThreadBeta(headers) ? histories.openThread({ user, bytes }) : whole;
      return history.kind !== "whole" && threads() === "refuse" ? { kind: "unsupported" } : history;
    }
    if (provider !== "openai-responses") return whole;
    return operation === "create"
      ? histories.openResponse({ user, bytes })
      : { kind: "elsewhere", bytes: histories.nameResponse({ user, bytes }) };
  } catch (error) {
    onEvent({ kind: "failed-open", user, step: "history", message: describeError(error) });
    return { kind: "elsewhere", bytes };
  }
}

const whole = { kind: "whole" } as const;

/** The beta's name without its date. */
const threadBeta = "message-threads-";

const hasThreadBeta = (headers: IncomingHttpHeaders): boolean =>
  readBetas(headers).some((beta) => beta.startsWith(threadBeta));

/** The upstream gets whole lists, so it must not expect threads. */
function withoutThreadBeta(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { "anthropic-beta": _betas, ...others } = headers;
  const betas = readBetas(headers).filter((beta) => !beta.startsWith(threadBeta));
  return betas.length === 0 ? others : { ...others, "anthropic-beta": betas.join(",") };
}
