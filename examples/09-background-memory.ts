import Anthropic from "@anthropic-ai/sdk";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStore, openContext } from "palimpsest";
import { simulatedWithMemories } from "./simulated.ts";

const client = new Anthropic(simulatedWithMemories);
const context = await openContext({
  model: "claude-sonnet-5-5",
  // By default the project's folder; here one that is thrown away.
  store: fileStore({ folder: await mkdtemp(join(tmpdir(), "memories-")) }),
  // Two tools of your own, and none of ours: the forks share your prefix, and answer with one text.
  tools: [
    { name: "search_orders", description: "Finds orders.", input_schema: { type: "object" } },
    { name: "refund", description: "Pays an order back.", input_schema: { type: "object" } },
  ],
  // The conversation's own model answers the forks, and reads the conversation from its cache.
  summarizer: ({ params, signal }) => client.messages.create(params, { signal }),
  background: { extraction: "on" },
  onEvent: (event) => {
    if (event.kind === "memories-saved")
      console.log(`saved: ${event.memories.map(({ name }) => name).join(", ")} (${event.revision})`);
  },
});

for (const said of ["Find the order of Ms Weber.", "Never refund more than 100 euros without asking me."]) {
  await context.user(said);
  for (;;) {
    const calls = await context.assistant(await client.messages.create((await context.next()).params));
    if (calls.length === 0) break;
    for (const call of calls) await context.toolResult(call.id, "order 17: a lamp");
  }
}
// Waits for what runs in the background, at most 10 seconds.
await context.close();
console.log((await context.memory?.index())?.text);
