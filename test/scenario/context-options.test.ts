import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { policyShape } from "../../packages/palimpsest/src/layers/policy-shape.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { ContextOptions } from "../../packages/palimpsest/src/open/options.ts";
import { type HookEvent, type Hooks, noHooks } from "../../packages/palimpsest/src/ports/hooks.ts";
import type { Store } from "../../packages/palimpsest/src/ports/store.ts";
import { policyCatalogue, presetNames, getPreset } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { ablationPolicies } from "../../packages/palimpsest/src/policy/ablation-policies.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { countTokens } from "../../packages/simulator/src/prompt/count-tokens.ts";

const model = "claude-sonnet-5-5";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

/** Calls `read` so many times a turn, then answers. */
const reader = (calls: number): Responder => {
  let left = calls;
  return {
    name: "reader",
    respond: () => {
      const isOver = left === 0;
      left = isOver ? calls : left - 1;
      const call = { type: "tool_use", name: "read", input: { path: `src/${left}.ts` } } as const;
      return { move: { kind: "say", blocks: [isOver ? { type: "text", text: "Done." } : call] } };
    },
  };
};

/** Some turns of nine calls each, by a clock that goes on by itself. */
async function converse(options: Partial<ContextOptions>, turns = 5) {
  const simulator = new Simulator({ responder: reader(9) });
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, baseURL: "http://s", fetch: simulatorFetch(simulator) });
  let time = 0;
  let ids = 0;
  const warnings: string[] = [];
  const context = await openContext({
    model,
    system: "You fix tests.",
    tools,
    contextTokens: 30_000,
    clock: () => (time += 1_000),
    ids: () => `id-${(ids += 1)}`,
    onEvent: (event) => void (event.kind === "warning" && warnings.push(event.code)),
    ...options,
  });
  let largest = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    await context.user(`Part ${turn}.`);
    for (;;) {
      const { params } = await context.next();
      const reply = await client.messages.create(params);
      const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = reply.usage;
      largest = Math.max(largest, input + (read ?? 0) + (written ?? 0));
      const calls = await context.assistant(reply);
      if (calls.length === 0) break;
      for (const call of calls) await context.toolResult(call.id, "line of code; ".repeat(300));
    }
  }
  return { context, largest, warnings };
}

describe("a policy of the caller's own", () => {
  it.each(["palimpsest", "truncate", "mask", "none"] as const)(
    "gives the same edits as its name, if it is the same: %s",
    async (name) => {
      const [named, given] = [await converse({ policy: name }), await converse({ policy: getPreset(name) })];
      expect(given.context.receipts()).toEqual(named.context.receipts());
      expect(given.context.report()).toEqual(named.context.report());
    },
  );

  it("decides: without clearing nothing is cleared", async () => {
    const { context } = await converse({ policy: { ...getPreset("palimpsest"), name: "mine", clear: {} } });
    expect(context.receipts().some(({ kind }) => kind === "clear")).toBe(false);
    expect((await converse({})).context.receipts().some(({ kind }) => kind === "clear")).toBe(true);
  });

  it("is checked: every preset passes, a rule that is misspelt does not", async () => {
    for (const one of [...policyCatalogue(), ...ablationPolicies])
      expect(policyShape.safeParse(one).error?.issues, one.name).toBe(undefined);
    expect(presetNames.length).toBeGreaterThan(5);
    const { clear, ...others } = getPreset("palimpsest");
    const misspelt = { ...others, clear: { ...clear, bySizes: {} } };
    await expect(openContext({ model, policy: misspelt })).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringContaining("policy.clear") as string,
    });
  });
});

describe("hooks", () => {
  const placesIn = async (store: Store): Promise<readonly HookEvent[]> => {
    const events: HookEvent[] = [];
    const fire: Hooks["fire"] = (event, signal) => (events.push(event), noHooks.fire(event, signal));
    const { context } = await converse({ store, session: "s", hooks: { fire } }, 1);
    expect(await context.compact()).toMatchObject({ kind: "compacted" });
    await context.close();
    return events;
  };

  it("are told where the transcript lies, if the store has a place for it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "context-"));
    const events = await placesIn(fileStore({ folder }));
    expect(events.length).toBeGreaterThan(1);
    for (const { transcriptPath = "" } of events) expect(await readFile(transcriptPath, "utf8")).toContain("Part 0.");
  });

  it("are told nothing of it otherwise", async () => {
    for (const event of await placesIn(memoryStore())) expect(event).not.toHaveProperty("transcriptPath");
  });
});

