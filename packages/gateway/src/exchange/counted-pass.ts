import type { CountRequest } from "../conversation/conversations.ts";
import { type Addition, findNamed } from "../conversation/request/refused-additions.ts";
import { addBetas, forwardHeaders } from "../upstream/headers.ts";
import type { Upstream, UpstreamReply } from "../upstream/upstream.ts";
import { bufferReply, isGood } from "./buffered-reply.ts";
import { failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest } from "./exchange.ts";
import { errorBytesMax } from "./limits.ts";
import { passReply, passThrough } from "./pass-through.ts";
import { refusals } from "./send-prepared.ts";

interface CountedPass {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  /** The request to send, without what was left out so far. Undefined if the list is not known. */
  readonly count: () => CountRequest | undefined;
}

/**
 * Counts the tokens of what would be sent. What the upstream refuses of it is left out of later counts, so that they cost one
 * request each. Returns false if the client was not answered: then the original request is to be counted.
 */
export async function passCounted(
  { upstream }: { readonly upstream: Upstream },
  { request, reply, count }: CountedPass,
): Promise<boolean> {
  const { provider, method, path, signal } = request;
  const leftOut = new Set<Addition>();
  // None is left out twice, so this ends.
  for (let counted = count(); counted !== undefined; counted = count()) {
    const headers = addBetas(forwardHeaders(request.headers), counted.betas);
    const outcome = await upstream.send({ provider, method, path, headers, body: counted.bytes, signal });
    if (outcome.kind === "failed") {
      await sendError(reply, failureReply(provider, outcome));
      return true;
    }
    const refused = refusals.has(outcome.status) ? await bufferReply(outcome, errorBytesMax) : undefined;
    const additions = counted.additions.filter((one) => !leftOut.has(one));
    const named = findNamed(refused?.bytes?.toString("utf8") ?? "", additions);
    if (named === undefined) {
      if (refused === undefined) await passReply(outcome, reply);
      else await replaceRefused(upstream, { request, reply, counted, leftOut, refused: refused.reply });
      return true;
    }
    leftOut.add(named);
    counted.leaveOut({ addition: named, sign: "named" });
  }
  return false;
}

/**
 * Counts the original request. If it is taken, the upstream does not take one of the additions: all of them are left out of
 * later counts, which are a few hundred tokens smaller for it.
 */
async function replaceRefused(
  upstream: Upstream,
  {
    request,
    reply,
    counted,
    leftOut,
    refused,
  }: Omit<CountedPass, "count"> & {
    readonly counted: CountRequest;
    readonly leftOut: ReadonlySet<Addition>;
    readonly refused: UpstreamReply;
  },
): Promise<void> {
  for (const addition of leftOut) counted.addAgain(addition);
  const isOriginal = counted.changes.length === 0 && counted.betas.length === 0;
  const passed = isOriginal
    ? await passReply(refused, reply)
    : await passThrough(upstream, { request: { ...request, body: [request.body] }, reply });
  if (passed.kind === "broken" || !isGood(passed)) return;
  for (const addition of [...leftOut, ...counted.additions]) counted.leaveOut({ addition, sign: "guessed" });
}
