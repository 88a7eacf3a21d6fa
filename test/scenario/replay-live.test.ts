import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { getPreset } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { breakpointCache } from "../../packages/lab/src/replay-cache.ts";
import { thresholdsFor } from "../../packages/lab/src/replay-file.ts";
import { createReplayWorld } from "../../packages/lab/src/replay-world.ts";
import { PolicyRun } from "../../packages/lab/src/policy-run.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { PolicyName } from "../../packages/palimpsest/src/schema/policy-names.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { recordingOf } from "../fixture/recording.ts";

const model = "claude-haiku-4-5";
const windowTokens = 100_000;
/** Of the model, on which the reserve of some policies hangs; and what the client lets be asked for without a stream. */
const [outputTokensMax, repliesTokensMax] = [64_000, 8_000];
const turns = 6;
const callsPerTurn = 9;
const summary = "## Primary Request and Intent\nThe gauge is read, part by part.";

/** Reads so many files a turn, then answers. Asked for a summary, it writes one. */
function reader(): Responder {
  let calls = 0;
  const say = (block: object) => ({ move: { kind: "say", blocks: [block] } }) as ReturnType<Responder["respond"]>;
  return {
    name: "reader",
    respond: ({ request }) => {
      if (JSON.stringify(request.messages.at(-1)).includes("<summary>"))
        return say({ type: "text", text: `<summary>\n${summary}\n</summary>` });
      calls += 1;
      if (calls % (callsPerTurn + 1) === 0) return say({ type: "text", text: `Part ${calls} is read.` });
      return say({ type: "tool_use", name: "Read", input: { file_path: `/gauge/${calls}.ts` } });
    },
  };
}

/** An edit as whoever watches is told of it, by the request that it stood before. */
type Told = readonly [round: number, what: string, count: number];

const toldOf = (event: Pick<LoopEvent, "kind">, round: number): readonly Told[] => {
  if (isKind(event, "cleared")) return [[round, event.what, event.count]];
  return isKind(event, "compacted") ? [[round, `compacted at ${event.cause}`, 1]] : [];
};

const isKind = <Kind extends LoopEvent["kind"]>(
  event: Pick<LoopEvent, "kind">,
  kind: Kind,
): event is Extract<LoopEvent, { kind: Kind }> => event.kind === kind;

/** A library's conversation with the simulator, and what it left in its store. */
async function live(policy: PolicyName) {
  const client = new Anthropic({
    apiKey: "k",
    maxRetries: 0,
    baseURL: "http://simulator",
    fetch: simulatorFetch(new Simulator({ responder: reader() })),
  });
  const store = memoryStore();
  const told: Told[] = [];
  let [requests, now] = [0, Date.parse("2026-05-01T08:00:00Z")];
  const context = await openContext({
    model,
    policy,
    store,
    session: "live",
    contextTokens: windowTokens,
    outputTokensMax,
    system: "You read gauges. ".repeat(400),
    tools: [{ name: "Read", description: "Reads a file.", input_schema: { type: "object" } }],
    clock: () => now,
    summarizer: ({ params }) => client.messages.create({ ...params, max_tokens: repliesTokensMax }),
    onEvent: (event) => told.push(...toldOf(event, requests)),
  });
  for (let turn = 0; turn < turns; turn += 1) {
    // The cache is cold before every third turn.
    now += turn % 3 === 2 ? 600_000 : 20_000;
    await context.user(`Read part ${turn}.`);
    for (let calls = [{ id: "", input: {} }]; calls.length > 0;) {
      now += 10_000;
      const request = await context.next();
      const reply = await client.messages.create({ ...request.params, max_tokens: repliesTokensMax });
      requests += 1;
      calls = (await context.assistant(reply)).map(({ id, input }) => ({ id, input }));
      for (const { id, input } of calls)
        await context.toolResult(id, `${JSON.stringify(input)}\n${"const gauge = read(needle) + 1;\n".repeat(500)}`);
    }
  }
  await context.close();
  return { told, recording: await recorded(store), requests };
}

async function recorded(store: ReturnType<typeof memoryStore>) {
  const opened = await store.open();
  if (opened.kind === "failed") throw new Error(opened.message);
  const source = await opened.transcripts.openForReading(sessionId("live"));
  if (source === undefined) throw new Error("the session is gone");
  return recordingOf(await source.read({ start: 0, end: source.size }), opened.blobs);
}

it.each<PolicyName>(["mask", "truncate", "opencode", "palimpsest"])(
  "a conversation is edited in a replay as it was when it was held: %s",
  async (name) => {
    const { told, recording, requests } = await live(name);
    // The engine counts in one way under every policy; how others count is modelled by replays alone.
    const policy = { ...getPreset(name), counting: "usage-and-calibrated-estimate" } as const;
    const world = createReplayWorld(recording);
    const again: Told[] = [];
    const run = new PolicyRun({
      world,
      policy,
      lifetime: "5m",
      refetch: "charged",
      compaction: "extract",
      thresholds: thresholdsFor(policy, { world, request: { windowTokens } }),
      cache: breakpointCache(world.model.cachePrefixTokensMin),
      summarise: () => summary,
      onEvent: (event, round) => again.push(...toldOf(event, round)),
    });
    await run.run();
    expect(run.failedAt).toBeUndefined();
    expect(run.contextByRound).toHaveLength(requests);
    expect(told.length).toBeGreaterThan(0);
    expect(again).toEqual(told);
  },
);
