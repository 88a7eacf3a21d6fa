import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { AskModel } from "palimpsest/internal/context/summarizer";
import { isObject, tryParseJson } from "palimpsest/internal/schema/json";
import { forwardHeaders } from "../upstream/headers.ts";
import { estimateTokens, ReplyUsage } from "../reply/reply-usage.ts";
import { type ChargedPassDeps, replyCost } from "./charged-pass.ts";
import type { ClientRequest } from "./exchange.ts";
import { bufferReply } from "./buffered-reply.ts";
import { wholeReplyBytesMax } from "./limits.ts";

/**
 * Asks the same upstream, with the credentials of the request that made the summary necessary, even if that one only counts
 * tokens. Charges its user.
 */
export const modelSummarizer =
  (
    { upstream, onEvent, prices }: ChargedPassDeps,
    { provider, method, path, headers, user }: ClientRequest,
  ): AskModel<Provider> =>
  async ({ params, signal }) => {
    const body = Buffer.from(JSON.stringify(params));
    const outcome = await upstream.send({
      provider,
      method,
      path: path.replace(countPath, ""),
      headers: forwardHeaders(headers),
      body: [body],
      signal,
    });
    if (outcome.kind === "failed") throw new Error(outcome.message);
    const { bytes } = await bufferReply(outcome, wholeReplyBytesMax);
    const reply = bytes === undefined ? undefined : tryParseJson(bytes.toString("utf8"));
    if (outcome.status >= 300 || !isObject(reply))
      throw Object.assign(new Error(`The upstream answered with ${outcome.status}.`), {
        status: outcome.status,
        error: reply,
      });
    const usage = new ReplyUsage(provider);
    usage.take(reply);
    const inputTokens = estimateTokens(body.byteLength);
    onEvent(replyCost(user, usage.charge({ model: params.model, inputTokens, prices: prices() })));
    return reply;
  };

const countPath = /\/count_tokens(?=\?|$)/;
