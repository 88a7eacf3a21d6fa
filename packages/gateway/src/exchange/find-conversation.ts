import type { Conversations, FoundRequest } from "../conversation/conversations.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import { describeError } from "./describe-error.ts";
import type { ClientRequest } from "./exchange.ts";

interface FindDeps {
  readonly conversations: Conversations;
  readonly onEvent: GatewayListener;
  readonly options: () => { readonly summarizer: "none" | "own"; readonly usage: "used" | "sent" };
}

/** Undefined if the request is to be passed on as it is. */
export function findConversation(deps: FindDeps, request: ClientRequest): FoundRequest | undefined {
  const { user, project, provider, headers, body, operation } = request;
  if (operation === "compact" || (operation === "count" && deps.options().usage === "sent")) return undefined;
  try {
    const found = deps.conversations.find({
      user,
      project,
      provider,
      headers,
      bytes: body,
      unknown: operation === "create" ? "begin" : "ignore",
      summarizer: deps.options().summarizer,
    });
    // What is counted while a reply comes must not take the conversation from it.
    return operation === "count" && found !== undefined && found.open.running > 0 ? undefined : found;
  } catch (error) {
    deps.onEvent({ kind: "failed-open", user, step: "recognise", message: describeError(error) });
    return undefined;
  }
}
