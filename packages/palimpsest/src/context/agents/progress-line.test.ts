import { describe, expect, it } from "vitest";
import { flagValues } from "@palimpsest/cli/internal/settings/flag-values";
import { extractResponder } from "@palimpsest/simulator/internal/responder/extract-responder";
import type { Responder } from "@palimpsest/simulator/internal/responder/responder";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { loggingTool, testAgent } from "../../../../../test/fixture/agent.ts";
import { handClock } from "../../../../../test/fixture/hand-clock.ts";
import { openedForTest, testDeps } from "../../../../../test/fixture/session.ts";
import { says } from "../../../../../test/scenario/support/simulated.ts";
import { CostLedger } from "../../cache/cost-ledger.ts";
import { progressEveryMs, progressFailuresMax, progressStaleMs } from "../../layers/7-agents/limits.ts";
import { ConversationForks } from "../../loop/conversation-forks.ts";
import type { Fork } from "../../ports/fork.ts";
import { nanoUsd, tokens, toolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { resolveForModel } from "../../settings/resolved-settings.ts";
import { resolveSettings } from "../../settings/resolve-settings.ts";
import { pastCosts } from "../past-costs.ts";
import { ProgressLine, type ProgressLineDeps } from "./progress-line.ts";

const settings = (progress: "on" | "off") =>
  resolveForModel(resolveSettings([flagValues([{ flag: progress, text: "progress" }])]), { model: "claude-sonnet-5" });

/** At a gateway whose cache costs nothing to read, and whose other models are not known: a fork costs less. */
const gateway: Partial<Scene> = {
  forkModel: "gateway/big",
  over: {
    models: [{ id: "gateway/big", prices: { input: 1, output: 0, cacheRead: 0, cacheWrite5m: 1, cacheWrite1h: 1 } }],
  },
};

const isProgress = (text: string): boolean => /3 to 5 words/.test(text);

interface Scene {
  /** Answers to progress calls; by default the simulator's rule. */
  readonly answer?: Responder["respond"];
  /** The name by which the price of a fork is found. */
  readonly forkModel?: string;
  readonly over?: Partial<ProgressLineDeps>;
}

/** An agent that has read a file in one turn, with a line beside it. */
async function scene({ answer, forkModel, over }: Scene = {}) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const clock = handClock();
  const asked: { model: string; text: string; tools: number }[] = [];
  const plays = [[{ type: "tool_use", name: "read", input: { file_path: "src/loop.ts" } } as const], says("Read it.")];
  const respond: Responder["respond"] = (input) => {
    const { request } = input;
    const text = JSON.stringify([request.system, request.messages.at(-1)]);
    if (!isProgress(text)) return { move: { kind: "say", blocks: plays.shift() ?? says("Done.") } };
    asked.push({ model: request.model, text, tools: request.tools?.length ?? 0 });
    return answer === undefined ? extractResponder.respond(input) : answer(input);
  };
  const simulator = new Simulator({ responder: { name: "agent", respond } });
  const read = loggingTool("read", { effect: "read", log: { runs: [], most: 0 } });
  const agent = testAgent({ deps, session, simulator, model: "claude-opus-5", tools: [read] });
  const forks = new ConversationForks(agent);
  const lines: string[] = [];
  const { conversation } = agent;
  const spent: number[] = [];
  const progress = new ProgressLine({
    now: clock.now,
    wait: clock.wait,
    model: agent.deps.model,
    settings: () => settings("on"),
    fork: { model: forkModel ?? forks.model, run: (task, signal) => forks.run(task, signal) },
    costs: conversation.costs,
    spend: { mayStart: async (estimate) => (spent.push(estimate), { kind: "ok" }) },
    line: conversation.line,
    agentNanos: () => nanoUsd(10_000_000_000),
    cacheMillis: () => 300_000,
    record: (draft) => session.append(draft),
    onLine: (text) => lines.push(text),
    ...over,
  });
  const turn = async (text = "Find the loop."): Promise<void> => {
    for (const event of await agent.turn(text)) progress.observe(event);
  };
  return { progress, clock, lines, asked, spent, agent, session, turn };
}

const says3 =
  (text: string): Responder["respond"] =>
  () => ({ move: { kind: "say", blocks: says(text) } });
const readCall = (path: string) =>
  ({ kind: "call-start", id: toolUseId("t9"), tool: "read", input: { path } }) as const;

