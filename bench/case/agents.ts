import { createHash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import type { CostSummary } from "../../packages/palimpsest/src/cache/cost-ledger.ts";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { readTrace, type TraceRequest } from "../../packages/simulator/src/trace/read-trace.ts";
import { TraceWriter } from "../../packages/simulator/src/trace/trace-writer.ts";
import type { BenchCase, Figure } from "../measure.ts";

const model = "claude-sonnet-5-5";
const system = "You fix tests.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];
const agentCount = 5;
/** Files that the conversation has read, of some 5,000 tokens each. */
const knownFiles = 20;
/** Files that each agent reads for its task. */
const taskFiles = 3;
/** The provider's cache forgets after five minutes. */
const idleMillis = 6 * 60_000;

/**
 * The bill of five forks beside five fresh agents on the same task, from a conversation of 100,000 tokens, at the
 * simulator's prices. That the forks share their prefix is read from the simulator's trace.
 */
export const agentsCase: BenchCase = {
  name: "agents",
  run: async () => {
    const bills = await Promise.all(ways.map(async (way) => ({ way, ...(await makeBill(way)) })));
    console.log("\nfive agents                write 5m  write 1h      read     input    output   dollars");
    for (const { way, costs } of bills) console.log(tableRow(way, costs));
    const told = bills.find(({ way }) => way === "fresh, told everything");
    return bills.flatMap(({ way, costs, forks }): readonly Figure[] => {
      const limit = limitByWay[way];
      if (told === undefined || limit === undefined) return [];
      const { blocks, tokens, hashes, parentBlocks } = comparePrefixes(forks);
      return [
        {
          name: `five ${way}: share of the bill of five fresh agents that are told everything`,
          value: costs.totalNanos / told.costs.totalNanos,
          unit: "×",
          limit,
          detail: `$${dollars(costs)} beside $${dollars(told.costs)}; a conversation of ${told.used} tokens`,
        },
        {
          name: `five ${way}: different prefixes before the task`,
          value: hashes.size,
          unit: "prefixes",
          limit: 1,
          detail: `${blocks} blocks of ${tokens} tokens, all ${parentBlocks} of the parent's newest request among them; sha256 ${[...hashes].join(", ")}`,
        },
      ];
    });
  },
};

const ways = ["forks, warm cache", "forks, cold cache", "fresh, told everything", "fresh, told the task"] as const;
type Way = (typeof ways)[number];
const limitByWay: Readonly<Partial<Record<Way, number>>> = { "forks, warm cache": 0.5, "forks, cold cache": 0.6 };

/** Reads as many files as the newest task says, one after the other, then reports. */
const reader: Responder = {
  name: "reader",
  respond: ({ request: { messages } }) => {
    const texts = messages.map((message) => JSON.stringify(message));
    const taskAt = texts.findLastIndex((text) => taskWords.test(text));
    const wanted = Number(taskWords.exec(texts[taskAt] ?? "")?.[1]);
    const read = messages.slice(taskAt).filter(({ role }) => role === "assistant").length;
    const input = { path: `src/${wanted}/part-${read}.ts` };
    const report = { type: "text", text: "This part could fail if its input is empty. ".repeat(10) } as const;
    return {
      move: { kind: "say", blocks: [read < wanted ? { type: "tool_use", name: "read", input } : report] },
    };
  },
};
const taskWords = /Read (\d+) files/;

async function makeBill(way: Way) {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  const simulator = new Simulator({ responder: reader, trace });
  await trace.begin({ seed: 0, startedAt: simulator.clock.now() });
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, baseURL: "http://s", fetch: simulatorFetch(simulator) });
  const context = await openContext({ model, system, tools, clock: () => simulator.clock.now() });
  await context.user(`Read ${knownFiles} files`);
  const known = await answer(context, client);
  const { used } = context.report();
  if (context.receipts().length > 0) throw new Error("the conversation was edited");
  if (way === "forks, cold cache") simulator.clock.advance(idleMillis);
  const agents: Context<"anthropic">[] = [];
  for (let at = 0; at < agentCount; at += 1) {
    const task = `Part ${at}: what could fail there? Read ${taskFiles} files`;
    const told = way === "fresh, told everything" ? `What is known:\n${known}\n\n${task}` : task;
    agents.push(
      await (way.startsWith("forks") ? context.fork({ task }) : context.openAgent({ system, tools, task: told })),
    );
  }
  await Promise.all(agents.map((agent) => answer(agent, client)));
  const costs = context.costs().bySource.agents;
  await context.close();
  const read = await readTrace(toAsync(lines));
  if (read.kind !== "trace" || costs === undefined) throw new Error("nothing was paid, or the trace is damaged");
  return { costs, used, forks: { requests: read.trace.requests } };
}

/** Returns what was read. */
async function answer(context: Context<"anthropic">, client: Anthropic): Promise<string> {
  let known = "";
  for (;;) {
    const { params } = await context.next();
    const calls = await context.assistant(await client.messages.create(params));
    if (calls.length === 0) return known;
    for (const { id, input } of calls) {
      const text = fileText(JSON.stringify(input["path"]));
      known += `${text}\n`;
      await context.toolResult(id, text);
    }
  }
}

const fileText = (path: string): string =>
  [path, ...Array.from({ length: 192 }, (_, line) => `export const value${line} = readGauge(${path}, ${line});`)].join(
    "\n",
  );

/** The blocks before the tasks of the forks' first requests. */
function comparePrefixes({ requests }: { readonly requests: readonly TraceRequest[] }) {
  const parent = requests[knownFiles];
  const firsts = requests
    .slice(knownFiles + 1)
    .filter(({ blocks }) => blocks.length === (parent?.blocks.length ?? 0) + 2);
  if (parent === undefined || firsts.length !== agentCount) throw new Error("the forks' first requests are not there");
  const prefixes = firsts.map(({ blocks }) => [...blocks].slice(0, -1));
  const [first = []] = prefixes;
  const isShared = [...parent.blocks].every(({ hash }, at) => hash === first[at]?.hash);
  return {
    blocks: first.length,
    tokens: first.reduce((sum, block) => sum + block.tokens, 0),
    parentBlocks: isShared ? parent.blocks.length : 0,
    hashes: new Set(prefixes.map((blocks) => hashText(blocks.map(({ hash }) => hash).join()))),
  };
}

const hashText = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

async function* toAsync(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

const dollars = ({ totalNanos }: CostSummary): string => (totalNanos / 1e9).toFixed(3);

const tableRow = (way: Way, costs: CostSummary): string => {
  const { cacheWrite5m, cacheWrite1h, cacheRead, input, output } = costs.tokensByKind;
  const counts = [cacheWrite5m, cacheWrite1h, cacheRead, input, output]
    .map((count) => String(count).padStart(10))
    .join("");
  return `${way.padEnd(25)}${counts}${dollars(costs).padStart(10)}`;
};
