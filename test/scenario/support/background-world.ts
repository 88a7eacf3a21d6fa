import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { says } from "./simulated.ts";
import type { SeenRequest } from "./whole-agent.ts";

/** What a fork that keeps memories answers, by the number of its requests so far. */
export type ForkAnswer = (round: number, directive: string) => readonly MoveBlock[] | Promise<readonly MoveBlock[]>;

interface BackgroundAnswers {
  readonly reply?: readonly MoveBlock[];
  readonly extraction?: ForkAnswer;
  readonly dream?: ForkAnswer;
}

const markByWork = {
  extraction: "Look through the conversation above",
  dream: "You tidy up the memory directory",
} as const;
type Work = keyof typeof markByWork;

/** The directive of a request by work in the background; undefined if the conversation asks. */
function findDirective(messages: readonly Message[]): { readonly work: Work; readonly text: string } | undefined {
  const texts = messages.flatMap(({ role, content }) =>
    role === "user" ? content.flatMap((block) => (block.type === "text" ? [block.text] : [])) : [],
  );
  for (const work of ["extraction", "dream"] as const) {
    const text = texts.find((one) => one.includes(markByWork[work]));
    if (text !== undefined) return { work, text };
  }
  return undefined;
}

const messagesIn = (body: unknown): readonly Message[] =>
  (
    body as { readonly messages: readonly (Omit<Message, "content"> & { content: Message["content"] | string })[] }
  ).messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));

/** Which of the requests were those of work in the background. */
export const forksIn = (seen: readonly SeenRequest[], work: Work = "extraction"): readonly SeenRequest[] =>
  seen.filter(({ body }) => findDirective(messagesIn(body))?.work === work);

/** A model that answers the user shortly, and work in the background as the test says; by default it saves nothing. */
export function backgroundResponder({ reply = says("Done."), extraction, dream }: BackgroundAnswers): Responder {
  const answers = { extraction, dream };
  return {
    name: "background",
    respond: async ({ request }) => {
      const messages = messagesIn(request);
      const directive = findDirective(messages);
      if (directive === undefined) return { move: { kind: "say", blocks: reply } };
      const at = messages.findIndex((message) => findDirective([message]) !== undefined);
      const round = messages.slice(at).filter(({ role }) => role === "assistant").length;
      const blocks = (await answers[directive.work]?.(round, directive.text)) ?? says("Nothing to save.");
      return { move: { kind: "say", blocks } };
    },
  };
}
