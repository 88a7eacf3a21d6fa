import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import { getPreset } from "../../../packages/palimpsest/src/policy/policy-catalogue.ts";
import {
  expectAccepted,
  expectOnlyTrueWords,
  expectRecoverable,
  eventsOf,
  firstShown,
  lastRequest,
  saidIn,
  times,
} from "./compaction-checks.ts";
import { compact, type CompactionWorld, compactionWorld, requestOf, taskText } from "./compaction-world.ts";
import { asksForSummary, inventedQuotes, type SummaryAnswer } from "./summary-answers.ts";
import type { SeenRequest } from "./whole-agent.ts";

/** Lies, invents, repeats, talks too much and obeys; between them it does what it should, or every summary would be ours. */
const adversary: readonly SummaryAnswer[] = [
  "invents-quotes",
  "good",
  "lies",
  "imitates-a-system-turn",
  "three-times-too-long",
  "obeys-the-history",
  "good",
  "repeats-last-reply",
  "tool-call",
];

/** So many compactions in a row of one session: nothing that the user said is lost, nothing is invented, nothing is refused. */
export async function expectSurvives(compactions: number): Promise<void> {
  const world = await compactionWorld({ windowTokens: 60_000 });
  world.summariser.answers = Array.from({ length: compactions }, () => adversary).flat();
  const agent = await world.open();
  const sizes: number[] = [];
  const results = new Map<string, string>();
  for (let nth = 1; nth <= compactions; nth += 1) {
    await world.turn(agent, { text: taskText(nth), rounds: 6 });
    const { committed } = await compact(agent);
    if (committed.kind === "committed") sizes.push(committed.tokensAfter);
    for (const [id, text] of firstShown(world.seen)) if (!results.has(id)) results.set(id, text);
    expectOnlyTrueWords(lastRequest(world), world.said);
    expectAccepted(world, agent);
    if (nth === Math.min(10, compactions)) await expectAllQuoted(world, agent);
    world.seen.splice(0);
  }
  expect(sizes.length).toBeGreaterThanOrEqual(compactions * 0.9);
  expect(Math.max(...sizes)).toBeLessThan(30_000);
  await world.turn(agent, { text: taskText(compactions + 1), rounds: 0 });
  const request = lastRequest(world);
  expect(saidIn(request)).toContain(taskText(1));
  for (const quote of inventedQuotes) expect(times(request, `"${quote}"`)).toBe(0);
  await agent.close();
  await expectRecoverable(world, { id: agent.session.id, results });
}

/** Every message of the user is verbatim in the next request, as far as the ledger's budget goes; here it does. */
async function expectAllQuoted(world: CompactionWorld, agent: Agent): Promise<void> {
  const tokens = world.said.reduce((sum, { length }) => sum + length / 2, 0);
  const share = getPreset("palimpsest").summary?.userMessages?.windowShareMax ?? 0;
  expect(tokens).toBeLessThan(60_000 * share);
  await world.turn(agent, { text: "And now?", rounds: 0 });
  expect(saidIn(lastRequest(world))).toEqual(world.said);
}

export interface Endless {
  readonly rounds: number;
  readonly windowTokens: number;
  readonly wordsPerRound: number;
  readonly roundsPerTurn: number;
}

/** What one round took in a quarter of the session: of the context, and of the heap behind a collection. */
interface Quarter {
  readonly contextTokens: number;
  readonly heapBytes: number;
  /** Requests since the session began. */
  readonly requests: number;
}

/** A request of the session, as far as its price goes. */
interface PaidRequest {
  readonly usd: number;
  readonly asksFor: "round" | "summary";
}

/** A session without an end: what a round takes in the last quarter is what it took in the second. */
export async function expectFlat(endless: Endless): Promise<void> {
  const { rounds, windowTokens, wordsPerRound, roundsPerTurn } = endless;
  const world = await compactionWorld({ windowTokens, wordsPerRound });
  const agent = await world.open();
  const quarters: Quarter[] = [];
  const paid: PaidRequest[] = [];
  let events: LoopEvent[] = [];
  let compactions = 0;
  const turns = Math.ceil(rounds / roundsPerTurn);
  for (let turn = 1; turn <= turns; turn += 1) {
    const told = await world.turn(agent, { text: taskText(turn), rounds: roundsPerTurn - 1 });
    expect(told.at(-1)).toMatchObject({ reason: "answered" });
    expectAccepted(world, agent);
    paid.push(...world.seen.splice(0).map(paidRequest));
    events.push(...told.filter(({ kind }) => kind === "request-start" || kind === "compacted"));
    if (turn % Math.floor(turns / 4) !== 0) continue;
    const asked = eventsOf(events, "request-start").map(({ tokens }) => tokens);
    compactions += eventsOf(events, "compacted").length;
    quarters.push({
      contextTokens: asked.reduce((sum, one) => sum + one, 0) / asked.length,
      heapBytes: heapBytes(),
      requests: paid.length,
    });
    events = [];
  }
  expect(compactions).toBeGreaterThanOrEqual(4);
  const [first, second, third, last] = quarters;
  if (first === undefined || second === undefined || third === undefined || last === undefined)
    throw new Error("there were no four quarters");
  expect(last.contextTokens).toBeLessThan(second.contextTokens * flatMax);
  const secondUsd = usdPerRound(paid.slice(first.requests, second.requests));
  const lastUsd = usdPerRound(paid.slice(third.requests, last.requests));
  expect(lastUsd).toBeLessThan(secondUsd * flatMax);
  expect(last.heapBytes).toBeLessThan(second.heapBytes * flatMax + heapSlackBytes);
  await world.turn(agent, { text: "And now?", rounds: 0 });
  expect(saidIn(lastRequest(world))).toContain(taskText(1));
  await agent.close();
}

const paidRequest = ({ body, costUsd }: SeenRequest): PaidRequest => ({
  usd: costUsd,
  asksFor: asksForSummary(requestOf(body)) ? "summary" : "round",
});

/**
 * The price of a round, its share of the summaries included. Counted from the first compaction to the last one: the project's
 * path stands in the requests, so with a path of another length one more compaction, which costs as much as two rounds or
 * more, may fall into a quarter.
 */
function usdPerRound(paid: readonly PaidRequest[]): number {
  const isBeginning = ({ asksFor }: PaidRequest, at: number): boolean =>
    asksFor === "summary" && paid[at - 1]?.asksFor !== "summary";
  const whole = paid.slice(paid.findIndex(isBeginning), paid.findLastIndex(isBeginning));
  const rounds = whole.filter(({ asksFor }) => asksFor === "round").length;
  expect(rounds).toBeGreaterThan(0);
  return whole.reduce((sum, { usd }) => sum + usd, 0) / rounds;
}

/** Until its budget is reached, the ledger grows by every message of the user. */
const flatMax = 1.1;

/** The simulator remembers every request of the last hour of its clock, which stands still. */
const heapSlackBytes = 16 * 2 ** 20;

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
