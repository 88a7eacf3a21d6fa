import type { Message, TextBlock } from "../../schema/block.ts";
import { dropOldest } from "./ladder.ts";
import { shortened } from "./shortened.ts";

export interface PlainRequestInput {
  /** As `plainInput` leaves them. */
  readonly messages: readonly Message[];
  /** What is asked of the model: the last block, never cut. */
  readonly prompt: string;
  readonly tokensMax: number;
  readonly count: (message: Message) => number;
}

export type PlainRequest =
  | {
      readonly kind: "fits";
      readonly messages: readonly Message[];
      readonly droppedGroups: number;
      /** `shortened`: not even one group fitted, and it is cut. */
      readonly text: "whole" | "shortened";
    }
  /** There is no room for a word beside what is asked. */
  | { readonly kind: "no-room" };

/**
 * The request of the plain call, within the summariser's window: without its oldest groups where it is too long, and with
 * the last group cut where that alone is.
 */
export function plainRequest({ messages, prompt, tokensMax, count }: PlainRequestInput): PlainRequest {
  const asks: TextBlock = { type: "text", text: prompt };
  let request = withPrompt(beginningWithUser(messages), asks);
  let droppedGroups = 0;
  for (;;) {
    const over = totalOf(request, count) - tokensMax;
    if (over <= 0) return { kind: "fits", messages: request, droppedGroups, text: "whole" };
    const dropped = dropOldest({ messages: request, overTokens: over, count });
    if (dropped.kind === "nothing-left") break;
    request = dropped.messages;
    droppedGroups += dropped.groups;
  }
  const cut = shortened({ messages: withoutPrompt(request), prompt: asks, tokensMax, count });
  return cut === undefined ? { kind: "no-room" } : { kind: "fits", messages: [cut], droppedGroups, text: "shortened" };
}

export const totalOf = (messages: readonly Message[], count: (message: Message) => number): number =>
  messages.reduce((sum, message) => sum + count(message), 0);

/** A part of a conversation may begin with a reply, and a request must not. */
const goesOn: Message = { role: "user", content: [{ type: "text", text: "[The conversation goes on here.]" }] };

const beginningWithUser = (messages: readonly Message[]): readonly Message[] =>
  messages[0]?.role === "assistant" ? [goesOn, ...messages] : messages;

function withPrompt(messages: readonly Message[], asks: TextBlock): readonly Message[] {
  const last = messages.at(-1);
  return last?.role === "user"
    ? [...messages.slice(0, -1), { ...last, content: [...last.content, asks] }]
    : [...messages, { role: "user", content: [asks] }];
}

const withoutPrompt = (request: readonly Message[]): readonly Message[] =>
  request.map((message, at) =>
    at === request.length - 1 ? { ...message, content: message.content.slice(0, -1) } : message,
  );
