import type { MessagesRequest } from "../../schema/wire/request.ts";
import type { Actor, Move } from "./actor.ts";
import { lastUserText } from "./request-text.ts";

/** Who answers where nobody else is asked for: quotes the beginning of what the user said last. */
export const echoActor: Actor = {
  name: "echo",
  play: ({ request }) => ({ move: echoMove(request) }),
};

const quotedWordsMax = 12;

export function echoMove(request: MessagesRequest): Move {
  const words = lastUserText(request).split(/\s+/).filter(Boolean);
  const quoted = words.slice(0, quotedWordsMax).join(" ");
  const text =
    quoted === ""
      ? "There are no words to answer here."
      : `You wrote: “${quoted}${words.length > quotedWordsMax ? " …" : ""}”`;
  return { kind: "say", blocks: [{ type: "text", text }] };
}
