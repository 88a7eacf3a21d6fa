import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Simulator } from "../../packages/simulator/src/simulator.ts";
import { median } from "../measure.ts";
import { conversation, request, simulatorHeaders } from "../simulator-request.ts";

/**
 * `node simulator-once.ts <checkout>`: plain requests to the simulator of a checkout. Prints milliseconds of this
 * thread's own work for one request of each kind, so that a busy machine counts for less.
 */
const [checkout = "."] = process.argv.slice(2);
const module = pathToFileURL(join(resolve(checkout), "packages/simulator/src/simulator.ts")).href;
const made = (await import(module)) as { readonly Simulator: typeof Simulator };

const batches = 9;
const growingTurns = 150;
const messages = conversation(400);
const source = JSON.stringify(request(messages));

console.log(
  JSON.stringify({
    "200,000 tokens once more, as objects": await again(20, () => request(messages)),
    "200,000 tokens once more, as JSON": await again(20, () => JSON.parse(source) as JsonObject),
    "a turn of a conversation that grows": await growing(),
    "a short request": await again(1_000, () => request(conversation(2))),
  }),
);

function again(times: number, body: () => JsonObject): Promise<number> {
  const simulator = new made.Simulator();
  const bodies = Array.from({ length: times }, body);
  return worked(times, async () => {
    for (const one of bodies) await ask(simulator, one);
  });
}

function growing(): Promise<number> {
  const all = conversation(growingTurns);
  return worked(growingTurns, async () => {
    const simulator = new made.Simulator();
    for (let turn = 2; turn <= all.length; turn += 2) await ask(simulator, request(all.slice(0, turn - 1)));
  });
}

async function ask(simulator: Simulator, body: JsonObject): Promise<void> {
  const answer = await simulator.messages({ body, headers: new Headers(simulatorHeaders) });
  if (answer.kind !== "body" || answer.status !== 200) throw new Error(JSON.stringify(answer).slice(0, 500));
}

/** By one of so many requests; the first batches warm the code. */
async function worked(requests: number, act: () => Promise<void>): Promise<number> {
  const costs: number[] = [];
  for (let batch = 0; batch < batches; batch += 1) {
    const before = process.threadCpuUsage();
    await act();
    const { user, system } = process.threadCpuUsage(before);
    costs.push((user + system) / 1000 / requests);
  }
  return median(costs.slice(batches / 3));
}
