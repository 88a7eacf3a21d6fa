import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import type { StreamEvent } from "../../packages/palimpsest/src/context/provider-formats.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { Store } from "../../packages/palimpsest/src/ports/store.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { farTokens, resultText } from "../frameworks/step-times.ts";
import { type BenchCase, type Figure, median, timed } from "../measure.ts";

const model = "claude-sonnet-5-5";
/** Calls with their results before the first step that counts: some 200,000 tokens. */
const roundsBefore = 245;
const steps = 50;
const bytesPerToken = 3.5;

const tools = Array.from({ length: 20 }, (_, at) => ({
  name: at === 0 ? "read" : `tool_${at}`,
  description: "Does one thing and says what it did. ".repeat(20),
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));
const system = "A rule that holds for the whole session. ".repeat(300);

/** How a caller hands over its list: its own objects, parsed anew, or parsed anew with the number of unchanged messages. */
const ways = ["same objects", "parsed anew", "parsed anew, unchanged known"] as const;
type Way = (typeof ways)[number];

interface Message {
  readonly role: "user" | "assistant";
  readonly content: string | readonly object[];
}

/** What the engine costs in a step in which nothing is edited: a list that has grown by a call and its result. */
export const syncCase: BenchCase = {
  name: "sync",
  run: async () => {
    const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
    try {
      return [
        ...(await storeFigures("memory", memoryStore)),
        ...(await storeFigures("files", () => fileStore({ folder }))),
      ];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

async function storeFigures(name: string, openStore: () => Store): Promise<readonly Figure[]> {
  const callers: Caller[] = [];
  for (const way of ways) callers.push(await Caller.open(way, openStore()));
  const peerMs: number[] = [];
  for (let round = 0; round < roundsBefore + steps; round += 1)
    for (const caller of callers) peerMs.push(timed(await caller.step()));
  for (const caller of callers) await caller.close();
  const figures = callers.map((caller) => caller.figure(name));
  const ours = figures.at(-1)?.value ?? NaN;
  const peer = median(peerMs.slice(-steps));
  return [
    ...figures,
    {
      name: `a step of context.sync at 200K tokens, unchanged known, store: ${name}, over parsing and printing its list`,
      value: ours / peer,
      unit: "×",
      // With files most of it is the disk's time.
      ...(name === "memory" ? { limit: 0.5 } : {}),
      detail: `${ours.toFixed(2)} ms against ${peer.toFixed(2)} ms for JSON.parse and JSON.stringify of the list`,
    },
  ];
}

class Caller {
  readonly #way: Way;
  readonly #context: Context<"anthropic">;
  readonly #list: Message[] = [{ role: "user", content: "Read the files." }];
  readonly #syncMs: number[] = [];
  readonly #syncCpuMs: number[] = [];
  readonly #replyMs: number[] = [];
  #handedOver = 0;

  static async open(way: Way, store: Store): Promise<Caller> {
    const session = way.replaceAll(/\W+/g, "-");
    return new Caller(way, await openContext({ model, store, session, tools, system, contextTokens: farTokens }));
  }

  constructor(way: Way, context: Context<"anthropic">) {
    this.#way = way;
    this.#context = context;
  }

  /** Returns what others do with such a list: parse and print it. */
  async step(): Promise<() => void> {
    const list = this.#way === "same objects" ? this.#list : structuredClone(this.#list);
    const unchanged = this.#way === "parsed anew, unchanged known" ? this.#handedOver : 0;
    this.#handedOver = list.length;
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    await this.#context.sync(list, { unchanged });
    this.#syncMs.push(performance.now() - start);
    const { user, system: kernel } = process.cpuUsage(cpu);
    this.#syncCpuMs.push((user + kernel) / 1_000);
    const replyStart = performance.now();
    await this.#context.assistantStream(replyEvents(this.#round));
    this.#replyMs.push(performance.now() - replyStart);
    const call = { type: "tool_use", id: `toolu_${this.#round}`, name: "read", input: callInput(this.#round) };
    const result = { type: "tool_result", tool_use_id: call.id, content: resultText(this.#round) };
    const text = { type: "text", text: replyText(this.#round) };
    this.#list.push({ role: "assistant", content: [text, call] }, { role: "user", content: [result] });
    const printed = JSON.stringify(list);
    return () => void JSON.stringify(JSON.parse(printed));
  }

  figure(store: string): Figure {
    const [syncMs, cpuMs, replyMs] = [this.#syncMs, this.#syncCpuMs, this.#replyMs].map((all) =>
      median(all.slice(-steps)),
    );
    const bytes = JSON.stringify(this.#list).length;
    return {
      name: `a step of context.sync at 200K tokens, ${this.#way}, store: ${store}`,
      value: syncMs ?? NaN,
      unit: "ms",
      detail: `processor ${cpuMs?.toFixed(2)} ms, and ${replyMs?.toFixed(2)} ms to record the streamed reply; medians of ${steps} steps in turn, ${this.#list.length} messages, ${bytes} bytes`,
    };
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  get #round(): number {
    return this.#syncMs.length;
  }
}

const replyText = (round: number): string => `I look at ${round}.`;
const callInput = (round: number): { readonly path: string } => ({ path: `src/${round}.ts` });

async function* replyEvents(round: number): AsyncGenerator<StreamEvent<"anthropic">> {
  const read = Math.round((round * 2_880) / bytesPerToken);
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_creation_input_tokens: 1_000,
    cache_read_input_tokens: read,
  };
  const id = `msg_${round}`;
  const call = { type: "tool_use", id: `toolu_${round}`, name: "read", input: {} };
  const json = JSON.stringify(callInput(round));
  const events = [
    { type: "message_start", message: { id, type: "message", role: "assistant", model, content: [], usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: replyText(round) } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: call },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: json } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 30 } },
    { type: "message_stop" },
  ];
  yield* events;
}
