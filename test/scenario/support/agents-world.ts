import type { JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import type { MessagesRequest } from "../../../packages/palimpsest/src/schema/wire/messages-request.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import type { SeenRequest } from "./whole-agent.ts";

/** The text of all user blocks behind the newest reply, tool results included. */
export function newestInput({ messages }: MessagesRequest): string {
  const from = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  return messages
    .slice(from)
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
    .join("\n");
}

type Play = (input: string, request: MessagesRequest) => readonly MoveBlock[] | undefined;

/** Asks each play in turn what to answer to the newest input. If none knows, it says "done". */
export const answering = (...plays: readonly Play[]): Responder => ({
  name: "answering",
  respond: ({ request }) => {
    const input = newestInput(request);
    for (const play of plays) {
      const blocks = play(input, request);
      if (blocks !== undefined) return { move: { kind: "say", blocks } };
    }
    return { move: { kind: "say", blocks: [{ type: "text", text: "done" }] } };
  },
});

export const when =
  (word: string, ...blocks: readonly MoveBlock[]): Play =>
  (input) =>
    input.includes(word) ? blocks : undefined;

export const callAgent = (input: JsonObject): MoveBlock => ({ type: "tool_use", name: "agent", input });
export const say = (text: string): MoveBlock => ({ type: "text", text });
export const call = (name: string, input: JsonObject): MoveBlock => ({ type: "tool_use", name, input });

/** Requests whose newest input has this word. */
export const requestsWith = (seen: readonly SeenRequest[], word: string): readonly SeenRequest[] =>
  seen.filter(({ body }) => newestInput(body as unknown as MessagesRequest).includes(word));