describe("a token counter of the caller's own", () => {
  it("says how large the context is, before the provider has said anything", async () => {
    const tokenCounter = (text: string): number => text.length;
    const system = "You fix tests.";
    const context = await openContext({ model, system, tokenCounter });
    await context.user("Begin with gauge.ts.");
    const { used, size, categories } = context.report();
    expect(used).toBe(system.length + "Begin with gauge.ts.".length);
    expect(size.source).toBe("counter");
    expect(categories).toMatchObject([
      { name: "human", tokens: 20 },
      { name: "systemPrompt", tokens: 14 },
    ]);
    expect((await context.next()).tokens).toBe(used);
  });

  it("counts what came since the provider's last count", async () => {
    const context = await openContext({ model, tokenCounter: countTokens });
    await context.user("Begin.");
    await context.next();
    const usage = { input_tokens: 40, output_tokens: 10 };
    await context.assistant({
      id: "msg_1",
      model,
      content: [{ type: "text", text: "Done." }],
      stop_reason: "end_turn",
      usage,
    });
    const said = "And now something that was never counted by the provider.";
    await context.user(said);
    expect(context.report()).toMatchObject({ used: 50 + countTokens(said), doubtedCounter: undefined });
  });

  it("leads through a long conversation", async () => {
    const { context, largest, warnings } = await converse({ tokenCounter: countTokens }, 8);
    expect(largest).toBeLessThan(30_000);
    expect(warnings).toEqual([]);
    expect(context.receipts().length).toBeGreaterThan(0);
    expect(context.report().doubtedCounter).toBe(undefined);
  });

  it.each([
    ["nothing", () => 0],
    ["a hundred times too much", (text: string) => countTokens(text) * 100],
    ["a tenth", (text: string) => countTokens(text) / 10],
  ])("that says %s is doubted as a provider is: the conversation goes on as without it", async (_, tokenCounter) => {
    const { context, largest, warnings } = await converse({ tokenCounter }, 8);
    expect(largest).toBeLessThan(30_000);
    expect(largest).toBeGreaterThan(15_000);
    expect(warnings).toEqual(["token-counter"]);
    expect(context.report().used).toBeGreaterThan(1_000);
  });

  it("is not asked for what it throws at", async () => {
    const tokenCounter = (text: string): number => {
      if (text.includes("<|endoftext|>")) throw new Error("disallowed special token");
      return countTokens(text);
    };
    const context = await openContext({ model, tokenCounter });
    await context.user(`What is <|endoftext|>? ${"It stands in a text. ".repeat(100)}`);
    expect(context.report().used).toBeGreaterThan(400);
  });

  it.each([
    ["a promise", () => Promise.resolve(1)],
    ["no number", () => Number.NaN],
    ["no function", 5],
  ])("is refused if it gives %s", async (_, tokenCounter) => {
    const options = { model, tokenCounter } as unknown as ContextOptions;
    await expect(openContext(options)).rejects.toMatchObject({ code: "bad-option" });
  });
});

describe("the option saving", () => {
  it.each<[string, ContextOptions["policy"]]>([
    ["a preset that has no levels", "opencode"],
    ["a policy object", getPreset("palimpsest")],
  ])("is refused together with %s", async (_, policy) => {
    const options = { model, saving: "thrifty", ...(policy === undefined ? {} : { policy }) } as const;
    await expect(openContext(options)).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringContaining('saving must be absent if policy is not "palimpsest"') as string,
    });
  });

  it.each<Partial<ContextOptions>>([{}, { policy: "palimpsest" }])("is accepted with %o", async (options) => {
    const context = await openContext({ model, saving: "thrifty", ...options });
    await context.close();
  });
});

describe("the option background", () => {
  const ask = () => Promise.reject(new Error("nobody is asked"));

  it.each<[string, Partial<ContextOptions>, string]>([
    [
      "without a summarizer",
      { background: { extraction: "on" }, store: memoryStore() },
      "unless summarizer is a function",
    ],
    [
      "with a summarizer of another model",
      { background: { dream: "on" }, store: memoryStore(), summarizer: { model, ask } },
      "unless summarizer is a function",
    ],
    ["without a store", { background: { extraction: "on" }, summarizer: ask }, "off without a store"],
  ])("is refused %s", async (_, options, message) => {
    await expect(openContext({ model, ...options })).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringContaining(message) as string,
    });
  });

  it("is refused with a key that it does not have", async () => {
    const background = JSON.parse('{ "extracton": "on" }') as NonNullable<ContextOptions["background"]>;
    await expect(openContext({ model, background, store: memoryStore(), summarizer: ask })).rejects.toMatchObject({
      code: "bad-option",
      message: "The option background has no extracton; it has extraction and dream.",
    });
  });

  it("needs nothing if it is off", async () => {
    const context = await openContext({ model, background: { extraction: "off", dream: "off" } });
    await context.close();
  });
});
