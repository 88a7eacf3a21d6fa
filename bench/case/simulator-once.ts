import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { Simulator } from "../../packages/simulator/src/simulator.ts";
import { median } from "../measure.ts";
import { conversation, request, simulatorHeaders } from "../simulator-request.ts";

/**
 * `node simulator-once.ts <checkout>`: sends plain requests to the simulator of a checkout. Prints the CPU milliseconds of this
 * thread for one request of each kind, so that other load of the machine matters less.
 */
const [checkout = "."] = process.argv.slice(2);
const module = pathToFileURL(join(resolve(checkout), "packages/simulator/src/simulator.ts")).href;
const loaded = (await import(module)) as { readonly Simulator: typeof Simulator };

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
  const simulator = new loaded.Simulator();
  const bodies = Array.from({ length: times }, body);
  return worked(times, async () => {
    for (const each of bodies) await ask(simulator, each);
  });
}

function growing(): Promise<number> {
  const all = conversation(growingTurns);
  return worked(growingTurns, async () => {
    const simulator = new loaded.Simulator();
    for (let turn = 2; turn <= all.length; turn += 2) await ask(simulator, request(all.slice(0, turn - 1)));
  });
}

async function ask(simulator: Simulator, body: JsonObject): Promise<void> {
  const answer = await simulator.messages({ body, headers: new Headers(simulatorHeaders) });
  if (answer.kind !== "body" || answer.status !== 200) throw new Error(JSON.stringify(answer).slice(0, 500));
}

/** The cost of one request, as a share of its batch; the first batches warm up the code. */
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
