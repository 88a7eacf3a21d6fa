import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as streamText } from "node:stream/consumers";
import { getHeapSnapshot } from "node:v8";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { cpuMillis } from "../fixture/cpu-millis.ts";
import { z } from "zod";
import { openContext, type ToolCall } from "../../packages/palimpsest/src/index.ts";
import { Simulator, simulatorFetch, type Responder } from "../../packages/simulator/src/index.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { served } from "../scenario/support/simulated.ts";

const rounds = 2_000;
const first = "The very first thing that was said: fix gauge.test.ts, and touch nothing else.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];
const options = { system: "You fix tests.", tools, contextTokens: 30_000 };

/** Nine calls and an answer, over and over. */
function reader(): Responder {
  let at = 0;
  return {
    name: "reader",
    respond: () => {
      at += 1;
      const block =
        at % 10 === 0
          ? ({ type: "text", text: "Done." } as const)
          : ({ type: "tool_use", name: "read", input: { path: `src/${at}.ts` } } as const);
      return { move: { kind: "say", blocks: [block] } };
    },
  };
}

interface Talk {
  readonly user: (text: string) => Promise<void>;
  /** One request and its reply. */
  readonly ask: () => Promise<{ readonly calls: readonly ToolCall[]; readonly tokens: number; readonly sent: string }>;
  readonly toolResult: (id: string, text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

async function anthropicTalk(): Promise<Talk> {
  const fetch = simulatorFetch(new Simulator({ responder: reader() }));
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch });
  const context = await openContext({ model: "claude-sonnet-5-5", ...options });
  return {
    user: (text) => context.user(text),
    ask: async () => {
      const { params, tokens } = await context.next();
      const calls = await context.assistant(await client.messages.create(params));
      return { calls, tokens, sent: JSON.stringify(params.messages) };
    },
    toolResult: (id, text) => context.toolResult(id, text),
    close: () => context.close(),
  };
}

async function openaiClient(): Promise<OpenAI> {
  const { url } = await served({ responder: reader(), models: [{ id: "gpt-5.6" }] });
  return new OpenAI({ apiKey: "none", maxRetries: 0, baseURL: `${url}/v1` });
}

async function chatTalk(): Promise<Talk> {
  const client = await openaiClient();
  const context = await openContext({ model: "gpt-5.6", provider: "openai-chat", ...options });
  return {
    user: (text) => context.user(text),
    ask: async () => {
      const { params, tokens } = await context.next();
      const calls = await context.assistant(await client.chat.completions.create(params));
      return { calls, tokens, sent: JSON.stringify(params.messages) };
    },
    toolResult: (id, text) => context.toolResult(id, text),
    close: () => context.close(),
  };
}

async function responsesTalk(): Promise<Talk> {
  const client = await openaiClient();
  const context = await openContext({ model: "gpt-5.6", provider: "openai-responses", ...options });
  return {
    user: (text) => context.user(text),
    ask: async () => {
      const { params, tokens } = await context.next();
      const calls = await context.assistant(await client.responses.create(params));
      return { calls, tokens, sent: JSON.stringify(params.input) };
    },
    toolResult: (id, text) => context.toolResult(id, text),
    close: () => context.close(),
  };
}

/** What a busy machine does to some rounds does not count. */
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

it.each([
  ["anthropic", anthropicTalk],
  ["openai-chat", chatTalk],
  ["openai-responses", responsesTalk],
])(
  "%s: 2,000 rounds in a window of 30,000 tokens, none refused, the first message still there, and no round slower than before",
  { timeout: 1_200_000 },
  async (_, open) => {
    const talk = await open();
    await talk.user(first);
    const millis: number[] = [];
    let turn = 0;
    let last = "";
    for (let round = 0; round < rounds; round += 1) {
      const started = cpuMillis();
      const { calls, tokens, sent } = await talk.ask();
      expect(tokens).toBeLessThan(30_000);
      last = sent;
      for (const { id } of calls) await talk.toolResult(id, `round ${round}: ${"a line of code; ".repeat(150)}`);
      if (calls.length === 0) await talk.user(`Go on with part ${(turn += 1)}.`);
      millis.push(cpuMillis() - started);
    }
    expect(last).toContain(first);
    expect(median(millis.slice(rounds / 2)) / median(millis.slice(0, rounds / 2))).toBeLessThan(1.5);
    await talk.close();
  },
);

