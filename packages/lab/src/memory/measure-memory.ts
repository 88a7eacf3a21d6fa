import { rankMemories } from "palimpsest/internal/context/memory/rank-memories";
import { parseMemory } from "palimpsest/internal/memory/directory/memory-text";
import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { selectCandidates, selectShown } from "palimpsest/internal/memory/directory/relevant-memories";
import { showIndex } from "palimpsest/internal/memory/directory/show-memory";
import type { Memories, MemoryText } from "palimpsest/internal/ports/memories";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { memoryMemories } from "palimpsest/internal/store/memory/memory-memories";
import { collectEvents, findStaleness, holdsText, type JudgedMemory, SaidRuns } from "./judge-memory.ts";
import { findLaterFacts } from "./later-facts.ts";
import type { MeasuredSession, MemoryStrategy } from "./memory-strategy.ts";
import { readTerms, sharedPart } from "./terms.ts";

/** What a strategy did over the sessions of one project, in order of time. Figures of several projects add up. */
export interface MemoryFigures {
  readonly sessions: number;
  /** What the user said again in a later session: how much of it a memory held at that session's start, and was shown. */
  readonly needed: number;
  readonly held: number;
  readonly shown: number;
  /** Messages that a reader found lasting, and how many of them a memory came from. */
  readonly lasting: number;
  readonly lastingKept: number;
  /** Memories at the end: all, those whose every sentence was said, those that came from a lasting message. */
  readonly memories: number;
  readonly sourced: number;
  readonly fromLasting: number;
  /** Memories at the end of each session, and how many of them were contradicted or named what is gone by then. */
  readonly judgedMemories: number;
  readonly staleMemories: number;
  /** The index at the start of each session, in tokens. */
  readonly startTokens: number;
  readonly startTokensMax: number;
  readonly forks: number;
  /** In tokens at the base input price: making memories, carrying the index, and the conversations themselves. */
  readonly makingCost: number;
  readonly carryingCost: number;
  readonly conversationCost: number;
}

/** Runs a strategy over the sessions of one project. `isLasting`: a reader's judgement of a message. */
export async function measureMemory(
  sessions: readonly MeasuredSession[],
  { strategy, isLasting }: { readonly strategy: MemoryStrategy; readonly isLasting: (message: string) => boolean },
): Promise<MemoryFigures> {
  let now: Millis = millis(0);
  const clock = { now: () => now };
  const memories = memoryMemories({ deps: clock });
  const facts = findLaterFacts(sessions);
  const writtenIn = new Map<string, number>();
  const said = new SaidRuns();
  const figures = emptyFigures();
  for (const [at, session] of sessions.entries()) {
    now = session.begunAt;
    const before = await readDirectory(memories);
    const index = showIndex(before.index, { memories: before.listed, now, driftByPath: new Map() }).text;
    const startTokens = index === "" ? 0 : session.recording.tokensOf({ type: "text", text: index });
    for (const fact of facts.filter(({ neededIn }) => neededIn === at)) {
      const holding = before.listed.filter(({ text, path }) => holdsText(parseMemory(text, path).body, fact.text));
      figures.needed += 1;
      figures.held += holding.length > 0 ? 1 : 0;
      figures.shown += (await isShown(fact, { holding, index, listed: before.listed })) ? 1 : 0;
    }
    const { forks, cost } = await strategy.keep({ memories, ...clock, setNow: (time) => void (now = time) }, session);
    said.add(session);
    const after = await readDirectory(memories);
    noteWriters(writtenIn, { before: before.listed, after: after.listed, at });
    const judged = after.listed.map((memory) => toJudged(memory, writtenIn));
    const events = collectEvents(sessions.slice(0, at + 1));
    const born = judged.filter((memory) => memory.session === at);
    const lasting = session.said.filter(({ text }) => isLasting(text));
    figures.sessions += 1;
    figures.lasting += lasting.length;
    figures.lastingKept += lasting.filter(({ text }) => born.some(({ body }) => comesFrom(body, text))).length;
    figures.judgedMemories += judged.length;
    figures.staleMemories += judged.filter((memory) => findStaleness(memory, events) !== undefined).length;
    figures.startTokens += startTokens;
    figures.startTokensMax = Math.max(figures.startTokensMax, startTokens);
    figures.forks += forks;
    figures.makingCost += cost;
    figures.carryingCost += carryCost(startTokens, session.recording.rounds.length);
    figures.conversationCost += session.records.cost;
  }
  const { listed } = await readDirectory(memories);
  const lastingTexts = sessions.flatMap((session) => session.said.map(({ text }) => text)).filter(isLasting);
  const bodies = listed.map(({ text, path }) => parseMemory(text, path).body);
  return {
    ...figures,
    memories: bodies.length,
    sourced: bodies.filter((body) => said.bears(body)).length,
    fromLasting: bodies.filter((body) => lastingTexts.some((text) => comesFrom(body, text))).length,
  };
}

const emptyFigures = () => ({
  sessions: 0,
  needed: 0,
  held: 0,
  shown: 0,
  lasting: 0,
  lastingKept: 0,
  judgedMemories: 0,
  staleMemories: 0,
  startTokens: 0,
  startTokensMax: 0,
  forks: 0,
  makingCost: 0,
  carryingCost: 0,
  conversationCost: 0,
});

async function readDirectory(
  memories: Memories,
): Promise<{ readonly index: string; readonly listed: readonly MemoryText[] }> {
  const files = await readMemories(memories);
  const index = files.find(({ role }) => role === "index")?.text ?? "";
  return { index, listed: files.filter(({ role }) => role === "memory") };
}

/** Whether the session sees it: in a line of the index, or among the memories that recall attaches to the message. */
async function isShown(
  fact: { readonly text: string; readonly again: string },
  { holding, index, listed }: { holding: readonly MemoryText[]; index: string; listed: readonly MemoryText[] },
): Promise<boolean> {
  if (index.split("\n").some((line) => holdsText(line, fact.text))) return true;
  const unshown = { keys: new Set<string>(), bytes: 0 };
  const ranked = await rankMemories(fact.again, selectCandidates(listed, unshown));
  const textByPath = new Map(listed.map((memory) => [memory.path, memory]));
  const attached = selectShown(
    ranked.flatMap(({ path }) => textByPath.get(path) ?? []),
    unshown,
  );
  return attached.some(({ path }) => holding.some((memory) => memory.path === path));
}

function noteWriters(
  writtenIn: Map<string, number>,
  { before, after, at }: { before: readonly MemoryText[]; after: readonly MemoryText[]; at: number },
): void {
  const hashByPath = new Map(before.map(({ path, hash }) => [path, hash]));
  for (const { path, hash } of after) if (hashByPath.get(path) !== hash) writtenIn.set(path, at);
}

const toJudged = ({ path, text }: MemoryText, writtenIn: ReadonlyMap<string, number>): JudgedMemory => ({
  path,
  body: parseMemory(text, path).body,
  session: writtenIn.get(path) ?? 0,
});

/** Most terms of the memory are in the message. */
const comesFrom = (body: string, message: string): boolean => sharedPart(readTerms(body), readTerms(message)) >= 0.7;

/** Written once and read in every further round. */
const carryCost = (tokens: number, rounds: number): number => tokens * (1.25 + 0.1 * Math.max(0, rounds - 1));
