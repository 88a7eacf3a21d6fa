/** Talks through a context whose session lies in the folder that is given, and says after each call that it was accepted. */
import { writeSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { openContext } from "../../../packages/palimpsest/src/open/open-context.ts";
import { simulatorFetch } from "../../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";
import { fileStore } from "../../../packages/palimpsest/src/store/files/store.ts";

const [folder = ""] = process.argv.slice(2);
const accepted = (what: string): void => void writeSync(1, `${what}\n`);
const tools = [{ name: "read", input_schema: { type: "object" as const } }];

const simulator = new Simulator({
  responder: {
    name: "reader",
    respond: ({ request }) => {
      const last = request.messages.at(-1)?.content;
      const isAnswered = typeof last !== "string" && last?.some(({ type }) => type === "tool_result") === true;
      return isAnswered
        ? { move: { kind: "say", blocks: [{ type: "text", text: `Done. ${"It is so. ".repeat(2_000)}` }] } }
        : {
            move: {
              kind: "say",
              blocks: [
                { type: "text", text: "I look." },
                { type: "tool_use", name: "read", input: {} },
              ],
            },
          };
    },
  },
});
const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(simulator) });
const context = await openContext({ model: "claude-sonnet-5-5", tools, session: "work", store: fileStore({ folder }) });
for (const said of ["said-1", "said-2"]) {
  await context.user(said);
  accepted(said);
  const stream = await client.messages.create({ ...(await context.next()).params, stream: true });
  const [call] = await context.assistantStream(stream);
  if (call === undefined) throw new Error("no call");
  accepted(call.id);
  // Large enough to be offloaded in the second turn.
  await context.toolResult(call.id, `result of ${said} ${"x".repeat(said === "said-2" ? 60_000 : 100)}`);
  accepted(`result of ${said}`);
  await context.assistant(await client.messages.create((await context.next()).params));
  accepted("Done.");
}
await context.reminder("noted");
accepted("noted");
await context.setTools([...tools, { name: "write", input_schema: { type: "object" } }]);
accepted("# tools");
accepted(`# ${(await context.compact()).kind}`);
accepted(`# ${(await context.undo()).kind}`);
await context.close();
accepted("# closed");