describe("every 30 seconds", () => {
  it("the cheapest model says what the agent does, from its newest messages, without tools", async () => {
    const { progress, clock, lines, asked, turn, agent, session } = await scene();
    await turn();
    progress.start();
    await clock.advance(progressEveryMs - 1);
    expect(asked).toHaveLength(0);
    await clock.advance(1);
    await expect.poll(() => lines).toEqual(["Reading loop.ts", "Reading loop.ts in src"]);
    expect(asked).toMatchObject([{ model: "claude-haiku-5-5", tools: 0 }]);
    expect(asked[0]?.text).not.toContain("You help.");
    await progress.stop();
    const { agents } = agent.conversation.costs.toJSON().bySource;
    expect(agents).toMatchObject({ requests: 1 });
    expect(pastCosts(session).own.toJSON().bySource.agents?.totalNanos).toBe(agents?.totalNanos);
  });

  it("nothing is asked if nothing was said since", async () => {
    const { progress, asked, turn } = await scene();
    await turn();
    expect(await progress.ask()).toMatchObject({ kind: "line", way: "small" });
    // Its cost is an entry of the log by now, which is nothing that was said.
    expect(await progress.ask()).toEqual({ kind: "skipped", why: "unchanged" });
    await turn("Go on.");
    expect(await progress.ask()).toMatchObject({ kind: "line" });
    expect(asked).toHaveLength(2);
  });

  it("nothing is asked while a call runs", async () => {
    const gate = Promise.withResolvers<void>();
    const { progress, asked, turn, clock } = await scene({
      over: { spend: { mayStart: () => gate.promise.then(() => ({ kind: "ok" })) } },
    });
    await turn();
    progress.start();
    await clock.advance(progressEveryMs);
    expect(await progress.ask()).toEqual({ kind: "skipped", why: "running" });
    await clock.advance(progressEveryMs);
    gate.resolve();
    await expect.poll(() => asked).toHaveLength(1);
    await progress.stop();
    expect(asked).toHaveLength(1);
  });

  it("what is asked is aborted when the agent ends, and no line comes any more", async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const fork: Fork = {
      model: "gateway/big",
      run: (_, signal) => {
        started.resolve(signal);
        return new Promise((resolve) => {
          const end = () => resolve({ kind: "answered", text: "Reading loop.ts again", said: [], usage: [] });
          signal.addEventListener("abort", end, { once: true });
        });
      },
    };
    const { progress, clock, lines, turn } = await scene({ over: { ...gateway.over, fork } });
    await turn();
    progress.start();
    const asked = progress.ask();
    expect((await started.promise).aborted).toBe(false);
    await progress.stop();
    expect(await asked).toEqual({ kind: "skipped", why: "ended" });
    await clock.advance(10 * progressEveryMs);
    expect(clock.waiting()).toBe(0);
    progress.observe(readCall("b.ts"));
    expect(lines).toEqual(["Reading loop.ts"]);
    expect(await progress.ask()).toEqual({ kind: "skipped", why: "ended" });
  });
});

describe("a fork", () => {
  it("is asked if it costs less, reads the agent's prefix from the cache, writes nothing, and its calls are denied", async () => {
    const { progress, asked, turn, agent, session } = await scene(gateway);
    await turn();
    expect(await progress.ask()).toEqual({ kind: "line", text: "Reading loop.ts in src", way: "fork" });
    expect(asked).toMatchObject([{ model: "claude-opus-5", tools: 1 }]);
    const { agents } = agent.conversation.costs.toJSON().bySource;
    expect(agents).toMatchObject({ requests: 1, tokensByKind: { cacheWrite5m: 0, cacheWrite1h: 0 } });
    expect(agents?.tokensByKind.cacheRead).toBeGreaterThan(1_000);
    expect(pastCosts(session).own.toJSON().bySource.agents?.tokensByKind).toEqual(agents?.tokensByKind);
  });

  it("that calls a tool instead of answering has failed after one reply", async () => {
    const { progress, turn, agent } = await scene({
      ...gateway,
      answer: () => ({ move: { kind: "say", blocks: [{ type: "tool_use", name: "read", input: {} }] } }),
    });
    await turn();
    expect(await progress.ask()).toMatchObject({ kind: "failed", message: "rounds" });
    expect(agent.conversation.costs.toJSON().bySource.agents?.requests).toBe(1);
  });
});

