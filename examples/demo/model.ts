import { extractResponder, type MoveBlock, type Responder } from "@palimpsest/simulator";

/** What the model does in one round. `seen`: every text of the request, which is all that it knows. */
export type Step = (seen: string) => readonly MoveBlock[];

/** A model that follows a script. The simulator around it counts tokens, caches and charges as a provider does. */
export interface ScriptedModel {
  readonly responder: Responder;
  play(script: readonly Step[]): void;
  /** Refuses the next request as too long, like a provider whose window is smaller than advertised. */
  refuseNext(): void;
}

export function createScriptedModel(): ScriptedModel {
  let steps: readonly Step[] = [];
  let refusals = 0;
  return {
    play: (script) => void (steps = script),
    refuseNext: () => void (refusals += 1),
    responder: {
      name: "demo",
      respond: (input) => {
        const { messages } = input.request;
        // Only a request for a summary has this tag in its last message.
        if (textsIn(messages.at(-1)).join().includes("<summary>")) return extractResponder.respond(input);
        if (refusals > 0) {
          refusals -= 1;
          const refusal = { status: 400, type: "invalid_request_error", message: "prompt is too long" } as const;
          return { move: { kind: "refuse", refusal: { kind: "refused", ...refusal } } };
        }
        const [step, ...rest] = steps;
        if (step === undefined) throw new Error("the script has no further step");
        const blocks = step(textsIn(messages).join("\n"));
        // A step is spent when its reply has arrived: a retry gets the same reply.
        return { move: { kind: "say", blocks }, delivered: () => void (steps = rest) };
      },
    },
  };
}

/** The texts of messages, blocks and results, however they are nested. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return [...("text" in value ? textsIn(value.text) : []), ...("content" in value ? textsIn(value.content) : [])];
}
