import { UnreadMessages } from "palimpsest/internal/context/memory/unread-messages";
import { createHash } from "node:crypto";
import { rankMemories } from "palimpsest/internal/context/memory/rank-memories";
import type { ExtractionRule } from "palimpsest/internal/layers/5-extract/plan";
import { extractMemories } from "palimpsest/internal/layers/5-extract/run-extract";
import { collectExtractSources } from "palimpsest/internal/memory/collect-extract-sources";
import { formatMemory } from "palimpsest/internal/memory/directory/memory-text";
import { collectTrustSources } from "palimpsest/internal/memory/trust-sources";
import type { Fork } from "palimpsest/internal/ports/fork";
import type { Memories } from "palimpsest/internal/ports/memories";
import { type Millis, millis, sessionId } from "palimpsest/internal/schema/brand";
import { modelDefault } from "../limits.ts";
import type { ProjectSession } from "./project-session.ts";
import { replayExtractions, type TurnRecords } from "./replay-extraction.ts";
import { RuleFork } from "./rule-fork.ts";

/** A session that memories are made of, and what its conversation cost. */
export interface MeasuredSession extends ProjectSession {
  readonly records: TurnRecords;
}

export interface StrategyDeps {
  readonly memories: Memories;
  readonly setNow: (now: Millis) => void;
  readonly now: () => Millis;
}

/** How memories are made of one session after another. */
export interface MemoryStrategy {
  readonly name: string;
  /** What it costs besides the conversation, in tokens at the base input price. */
  keep(deps: StrategyDeps, session: MeasuredSession): Promise<StrategySpend>;
}

export interface StrategySpend {
  readonly forks: number;
  readonly cost: number;
}

export const noMemories: MemoryStrategy = { name: "none", keep: () => Promise.resolve({ forks: 0, cost: 0 }) };

/** Each message of the user becomes a memory. */
export const everyMessage: MemoryStrategy = {
  name: "every message of the user",
  keep: async ({ memories, setNow, now }, { name, said, recording, endedAt }) => {
    for (const [at, { text, round }] of said.entries()) {
      setNow(recording.rounds[round]?.at ?? endedAt);
      const path = `${name}-${at}.md`;
      await memories.commit({
        author: "agent",
        provenance: { at: now(), trust: "trusted", session: sessionId(name) },
        message: `save ${path}`,
        changes: [{ path, expected: "any", text: formatMemory(describeMessage(text)) }],
      });
    }
    return { forks: 0, cost: 0 };
  },
};

interface ExtractByOptions {
  readonly rule: ExtractionRule;
  /** A reader who chooses the new messages that are saved. Absent: the rule-based model answers the fork. */
  readonly chooses?: ((message: string) => boolean) | undefined;
}

/** The engine's extraction, at the moments of a rule. */
export const extractBy = (name: string, { rule, chooses }: ExtractByOptions): MemoryStrategy => ({
  name,
  keep: async (deps, session) => {
    const { turns } = session.records;
    const extractions = replayExtractions(rule, session.records);
    for (const { from, after } of extractions) await runExtraction(deps, { session, rule, chooses, from, after });
    const cost = extractions.reduce((sum, extraction) => sum + extraction.cost, 0);
    deps.setNow(millis(session.endedAt + turns.length));
    return { forks: extractions.length, cost };
  },
});

interface ExtractionRun extends ExtractByOptions {
  readonly session: MeasuredSession;
  /** Indices of the first and the last turn that is new. */
  readonly from: number;
  readonly after: number;
}

async function runExtraction(
  { memories, setNow, now }: StrategyDeps,
  { session, rule, chooses, from, after }: ExtractionRun,
): Promise<void> {
  const { rounds } = session.recording;
  const { turns } = session.records;
  const lastRound = turns[after]?.round ?? -1;
  const coveredRounds = (turns[from - 1]?.round ?? -1) + 1;
  const entries = rounds.slice(0, lastRound + 1).flatMap(({ before, reply }) => [...before, ...reply]);
  const covered = rounds.slice(0, coveredRounds).flatMap(({ before, reply }) => [...before, ...reply]);
  setNow(rounds[lastRound]?.at ?? session.endedAt);
  const unread = new UnreadMessages(entries.slice(covered.length), new Map()).messages;
  const own = unread.map(({ text }) => text);
  const sources = { own, ...collectExtractSources(entries, unread[0]?.id) };
  const fork = chooses === undefined ? new RuleFork(entries) : readerFork(own.filter(chooses));
  await extractMemories(
    { memories, now, rank: rankMemories, fork, writing: { kind: "text" } },
    {
      sources,
      trust: collectTrustSources(entries),
      provenance: { session: sessionId(session.name), messages: unread.map(({ id }) => id) },
      turnsMax: rule.turnsMax,
      reach: {},
    },
    new AbortController().signal,
  );
}

/** Answers with these messages as they are. */
function readerFork(chosen: readonly string[]): Fork {
  const files = chosen.map((message, at) => ({ path: `${hashText(message)}-${at}.md`, ...describeMessage(message) }));
  const text = JSON.stringify(files);
  return { model: modelDefault, run: () => Promise.resolve({ kind: "answered", text, said: [], usage: [] }) };
}

const hashText = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);

function describeMessage(message: string) {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return { name: line.slice(0, 60), description: line.slice(0, 200), type: "project", body: message } as const;
}
