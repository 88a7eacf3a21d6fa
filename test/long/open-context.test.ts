import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { openContext, type ToolCall } from "../../src/index.ts";
import { Simulator, simulatorFetch, type Actor } from "../../src/simulator/index.ts";
import { fileStore } from "../../src/store/files/store.ts";
import { served } from "../scenario/support/simulated.ts";

const rounds = 2_000;
const first = "The very first thing that was said: fix gauge.test.ts, and touch nothing else.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];
const options = { system: "You fix tests.", tools, contextTokens: 30_000 };

/** Nine calls and an answer, over and over. */
function reader(): Actor {
  let at = 0;
  return {
    name: "reader",
    play: () => {
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
  const fetch = simulatorFetch(new Simulator({ actor: reader() }));
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
  const { url } = await served({ actor: reader(), models: [{ id: "gpt-5.6" }] });
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
      const started = performance.now();
      const { calls, tokens, sent } = await talk.ask();
      expect(tokens).toBeLessThan(30_000);
      last = sent;
      for (const { id } of calls) await talk.toolResult(id, `round ${round}: ${"a line of code; ".repeat(150)}`);
      if (calls.length === 0) await talk.user(`Go on with part ${(turn += 1)}.`);
      millis.push(performance.now() - started);
    }
    expect(last).toContain(first);
    expect(median(millis.slice(rounds / 2)) / median(millis.slice(0, rounds / 2))).toBeLessThan(1.5);
    await talk.close();
  },
);

/** Of all that is still in use. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
  return process.memoryUsage().heapUsed;
}

const saidCharsPerRound = 2_400;

it("memory grows by what is said and by little else", { timeout: 1_200_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-long-"));
  const client = new Anthropic({
    apiKey: "none",
    maxRetries: 0,
    fetch: simulatorFetch(new Simulator({ actor: reader() })),
  });
  const context = await openContext({
    model: "claude-sonnet-5-5",
    ...options,
    store: fileStore({ folder, durability: "turn" }),
  });
  await context.user(first);
  const heapAt = new Map<number, number>();
  for (let round = 0; round <= rounds; round += 1) {
    const { params } = await context.next();
    const calls = await context.assistant(await client.messages.create(params));
    for (const { id } of calls) await context.toolResult(id, `round ${round}: ${"a line of code; ".repeat(150)}`);
    if (calls.length === 0) await context.user("Go on.");
    if (round % 500 === 0) heapAt.set(round, heapUsed());
  }
  await context.close();
  await rm(folder, { recursive: true });
  const grown = ((heapAt.get(rounds) ?? Infinity) - (heapAt.get(500) ?? 0)) / (rounds - 500);
  expect(grown).toBeLessThan(4 * saidCharsPerRound);
});