/** Of everything in use but compiled code, whose size goes up and down with the engine's mood. */
async function heldBytes(): Promise<number> {
  const text = await streamText(getHeapSnapshot());
  const { snapshot, nodes } = heapShape.parse(JSON.parse(text));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [typeAt, sizeAt] = [fields.indexOf("type"), fields.indexOf("self_size")];
  const [names] = z
    .tuple([z.array(z.string())])
    .rest(z.unknown())
    .parse(types);
  const isData = names.map((name) => name !== "code" && name !== "hidden" && name !== "object shape");
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length)
    if (isData[nodes[at + typeAt] ?? 0] === true) bytes += nodes[at + sizeAt] ?? 0;
  return bytes;
}

const heapShape = z.object({
  snapshot: z.object({ meta: z.object({ node_fields: z.array(z.string()), node_types: z.array(z.unknown()) }) }),
  nodes: z.array(z.number()),
});

/** Ids of replies and calls, and what is told of each edit. All else that is said lies in the store. */
const keptBytesPerRoundMax = 500;

/** So that the list of what the user said still fits the window word for word at the end. */
const roundsPerTurn = 40;

/** By hand: what a simulator remembers of the requests is not to be measured. */
const replyTo = (round: number, tokens: number): Anthropic.Message => ({
  id: `msg_${round}`,
  type: "message",
  role: "assistant",
  model: "claude-sonnet-5-5",
  container: null,
  content:
    round % roundsPerTurn === 0
      ? [{ type: "text", text: "Done.", citations: null }]
      : [
          {
            type: "tool_use",
            id: `toolu_${round}`,
            name: "read",
            input: { path: `src/${round}.ts` },
            caller: { type: "direct" },
          },
        ],
  stop_reason: round % roundsPerTurn === 0 ? "end_turn" : "tool_use",
  stop_details: null,
  diagnostics: null,
  stop_sequence: null,
  usage: {
    input_tokens: tokens,
    output_tokens: 40,
    cache_creation: null,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    inference_geo: null,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: null,
    speed: null,
  },
});

it(
  "memory is flat: 2,000 rounds hold what 500 do, and everything can be had back",
  { timeout: 1_200_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "palimpsest-long-"));
    let compacted = 0;
    const context = await openContext({
      model: "claude-sonnet-5-5",
      ...options,
      store: fileStore({ folder, durability: "turn" }),
      onEvent: ({ kind }) => {
        if (kind === "compacted") compacted += 1;
      },
    });
    await context.user(first);
    const held: { readonly round: number; readonly bytes: number }[] = [];
    let sent = "";
    for (let round = 1; round <= rounds; round += 1) {
      const before = compacted;
      const { params, tokens } = await context.next();
      sent = JSON.stringify(params.messages);
      const calls = await context.assistant(replyTo(round, tokens));
      for (const { id } of calls) await context.toolResult(id, `round ${round}: ${"a line of code; ".repeat(150)}`);
      if (calls.length === 0) await context.user(`Go on with part ${round}.`);
      // Behind a boundary, so that what came since the last one does not count.
      if (compacted > before && round > 300) held.push({ round, bytes: await heldBytes() });
    }
    const [from, to] = [held[0] ?? { round: 0, bytes: 0 }, held.at(-1) ?? { round: Infinity, bytes: Infinity }];
    const perRound = (to.bytes - from.bytes) / (to.round - from.round);
    process.stdout.write(`${perRound.toFixed(0)} bytes a round from round ${from.round} to ${to.round}\n`);
    expect(to.round - from.round).toBeGreaterThan(rounds / 2);
    expect(perRound).toBeLessThan(keptBytesPerRoundMax);
    expect(sent).toContain(first);

    const receipts = context.receipts();
    expect(receipts.filter(({ kind }) => kind === "boundary")).toHaveLength(compacted);
    expect(receipts.every(({ kind, receipt }) => kind === "offload" || receipt !== undefined)).toBe(true);
    expect(context.costs().session.requests).toBe(rounds);
    expect((await context.recall("round 3:"))[0]?.id).toBe("toolu_3");
    const expanded = await context.expand("toolu_3");
    expect(expanded.kind === "result" && new TextDecoder().decode(expanded.bytes)).toMatch(/^round 3: a line of code/);
    const shown = async (): Promise<string> => JSON.stringify((await context.next()).params.messages);
    expect(await context.compact()).toMatchObject({ kind: "compacted" });
    expect(await shown()).not.toContain('"id":"toolu_1999"');
    expect(await context.undo()).toMatchObject({ kind: "undone" });
    expect(await shown()).toContain('"id":"toolu_1999"');
    expect(context.receipts().filter(({ kind }) => kind === "boundary" || kind === "undo")).toHaveLength(compacted + 1);
    await context.close();
    await rm(folder, { recursive: true });
  },
);
