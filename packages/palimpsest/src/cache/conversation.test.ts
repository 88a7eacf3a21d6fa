import { expect, it } from "vitest";
import { Asking, longText } from "../../../../test/fixture/asking.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import type { Block, Message } from "../schema/block.ts";
import { millis, tokens } from "../schema/brand.ts";
import { type JsonObject, parseJson } from "../schema/json.ts";
import { readUsage } from "../schema/usage.ts";
import { shortHash } from "@palimpsest/simulator/internal/prompt/canonical-block";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { makeBaseline } from "./baseline.ts";
import { BreakDetector, type CacheBreak } from "./break-detector.ts";
import { planBreakpoints } from "./breakpoint.ts";
import { CostLedger } from "./cost-ledger.ts";
import { RequestSerializer } from "./request-serializer.ts";
import { WrittenPlaces } from "./written-places.ts";

const model = "claude-sonnet-5-5";
const lifetimes = { fixed: "1h", rolling: "5m" } as const;
const text = (words: string): Block => ({ type: "text", text: words });

/** The parts of this folder around a strict provider, as the loop puts them together. */
class Conversation {
  readonly #asking = new Asking(new Simulator({ responder: playing(says("Go on.")) }));
  readonly #pieces = new RequestSerializer();
  readonly #written = new WrittenPlaces();
  readonly #detector = new BreakDetector({ hash: shortHash });
  readonly #baseline = makeBaseline({
    model,
    betas: [],
    tools: [{ name: "Read", description: longText("reading"), input_schema: { type: "object" } }],
    system: [{ name: "rules", text: longText("rule") }],
  });
  readonly costs = new CostLedger();
  messages: Message[] = [];
  costUsd = 0;

  async say(
    ...words: readonly string[]
  ): Promise<{ readonly usage: JsonObject; readonly broke?: CacheBreak | undefined }> {
    const { messages } = this;
    messages.push({ role: "user", content: words.map(text) });
    const { tools, systemBlocks: system, betas } = this.#baseline;
    const breakpoints = planBreakpoints({
      tools,
      system,
      messages,
      written: this.#written.places(messages),
      lifetimes,
    });
    const bytes = this.#pieces.bytes({ model, maxTokens: 200, tools, system, messages, breakpoints });
    const replied = await this.#asking.reply(parseJson(new TextDecoder().decode(bytes)) as JsonObject);
    if (replied.kind === "error") throw new Error(replied.body.error.message);
    this.#written.recordWrites(messages, breakpoints);
    const usage = parseJson(JSON.stringify(replied.message.usage)) as JsonObject;
    const counted = readUsage({ usage });
    const sent = { model, tools, system, betas, messages, lifetime: lifetimes.rolling, at: millis(0) };
    const broke = counted === undefined ? undefined : this.#detector.observe(sent, counted);
    this.costs.add({ source: "main", model, usage, headerTokens: tokens(0) });
    this.costUsd += replied.costUsd;
    messages.push({ role: "assistant", content: [text("Go on.")] });
    return { usage, broke };
  }
}

const many = (count: number, of: string): readonly string[] => Array.from({ length: count }, (_, at) => `${of} ${at}`);

it("the provider reads everything that was sent before, in rounds of any length, and charges what the ledger says", async () => {
  const conversation = new Conversation();
  let sentTokens = 0;
  for (const count of [1, 3, 70, 1, 25, 19, 20, 21, 2]) {
    const { usage, broke } = await conversation.say(...many(count, `round of ${count}`));
    expect(usage["cache_read_input_tokens"]).toBe(sentTokens);
    expect(usage["input_tokens"]).toBe(0);
    expect(broke).toBeUndefined();
    sentTokens += Number(usage["cache_creation_input_tokens"]);
  }
  expect(conversation.costs.session.totalNanos).toBe(Math.round(conversation.costUsd * 1e9));
});

it("an edit behind everyone's back is found, and reading goes on before it", async () => {
  const conversation = new Conversation();
  await conversation.say(longText("first"));
  const { usage: second } = await conversation.say(longText("second"));
  await conversation.say(longText("third"));
  conversation.messages[4] = { role: "user", content: [text("edited")] };
  const { usage, broke } = await conversation.say("fourth");
  expect(broke?.cause).toEqual({ kind: "message", message: 4, block: 0 });
  expect(usage["cache_read_input_tokens"]).toBe(
    Number(second["cache_read_input_tokens"]) + Number(second["cache_creation_input_tokens"]),
  );
});
