import { auditSummary } from "../../packages/palimpsest/src/layers/4-compact/audit.ts";
import { buildLedger } from "../../packages/palimpsest/src/layers/4-compact/user-ledger.ts";
import type { AgentDeps } from "../../packages/palimpsest/src/context/deps.ts";
import { appendBoundary, boundaryDrafts } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { makeCheckpoint } from "../../packages/palimpsest/src/session/checkpoint.ts";
import {
  draftBoundary,
  createCompactionContext,
} from "../../packages/palimpsest/src/context/compact/boundary-draft.ts";
import { waitingTokensMax } from "../../packages/palimpsest/src/layers/4-compact/compaction-budgets.ts";
import { extractFromFacts } from "../../packages/palimpsest/src/context/compact/summary-outcome.ts";
import { computeScope } from "../../packages/palimpsest/src/context/compact/scope.ts";
import { SessionFactBook } from "../../packages/palimpsest/src/context/compact/session-fact-book.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";
import { langChainMessages, trimmed } from "../langchain.ts";
import { LimitSessions } from "../limit-session.ts";
import { type BenchCase, type Figure, median, timed } from "../measure.ts";

const warmRuns = 3;
const runs = 9;
const peerRuns = 5;

/** The last rung: how long a full session waits until it can continue, if no model writes the summary. */
export const compactCase: BenchCase = {
  name: "compact",
  run: async () => [
    ...(await figuresAt({ windowTokens: 200_000, limitMillis: 100 })),
    ...(await figuresAt({ windowTokens: 1_000_000, limitMillis: 1_000 })),
  ],
};

interface Size {
  readonly windowTokens: number;
  readonly limitMillis: number;
}

async function figuresAt({ windowTokens, limitMillis }: Size): Promise<readonly Figure[]> {
  const sessions = await LimitSessions.make(windowTokens);
  try {
    const rescues = { fresh: new Array<Rescue>(), read: new Array<Rescue>() };
    const parts: Parts[] = [];
    let messages: readonly Message[] = [];
    for (let run = -warmRuns; run < runs; run += 1) {
      const fresh = await rescue(sessions, "fresh");
      const read = await rescue(sessions, "read");
      const split = await splitOf(sessions);
      if (run < 0) continue;
      rescues.fresh.push(fresh);
      rescues.read.push(read);
      parts.push(split.parts);
      messages = split.messages;
    }
    return figuresOf({ sessions, limitMillis, rescues, parts, peers: await peersOf(messages, windowTokens) });
  } finally {
    await sessions.remove();
  }
}

type FactsRead = "fresh" | "read";

/** Milliseconds from a user message that finds the context over the limit to the boundary on disk. */
interface Rescue {
  readonly wall: number;
  /** CPU time of this thread, which excludes other load of the machine. */
  readonly work: number;
}

async function rescue(sessions: LimitSessions, facts: FactsRead): Promise<Rescue> {
  const agent = await sessions.open();
  if (facts === "read") await agent.context.conversation.compacting?.facts.facts();
  const stop = new AbortController();
  let took: Rescue | undefined;
  const start = performance.now();
  const before = process.threadCpuUsage();
  for await (const event of agent.turn("And now go on.", stop.signal)) {
    if (event.kind !== "compacted") continue;
    const { user, system } = process.threadCpuUsage(before);
    took = { wall: performance.now() - start, work: (user + system) / 1_000 };
    if (event.path !== "extractive") throw new Error(`a model wrote it: ${event.path}`);
    stop.abort();
  }
  await agent.close();
  if (took === undefined) throw new Error("nothing was compacted");
  return took;
}

const partNames = ["facts", "ground", "extract", "ledger", "audit", "draft", "receipt", "checkpoint", "write"] as const;
/** In milliseconds. */
type Parts = Readonly<Record<(typeof partNames)[number], number>>;

interface Split {
  readonly parts: Parts;
  /** Messages of the view before the compaction. */
  readonly messages: readonly Message[];
}

