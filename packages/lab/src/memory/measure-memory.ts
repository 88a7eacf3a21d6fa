import { rankMemories } from "palimpsest/internal/context/memory/rank-memories";
import type { DreamRule } from "palimpsest/internal/layers/6-dream/plan";
import { parseMemory } from "palimpsest/internal/memory/directory/memory-text";
import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { selectCandidates, selectShown } from "palimpsest/internal/memory/directory/relevant-memories";
import { showIndex } from "palimpsest/internal/memory/directory/show-memory";
import type { Memories, MemoryText } from "palimpsest/internal/ports/memories";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { memoryMemories } from "palimpsest/internal/store/memory/memory-memories";
import { dreamOver } from "./dream-over.ts";
import { collectEvents, findStaleness, holdsText, type JudgedMemory, SaidRuns, saysSame } from "./judge-memory.ts";
import { findLaterFacts, type LaterFact } from "./later-facts.ts";
import type { MeasuredSession, MemoryStrategy } from "./memory-strategy.ts";
import { readTerms, sharedPart } from "./terms.ts";

/** What a strategy did over the sessions of one project, in order of time. Figures of several projects add up. */
export interface MemoryFigures {
  sessions: number;
  /** What the user said again in a later session: how much of it a memory held at that session's start, and was shown. */
  needed: number;
  held: number;
  shown: number;
  /** Messages that a reader found lasting, and how many of them a memory came from. */
  lasting: number;
  lastingKept: number;
  /** Memories at the end: all, those whose every sentence was said, those that came from a lasting message. */
  memories: number;
  sourced: number;
  fromLasting: number;
  /** Memories at the end of each session: all, those that were contradicted or named what is gone, those that another one says too. */
  judged: number;
  stale: number;
  repeated: number;
  /** The same before and after each dream. */
  dreams: number;
  dreamsRefused: number;
  judgedBeforeDream: number;
  staleBeforeDream: number;
  repeatedBeforeDream: number;
  judgedAfterDream: number;
  staleAfterDream: number;
  repeatedAfterDream: number;
  /** The index at the start of each session, in tokens, summed up. */
  startTokens: number;
  forks: number;
  /** In tokens at the base input price: extractions, dreams, carrying the index, and the conversations themselves. */
  extractionCost: number;
  dreamCost: number;
  carryingCost: number;
  conversationCost: number;
}

export interface MeasureMemoryOptions {
  readonly strategy: MemoryStrategy;
  /** Absent: no dreams. */
  readonly dream?: DreamRule | undefined;
  /** A reader's judgement of a message. */
  readonly isLasting: (message: string) => boolean;
}

/** Runs a strategy over the sessions of one project. */
export async function measureMemory(
  sessions: readonly MeasuredSession[],
  options: MeasureMemoryOptions,
): Promise<MemoryFigures> {
  const project = new MeasuredProject(sessions, options);
  for (const at of sessions.keys()) await project.runSession(at);
  return project.finish();
}

export function addFigures(one: MemoryFigures, other: MemoryFigures): MemoryFigures {
  const sum = { ...one };
  for (const name of figureNames) sum[name] += other[name];
  return sum;
}

const noFigures: MemoryFigures = {
  sessions: 0,
  needed: 0,
  held: 0,
  shown: 0,
  lasting: 0,
  lastingKept: 0,
  memories: 0,
  sourced: 0,
  fromLasting: 0,
  judged: 0,
  stale: 0,
  repeated: 0,
  dreams: 0,
  dreamsRefused: 0,
  judgedBeforeDream: 0,
  staleBeforeDream: 0,
  repeatedBeforeDream: 0,
  judgedAfterDream: 0,
  staleAfterDream: 0,
  repeatedAfterDream: 0,
  startTokens: 0,
  forks: 0,
  extractionCost: 0,
  dreamCost: 0,
  carryingCost: 0,
  conversationCost: 0,
};

const isFigureName = (name: string): name is keyof MemoryFigures => name in noFigures;
const figureNames = Object.keys(noFigures).filter(isFigureName);

class MeasuredProject {
  readonly #sessions: readonly MeasuredSession[];
  readonly #options: MeasureMemoryOptions;
  readonly #memories: Memories;
  readonly #facts: readonly LaterFact[];
  readonly #said = new SaidRuns();
  readonly #figures = { ...noFigures };
  /** The session in which a file got its text. */
  readonly #writtenIn = new Map<string, { readonly hash: string; readonly session: number }>();
  #now: Millis = millis(0);
  #lastDream: { readonly at: Millis; readonly session: number } | undefined;

  constructor(sessions: readonly MeasuredSession[], options: MeasureMemoryOptions) {
    this.#sessions = sessions;
    this.#options = options;
    this.#memories = memoryMemories({ deps: { now: () => this.#now } });
    this.#facts = findLaterFacts(sessions);
  }

