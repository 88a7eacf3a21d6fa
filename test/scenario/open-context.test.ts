import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { openContext } from "../../src/open/open-context.ts";
import { simulatorFetch } from "../../src/simulator/http/fetch.ts";
import { Simulator } from "../../src/simulator/simulator.ts";
import type { Actor } from "../../src/simulator/actor/actor.ts";

const model = "claude-sonnet-5-5";
const system = "You fix tests.";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

/** Calls `read` so many times a turn, then answers. */
const reader = (calls: number): Actor => {
  let left = calls;
  return {
    name: "reader",
    play: () => {
      if (left === 0) {
        left = calls;
        return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
      }
      left -= 1;
      return { move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: { path: `src/${left}.ts` } }] } };
    },
  };
};

const clientOf = (simulator: Simulator): Anthropic =>
  new Anthropic({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator", fetch: simulatorFetch(simulator) });

describe("openContext, with the official client", () => {
  it("keeps a conversation going for rounds on rounds in a window of 30,000 tokens, and the first message stays", async () => {
    const client = clientOf(new Simulator({ actor: reader(9) }));
    const context = await openContext({ model, system, tools, contextTokens: 30_000 });
    const first = "The very first thing that was said: fix gauge.test.ts, and touch nothing else.";
    let requests = 0;
    let largest = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      await context.user(turn === 0 ? first : `Go on with part ${turn}.`);
      for (;;) {
        const request = await context.next();
        requests += 1;
        largest = Math.max(largest, request.tokens);
        const reply = await client.messages.create(request.params);
        const calls = await context.assistant(reply);
        if (calls.length === 0) break;
        for (const call of calls) await context.toolResult(call.id, `${JSON.stringify(call.input)} ${"line of code; ".repeat(300)}`);
      }
    }
    expect(requests).toBe(120);
    expect(largest).toBeLessThan(30_000);
    const { params } = await (await context.user("What did I say first?"), context.next());
    expect(JSON.stringify(params.messages)).toContain(first);
    expect(context.receipts().length).toBeGreaterThan(0);
    expect(context.costs().session.requests).toBe(120);
    expect(context.report().used).toBeLessThan(30_000);
    expect((await context.recall("src/8.ts")).length).toBeGreaterThan(0);
    await context.close();
  });
});