describe("a line that is none", () => {
  it.each(["Finished reading loop.ts", "Reading loop.ts to find all retries", "Thinking about the request"])(
    "is dropped, and the old one stays: %s",
    async (bad) => {
      let text = "Reading loop.ts for retries";
      const { progress, lines, turn } = await scene({ answer: (input) => says3(text)(input) });
      await turn();
      await progress.ask();
      text = bad;
      await turn("Go on.");
      expect(await progress.ask()).toMatchObject({ kind: "dropped" });
      expect(lines).toEqual(["Reading loop.ts", "Reading loop.ts for retries"]);
      expect(progress.text).toBe("Reading loop.ts for retries");
    },
  );

  it("costs money all the same, and after three in a row no more is asked", async () => {
    const { progress, asked, turn, agent } = await scene({ answer: says3("Done.") });
    for (let at = 0; at <= progressFailuresMax; at += 1) {
      await turn(`Part ${at}`);
      await progress.ask();
    }
    expect(asked).toHaveLength(progressFailuresMax);
    expect(await progress.ask()).toEqual({ kind: "skipped", why: "failing" });
    expect(agent.conversation.costs.toJSON().bySource.agents?.requests).toBe(progressFailuresMax);
  });
});

describe("without a model", () => {
  it.each<readonly [string, Partial<ProgressLineDeps>]>([
    ["off", { settings: () => settings("off") }],
    ["budget", { spend: { mayStart: async () => ({ kind: "over", message: "", budget: noBudget }) } }],
    ["budget", { agentNanos: () => nanoUsd(0) }],
  ])("the newest call is the line: %s", async (why, over) => {
    const { progress, lines, asked, turn } = await scene({ over });
    await turn();
    expect(await progress.ask()).toEqual({ kind: "skipped", why });
    progress.observe(readCall("src/queue.ts"));
    expect(lines).toEqual(["Reading loop.ts", "Reading queue.ts"]);
    expect(asked).toEqual([]);
  });

  it("a model's line stays for a minute, then a newer call takes its place", async () => {
    const { progress, clock, turn } = await scene();
    await turn();
    await progress.ask();
    await clock.advance(progressStaleMs - 1);
    progress.observe(readCall("src/a.ts"));
    expect(progress.text).toBe("Reading loop.ts in src");
    await clock.advance(1);
    progress.observe(readCall("src/b.ts"));
    expect(progress.text).toBe("Reading b.ts");
  });
});

const noBudget = {
  mainNanos: nanoUsd(0),
  backgroundNanos: nanoUsd(0),
  allowedNanos: nanoUsd(0),
  todayNanos: nanoUsd(0),
  todayAllowedNanos: nanoUsd(0),
};

describe("never rejects", () => {
  it.each<readonly [string, Partial<ProgressLineDeps>]>([
    ["a guard", { spend: { mayStart: () => Promise.reject(new Error("no")) } }],
    [
      "a conversation",
      {
        line: {
          snapshot: () => {
            throw new Error("no");
          },
          usedTokens: tokens(0),
          uncountedTokens: tokens(0),
        },
      },
    ],
    [
      "prices",
      {
        agentNanos: () => {
          throw new Error("no");
        },
      },
    ],
  ])("if %s breaks", async (_, over) => {
    const { progress, turn } = await scene({ over });
    await turn();
    expect(await progress.ask()).toMatchObject({ kind: "failed" });
  });

  it("if the log can't be written: only the record of the cost is lost", async () => {
    const { progress, turn } = await scene({ over: { record: () => Promise.reject(new Error("disk")) } });
    await turn();
    expect(await progress.ask()).toMatchObject({ kind: "line" });
  });

  it("if the provider does not know the cheapest model: the agent's own is asked from then on", async () => {
    let tries = 0;
    const usage: JsonObject = { input_tokens: 1, output_tokens: 1 };
    const { progress, turn } = await scene({
      over: {
        model: {
          provider: "anthropic",
          describe: () => Promise.resolve(undefined),
          send: async function* ({ model }) {
            tries += 1;
            if (model === "claude-haiku-5-5") {
              yield { kind: "failure", failure: { why: "not-found", message: "no such model", retry: "never" } };
              return;
            }
            yield { kind: "block-end", index: 0, block: { type: "text", text: "Reading loop.ts again" } };
            yield { kind: "reply-end", stopReason: "end_turn", usage };
          },
        },
        costs: new CostLedger(),
      },
    });
    await turn();
    expect(await progress.ask()).toMatchObject({ kind: "failed" });
    await turn("Go on.");
    expect(await progress.ask()).toMatchObject({ kind: "line", text: "Reading loop.ts again" });
    expect(tries).toBe(2);
  });
});
