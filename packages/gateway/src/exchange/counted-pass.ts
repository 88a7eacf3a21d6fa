import { type Addition, findNamed } from "../conversation/request/refused-additions.ts";
import type { CountRequest } from "../conversation/request/request-writer.ts";
import { addBetas, forwardHeaders } from "../upstream/headers.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { bufferReply, isGood } from "./buffered-reply.ts";
import { failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest } from "./exchange.ts";
import { errorBytesMax } from "./limits.ts";
import { passReply, passThrough } from "./pass-through.ts";
import { refusalStatuses } from "./send-prepared.ts";

interface CountedPass {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  /** The request to send, without what was left out so far. Undefined if the list is not known. */
  readonly count: () => CountRequest | undefined;
}

/**
 * Counts the tokens of what would be sent. What the upstream refuses of it is left out of later counts, so that they cost one
 * request each. Returns false if the client was not answered: then the original request is to be counted.
 *
 * An error that names an addition may mean what the client wrote. Only if the count without it is accepted, it stays left out.
 */
export async function passCounted(
  { upstream }: { readonly upstream: Upstream },
  { request, reply, count }: CountedPass,
): Promise<boolean> {
  const leftOut = new Set<Addition>();
  const sent = await sendCounted(upstream, { request, count, leftOut });
  if (sent === undefined) return false;
  const { counted, outcome } = sent;
  const isAccepted = outcome.kind === "reply" && isGood(outcome);
  if (!isAccepted) for (const addition of leftOut) counted.addAgain(addition);
  if (outcome.kind === "failed") await sendError(reply, failureReply(request.provider, outcome));
  else if (sent.next === "pass") await passReply(outcome, reply);
  else if (await passOriginal(upstream, { request, reply }))
    for (const addition of counted.untouched ? [...leftOut, ...counted.additions] : [])
      counted.leaveOut({ addition, sign: "guessed" });
  return true;
}

interface SentCount {
  readonly counted: CountRequest;
  readonly outcome: UpstreamReply | UpstreamFailure;
  /** `count-original`: if that is taken, the upstream does not take one of the additions or edits. */
  readonly next: "pass" | "count-original";
}

/** `leftOut` gets the additions that errors named. None is left out twice, so this ends. */
async function sendCounted(
  upstream: Upstream,
  { request, count, leftOut }: Omit<CountedPass, "reply"> & { readonly leftOut: Set<Addition> },
): Promise<SentCount | undefined> {
  const { provider, method, path, signal } = request;
  let sent: SentCount | undefined;
  for (let counted = count(); counted !== undefined; counted = count()) {
    const headers = addBetas(forwardHeaders(request.headers), counted.betas);
    const outcome = await upstream.send({ provider, method, path, headers, body: counted.bytes, signal });
    if (outcome.kind === "failed" || !refusalStatuses.has(outcome.status)) return { counted, outcome, next: "pass" };
    const { bytes, reply } = await bufferReply(outcome, errorBytesMax);
    const isOriginal = counted.changes.length === 0 && counted.betas.length === 0;
    if (bytes === undefined || isOriginal) return { counted, outcome: reply, next: "pass" };
    sent = { counted, outcome: reply, next: "count-original" };
    const additions = counted.additions.filter((one) => !leftOut.has(one));
    const named = findNamed(bytes.toString("utf8"), additions);
    if (named === undefined) return sent;
    leftOut.add(named);
    counted.leaveOut({ addition: named, sign: "named" });
  }
  return sent;
}

/** Returns whether the original request is taken. */
async function passOriginal(upstream: Upstream, { request, reply }: Omit<CountedPass, "count">): Promise<boolean> {
  const passed = await passThrough(upstream, { request: { ...request, body: [request.body] }, reply });
  return passed.kind === "passed" && isGood(passed);
}
