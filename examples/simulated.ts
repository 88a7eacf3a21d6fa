import type { ToolCall } from "../src/index.ts";
import { type Actor, Simulator, simulatorFetch } from "../src/simulator/index.ts";

/** Looks at nine files a task, and then says that it is done. */
const reader: Actor = {
  name: "reader",
  play: ({ request }) => {
    const rounds = request.messages.length;
    if (rounds % 10 === 9) return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
    return { move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: { path: `src/${rounds}.ts` } }] } };
  },
};

/** For a client of the official SDK: it asks a model in this process, which costs nothing. */
export const simulated = { apiKey: "none", maxRetries: 0, fetch: simulatorFetch(new Simulator({ actor: reader })) };

/** Your tools. */
export const run = (call: ToolCall): Promise<string> =>
  Promise.resolve(`what ${call.name} gives for ${JSON.stringify(call.input)}`);
