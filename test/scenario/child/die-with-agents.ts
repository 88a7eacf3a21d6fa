import { readdir } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { openAgent } from "../../../packages/cli/src/agent/open-agent.ts";
import type { AgentRequest } from "../../../packages/palimpsest/src/schema/agent-run.ts";

/** Starts the agents that are named as JSON, says which session it is, and dies once so many of their commands run. */
const [requests = "[]", folder = "", commands = "0"] = process.argv.slice(2);

const agent = await openAgent({
  env: process.env,
  cwd: process.cwd(),
  version: "0.0.0",
  flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
  session: { kind: "new" },
  model: { kind: "provider" },
  tools: { mode: "bypass", allow: [], deny: [] },
});
if (agent.kind !== "agent") throw new Error(JSON.stringify(agent));
for await (const _ of agent.turn("Begin", new AbortController().signal));
for (const request of JSON.parse(requests) as readonly AgentRequest[]) {
  const started = await agent.agents?.start(request);
  if (started?.kind !== "started") throw new Error(JSON.stringify(started));
}
while ((await readdir(folder)).length < Number(commands)) await wait(10);
// A command is on record a moment after it began.
await wait(500);
process.stdout.write(`${agent.session.id}\n`, () => process.kill(process.pid, "SIGKILL"));
