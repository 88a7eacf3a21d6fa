import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContextBy } from "../../packages/palimpsest/src/open/open-context.ts";
import type { ContextOptions } from "../../packages/palimpsest/src/open/options.ts";
import type { Store } from "../../packages/palimpsest/src/ports/store.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { parametersFor } from "../property/runs.ts";

const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];
const tooLong = {
  status: 400,
  error: { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 30000 tokens" } },
};

/** Smaller than any log of these tests: whatever a boundary covers is let go at once. */
const letsGo = { tailBytes: 2_048 };
const keepsAll = { tailBytes: Number.MAX_SAFE_INTEGER };

type Opened = Context<"anthropic">;
type Content = Anthropic.ToolUseBlockParam | Anthropic.TextBlockParam;

/** One of two conversations that are led alike; whatever they tell differently comes from what they hold in memory. */
class Twin {
  readonly #reading: { readonly tailBytes: number };
  readonly #options: ContextOptions;
  #context: Opened | undefined;
  #rounds = 0;

  constructor(reading: { readonly tailBytes: number }, store: Store) {
    let ticks = 0;
    let named = 0;
    this.#reading = reading;
    this.#options = {
      model: "claude-sonnet-5-5",
      system: "You fix tests.",
      tools,
      contextTokens: 10_000,
      session: "11111111-0000-4000-8000-000000000000",
      store,
      clock: () => Date.UTC(2026, 0, 1) + 1_000 * (ticks += 1),
      ids: () => `00000000-0000-4000-8000-${String((named += 1)).padStart(12, "0")}`,
    };
  }

  async open(): Promise<void> {
    this.#context = await openContextBy(this.#options, this.#reading);
  }

  get context(): Opened {
    if (this.#context === undefined) throw new Error("not opened");
    return this.#context;
  }

  /** A request and its reply: a call, but for every seventh, which ends the turn. */
  async round(): Promise<unknown> {
    const { context } = this;
    const at = (this.#rounds += 1);
    const { params, tokens } = await context.next();
    const content: Content =
      at % 7 === 0
        ? { type: "text", text: `Part ${at} is done.` }
        : { type: "tool_use", id: `toolu_${at}`, name: "read", input: { path: `src/${at % 5}.ts` } };
    const calls = await context.assistant(reply({ at, tokens, content }));
    const result = `round ${at}: ${`line ${at} of code; `.repeat(10 + ((at * 7_919) % 90))}`;
    for (const { id } of calls) await context.toolResult(id, result);
    if (calls.length === 0) await context.user(`Go on with part ${at}.`);
    return { params, tokens };
  }

  /** The oldest edit that could still be taken back. */
  undoOldest(): Promise<unknown> {
    const oldest = this.context.receipts().find(({ undoes }) => undoes);
    return this.context.undo(oldest?.id);
  }

  pinOldest(): Promise<unknown> {
    return this.context.recall("The very first thing").then(([hit]) => this.context.pin(hit?.id ?? ""));
  }

  async reopen(): Promise<void> {
    await this.context.close();
    await this.open();
  }

  /** What was said long ago, by its words and by its id. */
  async find(): Promise<unknown> {
    return { found: await this.context.recall("round 3"), expanded: await this.context.expand("toolu_3") };
  }

  get told(): unknown {
    const { context } = this;
    return { report: context.report(), receipts: context.receipts(), costs: context.costs() };
  }
}

const reply = ({ at, tokens, content }: { at: number; tokens: number; content: Content }): Anthropic.Message =>
  JSON.parse(
    JSON.stringify({
      id: `msg_${at}`,
      type: "message",
      role: "assistant",
      model: "claude-sonnet-5-5",
      content: [content],
      stop_reason: content.type === "tool_use" ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: { input_tokens: tokens, output_tokens: 40 },
    }),
  ) as Anthropic.Message;

type Step = (twin: Twin) => Promise<unknown>;

const rounds = (count: number): readonly Step[] => Array.from({ length: count }, () => (twin) => twin.round());
const refuse: Step = async ({ context }) => {
  await context.next();
  return context.refused(tooLong);
};
const compact: Step = ({ context }) => context.compact();
const find: Step = (twin) => twin.find();
const undo: Step = ({ context }) => context.undo();

interface Told {
  readonly one: Store;
  readonly other: Store;
  /** Where it lies is another for each of them, and stands in what they tell. */
  readonly plain?: (told: string) => string;
}

/** Gives how many boundaries there were. */
async function expectAlike({ one, other, plain = (told) => told }: Told, steps: readonly Step[]): Promise<number> {
  const twins = [new Twin(letsGo, one), new Twin(keepsAll, other)];
  for (const step of [(twin: Twin) => twin.open(), ...steps]) {
    // Failures too are the same.
    const gave = twins.map(async (twin) => ({ gave: await step(twin).catch(String), told: twin.told }));
    const [first, second] = (await Promise.all(gave)).map((told): unknown => JSON.parse(plain(JSON.stringify(told))));
    expect(first).toEqual(second);
  }
  const [boundaries] = twins.map(({ context }) => context.receipts().filter(({ kind }) => kind === "boundary").length);
  await Promise.all(twins.map(({ context }) => context.close()));
  return boundaries ?? 0;
}

const say: Step = ({ context }) => context.user("The very first thing that was said.");
const reopen: Step = (twin) => twin.reopen();
const pinOldest: Step = (twin) => twin.pinOldest();
const undoOldest: Step = (twin) => twin.undoOldest();
const changeModel: Step = ({ context }) => context.setModel("claude-opus-4-5");

it("a context that lets go of what boundaries cover sends and tells the same as one that keeps all", async () => {
  const stores = { one: memoryStore(), other: memoryStore() };
  const refused = [refuse, refuse, refuse, ...rounds(10)];
  const undone = [compact, undo, undo, ...rounds(10), undoOldest, ...rounds(20)];
  const steps = [say, ...rounds(60), undo, ...rounds(20), pinOldest, ...rounds(15), ...refused, ...undone];
  expect(await expectAlike(stores, [...steps, find, changeModel, ...rounds(5)])).toBeGreaterThan(2);
});

it("also in files, closed and opened again at any time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "context-memory-"));
  // Alike, and so of the same size in tokens.
  const [one, other] = [join(folder, "one"), join(folder, "two")];
  const plain = (told: string): string => told.replaceAll(one, "folder").replaceAll(other, "folder");
  const stores = { one: fileStore({ folder: one }), other: fileStore({ folder: other }), plain };
  const opened = [compact, reopen, ...rounds(8), reopen, undo, ...rounds(30)];
  const undone = [compact, reopen, undo, reopen, undo, find];
  expect(await expectAlike(stores, [say, ...rounds(40), ...opened, ...undone])).toBeGreaterThan(1);
});

it("whatever is done, in any order", async () => {
  const moves = {
    few: rounds(12),
    many: rounds(25),
    compact,
    undo,
    undoOldest,
    refuse,
    pinOldest,
    reopen,
    changeModel,
  };
  const names = Object.keys(moves) as (keyof typeof moves)[];
  const walk = fc.array(fc.constantFrom(...names), { minLength: 6, maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(walk, async (walked) => {
      const steps = walked.flatMap((name) => moves[name]);
      await expectAlike({ one: memoryStore(), other: memoryStore() }, [say, ...rounds(20), ...steps, find]);
    }),
    parametersFor({ quick: 3, long: 60 }),
  );
}, 600_000);