/** The same steps one by one. A turn drafts twice: for the proposal and for the commit. */
async function splitOf(sessions: LimitSessions): Promise<Split> {
  const agent = await sessions.open();
  const { session } = agent;
  const { conversation } = agent.context;
  const { compacting } = conversation;
  if (compacting === undefined) throw new Error("nothing compacts here");
  const took: Record<string, number> = {};
  const step = async <Value>(name: (typeof partNames)[number], act: () => Value | Promise<Value>): Promise<Value> => {
    const start = performance.now();
    const value = await act();
    took[name] = performance.now() - start;
    return value;
  };
  const settings = await sessions.settings();
  const engine = await sessions.deps();
  const deps = { ...engine, place: () => ({ transcriptPath: "" }) } as unknown as AgentDeps;
  const messages = [...session.fold.messages];
  const facts = await step("facts", () => new SessionFactBook(engine, session).facts());
  const ask = { trigger: "auto", cause: "limit", part: { kind: "all" } } as const;
  const context = await step("ground", () => {
    const scoped = computeScope(session.fold, {
      part: ask.part,
      waitingTokensMax: waitingTokensMax(settings.thresholds, conversation.line.fixedTokens),
    });
    if (scoped.kind !== "scope") throw new Error(scoped.kind);
    return createCompactionContext({ conversation, compacting, settings, ask, scope: scoped.scope, facts });
  });
  const { budgets, count } = context;
  const { summary, path } = await step("extract", () => extractFromFacts(context));
  const ledger = await step("ledger", () =>
    buildLedger({ messages: facts.userMessages, budgetTokens: budgets.ledger, count }),
  );
  await step("audit", () => auditSummary({ summary, facts, ledger }));
  const written = { summary, path, calls: [], durationMillis: 0 };
  const { input } = await step("draft", () => draftBoundary(deps, context, written));
  await step("receipt", () =>
    session.foresee({ drafts: boundaryDrafts(input, { leaf: undefined }), cause: "auto", nature: "summarised" }),
  );
  await step("checkpoint", () =>
    makeCheckpoint({ fold: session.fold, from: "beginning", carried: () => false, facts }),
  );
  const appended = await step("write", () => appendBoundary(deps, session, input));
  if (appended.kind === "failed") throw new Error(appended.message);
  await agent.close();
  return { parts: took as unknown as Parts, messages };
}

interface Peers {
  readonly json: number;
  readonly trimming: number;
}

async function peersOf(messages: readonly Message[], windowTokens: number): Promise<Peers> {
  const json: number[] = [];
  const trimming: number[] = [];
  const langChain = messages.flatMap(langChainMessages);
  for (let run = 0; run < peerRuns; run += 1) {
    json.push(timed(() => void JSON.parse(JSON.stringify(messages))));
    const start = performance.now();
    await trimmed([...langChain], windowTokens / 2);
    trimming.push(performance.now() - start);
  }
  return { json: median(json), trimming: median(trimming) };
}

interface Measured {
  readonly sessions: LimitSessions;
  readonly limitMillis: number;
  readonly rescues: Readonly<Record<FactsRead, readonly Rescue[]>>;
  readonly parts: readonly Parts[];
  readonly peers: Peers;
}

function figuresOf({ sessions, limitMillis, rescues, parts, peers }: Measured): readonly Figure[] {
  const at = `${sessions.windowTokens / 1_000}K tokens`;
  const walls = { fresh: rescues.fresh.map(({ wall }) => wall), read: rescues.read.map(({ wall }) => wall) };
  const range = (facts: FactsRead): string =>
    `${Math.min(...walls[facts]).toFixed(1)} to ${Math.max(...walls[facts]).toFixed(1)} ms in ${rescues[facts].length} sessions of ${sessions.entries} entries, the thread's own work ${median(rescues[facts].map(({ work }) => work)).toFixed(1)} ms`;
  const split = partNames.map((name) => `${name} ${median(parts.map((millis) => millis[name])).toFixed(1)}`).join(", ");
  return [
    {
      name: `last rung at ${at}, in a session that was just opened, median`,
      value: median(walls.fresh),
      unit: "ms",
      limit: limitMillis,
      detail: `from the message to the boundary on disk, no model: ${range("fresh")}; steps alone, in ms: ${split}`,
    },
    {
      name: `last rung at ${at}, facts up to date, median`,
      value: median(walls.read),
      unit: "ms",
      limit: limitMillis,
      detail: range("read"),
    },
    {
      name: `last rung at ${at} over JSON.stringify and JSON.parse of the messages`,
      value: median(walls.fresh) / peers.json,
      unit: "×",
      detail: `${peers.json.toFixed(1)} ms, medians`,
    },
    {
      name: `last rung at ${at} over LangChain's trimMessages`,
      value: median(walls.fresh) / peers.trimming,
      unit: "×",
      detail: `${peers.trimming.toFixed(0)} ms to trim the same messages to half the window, a quarter of the characters as count, medians; it says nothing in place of what it drops`,
    },
  ];
}
