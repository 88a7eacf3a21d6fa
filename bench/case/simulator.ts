import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { serveSimulator } from "../../packages/simulator/src/http/serve-simulator.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";
import { conversation, request, simulatorHeaders } from "../simulator-request.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const repeats = 25;
const turns = 400;
const prefixes = 10_000;

/** A conversation of about 200,000 tokens, compared with unavoidable work: parsing its JSON, or sending it over loopback. */
export const simulatorCase: BenchCase = {
  name: "simulator",
  run: async () => [
    await inProcess(),
    await overLoopback(),
    await growing(),
    hashed(await hashedByTurns()),
    await memory(),
  ],
};

async function inProcess(): Promise<Figure> {
  const messages = conversation(turns);
  const body = JSON.stringify(request(messages));
  const tokens = await promptTokens(new Simulator(), messages);
  const simulator = new Simulator();
  await ask(simulator, messages);
  const ours = await timed(() => ask(simulator, messages));
  const peer = await timed(() => Promise.resolve(void JSON.parse(body)));
  return {
    name: "a request of 200,000 tokens in process, over JSON.parse of it",
    value: ours / peer,
    unit: "×",
    limit: 4,
    detail: `${perSecond(ours)} requests a second at ${tokens} tokens, ${body.length} bytes; JSON.parse ${peer.toFixed(2)} ms`,
  };
}

async function overLoopback(): Promise<Figure> {
  const messages = conversation(turns);
  const body = JSON.stringify(request(messages));
  const serving = await serveSimulator(new Simulator(), { port: 0 });
  if (serving.kind === "failed") throw new Error(serving.message);
  const bare = await bareServer();
  try {
    const post = (url: string) => async (): Promise<void> => {
      const response = await fetch(`${url}/v1/messages`, { method: "POST", headers: simulatorHeaders, body });
      await response.text();
    };
    await post(serving.url)();
    await post(bare.url)();
    const pairs = [await timed(post(serving.url)), await timed(post(bare.url))] as const;
    return {
      name: "the same over loopback, over a bare server that parses the body",
      value: pairs[0] / pairs[1],
      unit: "×",
      limit: 3,
      detail: `${perSecond(pairs[0])} requests a second, one after the other; the bare server ${perSecond(pairs[1])}`,
    };
  } finally {
    await serving.close();
    bare.close();
  }
}

/** A turn at the end of a long conversation compared with one at its beginning, both with the same number of new blocks. */
async function growing(): Promise<Figure> {
  const simulator = new Simulator();
  const all = conversation(turns);
  const costs: number[] = [];
  for (let turn = 2; turn <= all.length; turn += 2) {
    const started = performance.now();
    await ask(simulator, all.slice(0, turn - 1));
    costs.push(performance.now() - started);
  }
  const early = median(costs.slice(10, 60));
  const late = median(costs.slice(-50));
  return {
    name: "a turn near turn 400 over one near turn 35",
    value: late / early,
    unit: "×",
    limit: 8,
    detail: `${late.toFixed(2)} ms against ${early.toFixed(2)} ms: look-ups of known blocks, one by one; ${(costs.reduce((sum, cost) => sum + cost, 0) / 1000).toFixed(2)} s for all turns`,
  };
}

async function hashedByTurns(): Promise<readonly [number, number]> {
  const blocks: number[] = [];
  for (const count of [turns / 2, turns]) {
    const simulator = new Simulator();
    const all = conversation(count);
    for (let turn = 2; turn <= all.length; turn += 2) await ask(simulator, all.slice(0, turn - 1));
    blocks.push(simulator.hashedBlocks);
  }
  return [blocks[0] ?? 0, blocks[1] ?? 0];
}

const hashed = ([half, whole]: readonly [number, number]): Figure => ({
  name: "blocks hashed in twice as many turns",
  value: whole / half,
  unit: "×",
  limit: 2.05,
  detail: `${half} for ${turns / 2} turns, ${whole} for ${turns}`,
});

async function memory(): Promise<Figure> {
  const simulator = new Simulator();
  const system = [
    { type: "text", text: "A rule that everybody follows. ".repeat(400), cache_control: { type: "ephemeral" } },
  ];
  const one = (at: number): Promise<unknown> =>
    simulator.messages({
      body: {
        ...request([
          {
            role: "user",
            content: [
              { type: "text", text: `Question ${at}: ${"why? ".repeat(40)}`, cache_control: { type: "ephemeral" } },
            ],
          },
        ]),
        system,
      },
      headers: new Headers(simulatorHeaders),
    });
  for (let at = 0; at < 500; at += 1) await one(at);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < prefixes * 2; at += 1) await one(at);
  collect();
  const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  return {
    name: "memory after 20,000 prefixes, 10,000 of which are kept",
    value: grown,
    unit: "MiB",
    limit: 64,
    detail: `${simulator.cache.size} entries in the cache`,
  };
}

const ask = (simulator: Simulator, messages: JsonObject[]): Promise<unknown> =>
  simulator.messages({ body: request(messages), headers: new Headers(simulatorHeaders) });

async function promptTokens(simulator: Simulator, messages: JsonObject[]): Promise<number> {
  const answer = simulator.countTokens({ body: countBody(messages), headers: new Headers(simulatorHeaders) });
  const body = answer.kind === "body" ? answer.body : {};
  return Promise.resolve("input_tokens" in body ? Number(body.input_tokens) : 0);
}

function countBody(messages: JsonObject[]): JsonObject {
  const { max_tokens: _, ...body } = request(messages);
  return body;
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const costs: number[] = [];
  for (let at = 0; at < repeats; at += 1) {
    const started = performance.now();
    await act();
    costs.push(performance.now() - started);
  }
  return median(costs);
}

const perSecond = (millis: number): string => (1000 / millis).toFixed(0);

async function bareServer(): Promise<{ url: string; close(): void }> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      JSON.parse(Buffer.concat(chunks).toString("utf8"));
      outgoing.end("{}");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
