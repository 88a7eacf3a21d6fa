import { setImmediate, setTimeout as wait } from "node:timers/promises";
import type { Conversations, FindInput, MatchedRequest } from "../conversation/conversations.ts";
import type { WrittenBody } from "../conversation/request-writer.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import { describeError } from "./describe-error.ts";
import type { ClientRequest } from "./exchange.ts";
import { closeMsMax } from "./limits.ts";

export interface FindDeps {
  readonly conversations: Conversations;
  readonly onEvent: GatewayListener;
  readonly options: () => { readonly summarizer: "none" | "own"; readonly usage: "used" | "sent" };
}

/** Undefined if the request is to be passed on as it is. */
export async function findConversation(deps: FindDeps, request: ClientRequest): Promise<MatchedRequest | undefined> {
  if (request.operation !== "create") return undefined;
  const found = recognise(deps, request, (input) => deps.conversations.findUnlessTaken(input));
  if (found !== "taken") return found;
  // A client that gives up and tries again at once: its new request may come before the end of its connection.
  await wait(closeMsMax);
  await setImmediate();
  return recognise(deps, request, (input) => deps.conversations.find(input));
}

/** The request of a count as it would be sent. Undefined if it is to be passed on as it is. */
export function findCounted(deps: FindDeps, request: ClientRequest): WrittenBody | undefined {
  if (request.operation !== "count" || deps.options().usage === "sent") return undefined;
  return recognise(deps, request, (input) => deps.conversations.count(input));
}

function recognise<Found>(
  { onEvent, options }: FindDeps,
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
