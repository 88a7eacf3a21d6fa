import { expect } from "vitest";
import { CostLedger, toUsd } from "../../../packages/palimpsest/src/cache/cost-ledger.ts";
import { pastRequests } from "../../../packages/palimpsest/src/context/past-costs.ts";
import { checkLog } from "../../../packages/palimpsest/src/session/check-log.ts";
import { anthropicModel } from "../../../packages/palimpsest/src/model/anthropic/client.ts";
import type { Tool } from "../../../packages/palimpsest/src/ports/tool.ts";
import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import { millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import type { Responder, MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import { FaultChoice, parseProbableFaults } from "../../../packages/simulator/src/fault/fault.ts";
import { simulatorFetch } from "../../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";
import { TraceWriter } from "../../../packages/simulator/src/trace/trace-writer.ts";
import { violations } from "../../../packages/palimpsest/src/transcript/violations.ts";
import { testAgent } from "../../fixture/agent.ts";
import { openedForTest, reopened, testDeps, testSession } from "../../fixture/session.ts";

/** Nearly every second request. Breaks are at the first block, between two blocks and inside the last one. */
const faults = [
  "overloaded 0.05",
  "rate-limit 0.04",
  "rate-limit retry-after=2 0.04",
  "server-error 0.05",
  "timeout 0.03",
  "reset 0.05",
  "break after=1 0.03",
  "break after=6 0.04",
  "break after=11 0.04",
  "break-utf8 0.04",
  "overloaded-midway after=8 0.04",
  "duplicate 0.03",
  "hang 0.01",
];

const silenceMs = millis(40);

/** Says where it is, calls, and says that it is done: words that stand in one block of one turn only. */
const talker: Responder = {
  name: "talker",
  respond: ({ request }) => {
    const { content } = request.messages.at(-1) ?? { content: "" };
    const blocks = typeof content === "string" ? [] : content;
    const asked = request.messages.findLast(({ role }) => role === "user");
    const turn = /<turn \d+>/.exec(JSON.stringify(asked))?.[0] ?? `<round ${request.messages.length}>`;
    const said: MoveBlock[] = blocks.some(({ type }) => type === "tool_result")
      ? [{ type: "text", text: `${turn} is over: ein schönes Ende, 終わり.` }]
      : [
          { type: "text", text: `${turn} begins.` },
          { type: "text", text: "Two calls, naïvely." },
          { type: "tool_use", name: "note", input: { of: turn } },
          { type: "tool_use", name: "note", input: { of: turn, again: 1 } },
        ];
    return { move: { kind: "say", blocks: said } };
  },
};

interface TracedReply {
  readonly type: string;
  readonly n: number;
  readonly status: number;
  readonly outcome: string;
  readonly messageId?: string;
  readonly costUsd?: number;
  readonly costUsdByKind?: Readonly<Record<string, number>>;
  readonly pricesUsdPerMTok?: Readonly<Record<string, number>>;
}

/** So many turns, each request with a fault by chance: whatever fails, what is on disk is whole and nothing is there twice. */
export async function expectWholeDespiteFaults(turns: number, seed: number): Promise<void> {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const replies: TracedReply[] = [];
  const read = parseProbableFaults(faults);
  if (read.kind === "wrong") throw new Error(read.message);
  const trace = new TraceWriter({
    write: async (line) => {
      if (line.startsWith('{"type":"reply"')) replies.push(JSON.parse(line) as TracedReply);
    },
  });
  const simulator = new Simulator({
    responder: talker,
    seed,
    faults: new FaultChoice({ faults: read.faults, seed }),
    trace,
  });
  const ran: string[] = [];
  const model = anthropicModel({ apiKey: "k", fetch: simulatorFetch(simulator), now: deps.now, timeoutMs: silenceMs });
  const agent = testAgent({ deps, session, simulator, tools: [noteTool(ran)], over: { model } });
  const ends: Extract<LoopEvent, { kind: "turn-end" }>[] = [];
  const begun: string[] = [];
  const breaks: LoopEvent[] = [];
  let retries = 0;
  for (let n = 1; n <= turns; n += 1) {
    for (const event of await agent.turn(`Do <turn ${n}>`)) {
      if (event.kind === "turn-end") ends.push(event);
      if (event.kind === "reply-start") begun.push(event.id);
      if (event.kind === "cache-break") breaks.push(event);
      if (event.kind === "retry-start") retries += 1;
    }
  }

  expect(ends).toHaveLength(turns);
  for (const { reason, message } of ends) if (reason !== "answered") expect(message).toMatch(/./);
  expect(retries).toBeGreaterThan(turns / 5);
  expect(replies.filter(({ status }) => status === 400)).toEqual([]);
  expect(breaks).toEqual([]);
  expect(new Set(ran).size).toBe(ran.length);
  const { messages } = session.view();
  expect(violations(messages, { end: "any" })).toEqual([]);
  expectSaidOnce(messages, turns);

  const { session: paid } = agent.conversation.costs.toJSON();
  expect(paid.requests).toBe(begun.length);
  expect(begun.length).toBeGreaterThan(replies.filter(({ outcome }) => outcome === "delivered").length);
  expect(toUsd(paid.totalNanos)).toBeCloseTo(costUsdOf(replies, begun), 8);

  const again = await reopened(deps, session);
  expect(again.view().messages).toEqual(messages);
  const booked = new CostLedger();
  for (const request of pastRequests({ entries: again.fold.path.everyBranch, session: again.id })) booked.add(request);
  expect([booked.session.requests, booked.session.totalNanos]).toEqual([paid.requests, paid.totalNanos]);
  await again.close();
  const source = await deps.transcripts.openForReading(testSession);
  if (source === undefined) throw new Error("the log is gone");
  expect((await checkLog(source)).damage).toEqual([]);
}

/** What the simulator billed. Of a reply that broke off a client knows its prompt and, as the first event says, one token more. */
function costUsdOf(replies: readonly TracedReply[], begun: readonly string[]): number {
  const replyById = new Map(replies.map((reply) => [reply.messageId, reply]));
  return begun.reduce((sum, id) => {
    const { outcome, costUsd = 0, costUsdByKind, pricesUsdPerMTok } = replyById.get(id) ?? {};
    if (outcome === "delivered") return sum + costUsd;
    return sum + costUsd - (costUsdByKind?.["output"] ?? 0) + (pricesUsdPerMTok?.["output"] ?? 0) / 1e6;
  }, 0);
}

/** Every user message is there once, every reply's words in one block at most. */
function expectSaidOnce(messages: readonly Message[], turns: number): void {
  const texts = messages.flatMap(({ role, content }) =>
    content.flatMap((block) => (block.type === "text" ? [`${role} ${block.text}`] : [])),
  );
  const starting = (words: string): number => texts.filter((text) => text.startsWith(words)).length;
  for (let n = 1; n <= turns; n += 1) {
    expect(starting(`user Do <turn ${n}>`)).toBe(1);
    expect(starting(`assistant <turn ${n}> begins`)).toBeLessThanOrEqual(1);
  }
}

/** Tells which calls ran. */
const noteTool = (ran: string[]): Tool => ({
  name: "note",
  description: "Takes a note.",
  inputSchema: { type: "object" },
  effect: "write",
  plan: (_input, { toolUse }) =>
    Promise.resolve({
      kind: "ready",
      acts: [],
      run: () => {
        ran.push(toolUse);
        return Promise.resolve({ content: "noted", summary: "noted" });
      },
    }),
});
