import Anthropic from "@anthropic-ai/sdk";
import { openContext } from "palimpsest";
import { mapStore } from "./map-store.ts";
import { run, simulated } from "./simulated.ts";

/** A conversation in your own store: it is closed, then resumed from the map. */
const client = new Anthropic(simulated);
const kept = new Map<string, Uint8Array>();
const options = {
  model: "claude-sonnet-5-5",
  session: "s1",
  tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }],
};

for (const task of ["Fix the failing test", "And the next one"]) {
  const context = await openContext({ ...options, store: mapStore(kept) });
  await context.user(task);
  for (;;) {
    const reply = await client.messages.create((await context.next()).params);
    const calls = await context.assistant(reply);
    if (calls.length === 0) break;
    for (const call of calls) await context.toolResult(call.id, await run(call));
  }
  console.log(`${context.costs().session.requests} requests so far, ${kept.size} keys`);
  await context.close();
}