  async runSession(at: number): Promise<void> {
    const session = this.#sessions[at];
    if (session === undefined) return;
    const { strategy, dream } = this.#options;
    const figures = this.#figures;
    this.#now = session.begunAt;
    await this.#judgeStart(session, at);
    const clock = { now: () => this.#now, setNow: (now: Millis) => void (this.#now = now) };
    const { forks, cost } = await strategy.keep({ memories: this.#memories, ...clock }, session);
    this.#said.add(session);
    const born = (await this.#judgedMemories(at)).filter((memory) => memory.session === at);
    const lasting = session.said.filter(({ text }) => this.#options.isLasting(text));
    figures.sessions += 1;
    figures.lasting += lasting.length;
    figures.lastingKept += lasting.filter(({ text }) => born.some(({ body }) => comesFrom(body, text))).length;
    figures.forks += forks;
    figures.extractionCost += cost;
    figures.conversationCost += session.records.cost;
    if (dream !== undefined) await this.#dream(dream, at);
    const { judged, stale, repeated } = await this.#judgeDirectory(at);
    figures.judged += judged;
    figures.stale += stale;
    figures.repeated += repeated;
  }

  async finish(): Promise<MemoryFigures> {
    const bodies = (await this.#judgedMemories(this.#sessions.length - 1)).map(({ body }) => body);
    const { isLasting } = this.#options;
    const lasting = this.#sessions.flatMap(({ said }) => said.map(({ text }) => text)).filter(isLasting);
    return {
      ...this.#figures,
      memories: bodies.length,
      sourced: bodies.filter((body) => this.#said.bears(body)).length,
      fromLasting: bodies.filter((body) => lasting.some((text) => comesFrom(body, text))).length,
    };
  }

  /** What the session knows when it begins. */
  async #judgeStart({ recording }: MeasuredSession, at: number): Promise<void> {
    const figures = this.#figures;
    const files = await readMemories(this.#memories);
    const listed = files.filter(({ role }) => role === "memory");
    const stored = files.find(({ role }) => role === "index")?.text ?? "";
    const index = showIndex(stored, { memories: listed, now: this.#now, driftByPath: new Map() }).text;
    const tokens = index === "" ? 0 : recording.tokensOf({ type: "text", text: index });
    figures.startTokens += tokens;
    figures.carryingCost += tokens * (writeRate + readRate * (recording.rounds.length - 1));
    for (const fact of this.#facts.filter(({ neededIn }) => neededIn === at)) {
      const holding = listed.filter(({ text, path }) => holdsText(parseMemory(text, path).body, fact.text));
      figures.needed += 1;
      figures.held += holding.length > 0 ? 1 : 0;
      figures.shown += (await isShown(fact, { holding, index, listed })) ? 1 : 0;
    }
  }

  async #dream(rule: DreamRule, at: number): Promise<void> {
    const figures = this.#figures;
    const before = await this.#judgeDirectory(at);
    const moment = {
      now: this.#now,
      lastAt: this.#lastDream?.at ?? "never",
      sessions: this.#sessions.slice(0, at + 1),
      since: at - (this.#lastDream?.session ?? -1),
    } as const;
    const report = await dreamOver(this.#memories, { rule, moment });
    if (report === undefined) return;
    const { outcome, cost } = report;
    if (outcome.kind === "dreamt" || outcome.kind === "refused") this.#lastDream = { at: this.#now, session: at };
    const after = await this.#judgeDirectory(at);
    figures.dreams += 1;
    figures.dreamsRefused += outcome.kind === "dreamt" ? 0 : 1;
    figures.dreamCost += cost;
    figures.judgedBeforeDream += before.judged;
    figures.staleBeforeDream += before.stale;
    figures.repeatedBeforeDream += before.repeated;
    figures.judgedAfterDream += after.judged;
    figures.staleAfterDream += after.stale;
    figures.repeatedAfterDream += after.repeated;
  }

  async #judgeDirectory(
    at: number,
  ): Promise<{ readonly judged: number; readonly stale: number; readonly repeated: number }> {
    const memories = await this.#judgedMemories(at);
    const events = collectEvents(this.#sessions.slice(0, at + 1));
    const bodies = memories.map(({ body }) => body);
    return {
      judged: memories.length,
      stale: memories.filter((memory) => findStaleness(memory, events) !== undefined).length,
      repeated: bodies.filter((body, index) =>
        bodies.some((other, otherIndex) => otherIndex < index && saysSame(body, other)),
      ).length,
    };
  }

  async #judgedMemories(at: number): Promise<readonly JudgedMemory[]> {
    const files = await readMemories(this.#memories);
    return files
      .filter(({ role }) => role === "memory")
      .map(({ path, hash, text }) => {
        const known = this.#writtenIn.get(path);
        const session = known?.hash === hash ? known.session : at;
        this.#writtenIn.set(path, { hash, session });
        return { path, body: parseMemory(text, path).body, session };
      });
  }
}

const [readRate, writeRate] = [0.1, 1.25];

interface KnownMemories {
  readonly holding: readonly MemoryText[];
  readonly index: string;
  readonly listed: readonly MemoryText[];
}

/** Whether the session sees it: in a line of the index, or among the memories that recall attaches to the message. */
async function isShown(fact: LaterFact, { holding, index, listed }: KnownMemories): Promise<boolean> {
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

/** Most terms of the memory are in the message. */
const comesFrom = (body: string, message: string): boolean => sharedPart(readTerms(body), readTerms(message)) >= 0.7;
