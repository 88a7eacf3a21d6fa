import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { bpeCounter } from "../../packages/palimpsest/src/model/bpe/bpe-counter.ts";
import { estimateFixedPart, measureFixedPart } from "../../packages/palimpsest/src/tokens/fixed-part.ts";
import { newWorld } from "./support/cli-world.ts";

/** Safe is over; what is far over compacts early and shows a number that nobody believes. */
const overMax = 1.15;

describe("14. The first request of a new session, which nobody has counted yet", () => {
  it.each(["claude-sonnet-5-5", "claude-opus-4-7", "claude-haiku-4-5"])(
    "is estimated closely, system prompt and tools included: %s",
    async (model) => {
      const world = await newWorld();
      const said = await world.callWith(
        { env: { PALIMPSEST_MODEL: model } },
        "-p",
        "What is this project about?",
        "--model",
        "simulator",
        "--output-format",
        "stream-json",
      );
      const events = said.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { type?: string; tokens?: number; usage?: Record<string, number> });
      const estimated = events.find(({ type }) => type === "request-start")?.tokens ?? 0;
      const usage = events.find(({ type }) => type === "reply-end")?.usage;
      const counted = (usage?.["input"] ?? 0) + (usage?.["cacheWrite"] ?? 0) + (usage?.["cacheRead"] ?? 0);
      expect(counted).toBeGreaterThan(2_500);
      expect(estimated / counted).toBeGreaterThan(0.99);
      expect(estimated / counted).toBeLessThan(overMax);
    },
  );

  it("likewise against an independent tokenizer, for the models that have it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "first-"));
    const env = { PALIMPSEST_HOME: join(folder, "home"), HOME: folder };
    const agent = await openAgent({
      env,
      cwd: folder,
      version: "0",
      flags: [],
      session: { kind: "new" },
      model: { kind: "none", message: "nobody" },
      tools: { allow: [], deny: [] },
      jobs: "on",
    });
    if (agent.kind !== "agent") throw new Error(agent.kind);
    const { systemBlocks, tools } = agent.context.conversation.baseline;
    const part = { model: "gpt-5", systemPrompts: systemBlocks.map(({ text }) => text), tools, memoryFiles: [] };
    const outcome = await bpeCounter();
    if (outcome.kind !== "counter") throw new Error(outcome.message);
    const counted = await outcome.counter.countRequest({ system: part.systemPrompts, tools, messages: [] });
    if (counted.kind !== "counted") throw new Error(counted.message);
    const estimated = estimateFixedPart(measureFixedPart(part)).tokens;
    expect(estimated / counted.tokens).toBeGreaterThan(1);
    expect(estimated / counted.tokens).toBeLessThan(overMax);
    await agent.close();
  });
});
