import { addBetas, forwardHeaders } from "../upstream/headers.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { ClientReply, ClientRequest } from "./exchange.ts";
import { type FindDeps, findCounted } from "./find-conversation.ts";
import { bufferReply, isGood } from "./buffered-reply.ts";
import { errorBytesMax } from "./limits.ts";

/**
 * Counts the tokens of what would be sent. Whether the client was answered: if the request is none of a known list, or the
 * upstream does not take it, the client's own list is to be counted.
 */
export async function passCounted(
  deps: FindDeps & { readonly upstream: Upstream },
  request: ClientRequest,
  reply: ClientReply,
): Promise<boolean> {
  const counted = findCounted(deps, request);
  if (counted === undefined) return false;
  const { provider, method, path, signal } = request;
  const headers = addBetas(forwardHeaders(request.headers), counted.betas);
  const outcome = await deps.upstream.send({ provider, method, path, headers, body: counted.bytes, signal });
  if (outcome.kind === "failed" || !isGood(outcome)) return false;
  const { bytes } = await bufferReply(outcome, errorBytesMax);
  if (bytes === undefined) return false;
  reply.head(outcome.status, outcome.headers);
  await reply.write(bytes);
  await reply.end();
  return true;
}
