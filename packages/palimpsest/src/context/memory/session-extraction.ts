import { z } from "zod";
import { estimateFork } from "../../cache/background-budget.ts";
import { type ExtractionMoment, type ExtractionRule, findExtractionCause } from "../../layers/5-extract/plan.ts";
import { extractCloseWaitMillisMax, extractFailuresMax, usualExtraction } from "../../layers/5-extract/limits.ts";
import { type ExtractDeps, extractMemories, type ExtractOutcome } from "../../layers/5-extract/run-extract.ts";
import { collectExtractSources, type ExtractSources, listNewTexts } from "../../memory/collect-extract-sources.ts";
import { collectTrustSources } from "../../memory/trust-sources.ts";
import { type EntryId, entryId, type Millis, type NanoUsd } from "../../schema/brand.ts";
import type { Model } from "../../schema/model.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import type { Draft } from "../../transcript/draft.ts";
import { measureReach } from "../../transcript/first-messages.ts";
import type { BackgroundSpend } from "../background-spend.ts";
import type { ResolvedSettingsDep, WaitDep } from "../deps.ts";
import type { Line } from "../line.ts";
import { backgroundCostDraft } from "../past-costs.ts";
import { clipMessages } from "./agent-memories.ts";

export interface SessionExtractionDeps extends WaitDep, ResolvedSettingsDep, Omit<ExtractDeps, "writing"> {
  /** Asked before each extraction, since the tools may change. */
  readonly writing: () => ExtractDeps["writing"];
  /** What every request begins with: known already, however often the conversation repeats it. */
  readonly instructions: () => readonly string[];
  /** Asked before each extraction. `off`: the user, a rule or the place forbids it. */
  readonly state: () => "on" | "off";
  readonly spend: Pick<BackgroundSpend, "mayStart">;
  /** What is known of the conversation's model, for the price of a fork. */
  readonly known: () => Model | undefined;
  /** The user's own prompt, if there is one. Must not reject. */
  readonly prompt: () => Promise<string | undefined>;
  /** How long the provider's cache holds the conversation after a request. */
  readonly cacheMillis: () => number;
  readonly onEvent: (event: LoopEvent) => void;
}

interface ExtractionInput {
  readonly session: Session;
  readonly line: Pick<Line, "snapshot" | "usedTokens">;
}

/**
 * Extracts memories from a session's main conversation, beside it. No turn waits for it, and none of its failures reaches a
 * turn.
 *
 *   idle ──a turn ends, and the rule wants it──▶ running ──ends──▶ idle
 *   running ──a turn ends, and the rule wants it──▶ running, wanted ──ends──▶ running: once, for all that came meanwhile
 *   any ──finish──▶ one last extraction, if the rule wants it at the end ──at most 10 s──▶ finished
 *
 * The cursor, the newest entry that was considered, is a setting in the transcript: a resumed session goes on from there,
 * and a rewound one from where its path was.
 */
export class SessionExtraction {
  readonly #deps: SessionExtractionDeps;
  readonly #input: ExtractionInput;
  readonly #stopped = new AbortController();
  /** The session or, while it closes, its final appender. */
  #log: FinalAppender;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #turns = 0;
  #failures = 0;
  /** The smallest context since the last extraction: growth counts from here. */
  #floorTokens: number;
  #lastReplyAt: Millis | undefined;
  #finished: Promise<void> | undefined;

  constructor(deps: SessionExtractionDeps, input: ExtractionInput) {
    this.#deps = deps;
    this.#input = input;
    this.#log = input.session;
    this.#floorTokens = input.line.usedTokens;
    input.session.onClose((closing) => {
      this.#log = closing;
      return this.finish();
    });
  }

  get state(): "idle" | "running" {
    return this.#running === undefined ? "idle" : "running";
  }

  /** Called when a reply has come and its calls have their results. Returns at once; the work runs in the background. */
  roundEnded(calls: number): void {
    this.#lastReplyAt = this.#deps.now();
    if (calls > 0) return;
    this.#turns += 1;
    this.#floorTokens = Math.min(this.#floorTokens, this.#input.line.usedTokens);
    this.#consider("turn-end");
  }

  /**
   * For a session that ends: starts a last extraction if the rule wants one, and waits a short time for it. Resolves when
   * nothing runs any more and all costs are in the log. Must not reject.
   */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<void> {
    this.#isWanted = false;
    if (this.#running === undefined) this.#consider("session-end");
    if (this.#running === undefined) return;
    const waiting = new AbortController();
    await Promise.race([this.#running, this.#deps.wait(extractCloseWaitMillisMax, waiting.signal)]);
    waiting.abort();
    this.#stopped.abort();
    await this.#running;
  }

  get #rule(): ExtractionRule | undefined {
    const { switches, policy } = this.#deps.settings();
    const isOn = switches.extraction.value && this.#deps.state() === "on" && this.#failures < extractFailuresMax;
    return isOn && !this.#stopped.signal.aborted ? policy.background?.extraction : undefined;
  }

  #consider(at: ExtractionMoment["at"]): void {
    const rule = this.#rule;
    if (rule === undefined) return;
    if (this.#running !== undefined) {
      this.#isWanted = true;
      return;
    }
    const { fold } = this.#input.session;
    const cursor = readCursor(fold.projection.settings);
    const said = listNewTexts(fold.path.entries, cursor);
    if (findExtractionCause(rule, this.#describeMoment(at, said)) === undefined) return;
    this.#start(rule, collectExtractSources(fold.path.entries, cursor));
  }

  #describeMoment(at: ExtractionMoment["at"], said: readonly string[]): ExtractionMoment {
    const isWarm = this.#lastReplyAt !== undefined && this.#deps.now() - this.#lastReplyAt < this.#deps.cacheMillis();
    return {
      at,
      turns: this.#turns,
      said,
      tokens: this.#input.line.usedTokens - this.#floorTokens,
      cache: isWarm ? "warm" : "cold",
    };
  }

  /** Everything that the extraction considers is fixed before the first await: the conversation continues meanwhile. */
  #start(rule: ExtractionRule, sources: ExtractSources): void {
    const { session, line } = this.#input;
    const newest = session.leaf;
    if (newest === null) return;
    const { entries } = session.fold.path;
    const input = {
      sources: { ...sources, known: [...sources.known, ...this.#deps.instructions()] },
      trust: collectTrustSources(entries),
      provenance: { session: session.id, messages: clipMessages(sources.messages) },
      turnsMax: rule.turnsMax,
      reach: measureReach(line.snapshot()),
    };
    this.#turns = 0;
    this.#floorTokens = line.usedTokens;
    this.#running = this.#run(input, { newest, writtenBy: sources.memoriesWrittenBy }).finally(() => {
      this.#running = undefined;
      if (!this.#isWanted) return;
      this.#isWanted = false;
      this.#consider("turn-end");
    });
  }

  /** Never rejects. */
  async #run(input: Omit<Parameters<typeof extractMemories>[1], "prompt">, step: ExtractionStep): Promise<void> {
    try {
      // The agent has saved what it found worth it.
      if (step.writtenBy === "agent") return await this.#record(cursorDraft(step.newest));
      if ((await this.#deps.spend.mayStart(this.#estimate())).kind === "over") return;
      const prompt = await this.#deps.prompt();
      const deps = { ...this.#deps, writing: this.#deps.writing() };
      const outcome = await extractMemories(deps, { ...input, prompt }, this.#stopped.signal);
      this.#failures = outcome.kind === "failed" && outcome.why !== "aborted" ? this.#failures + 1 : 0;
      await this.#recordOutcome(outcome, step);
      if (outcome.kind === "saved") this.#deps.onEvent(outcome.saved);
    } catch (error) {
      this.#failures += 1;
      const failed = { why: "broken", message: `Extracting memories failed: ${String(error)}` };
      const draft = backgroundCostDraft({ source: "extraction", model: this.#deps.fork.model, usage: [], failed });
      await this.#record(draft).catch(() => undefined);
    }
  }

  #estimate(): NanoUsd {
    const contextTokens = this.#input.line.usedTokens;
    return estimateFork(this.#deps.known(), { ...usualExtraction, contextTokens });
  }

  async #recordOutcome(outcome: ExtractOutcome, { newest }: ExtractionStep): Promise<void> {
    const { usage } = outcome;
    const failed = outcome.kind === "failed" ? { why: outcome.why, message: outcome.message } : undefined;
    if (failed?.why === "aborted" && usage.length === 0) return;
    const cost = backgroundCostDraft({ source: "extraction", model: this.#deps.fork.model, usage, failed });
    // What failed is considered again with the next turn, unless the conversation has gone back before it.
    const isDone = failed === undefined && this.#input.session.fold.path.has(newest);
    await this.#record(cost, ...(isDone ? [cursorDraft(newest)] : []));
  }

  async #record(...drafts: readonly Draft[]): Promise<void> {
    await this.#log.append(...drafts);
  }
}

interface ExtractionStep {
  /** The newest entry that is considered. */
  readonly newest: EntryId;
  readonly writtenBy: ExtractSources["memoriesWrittenBy"];
}

const cursorName = "extraction.covers";
const cursorShape = z.object({ entry: z.string().transform(entryId) });

const cursorDraft = (entry: EntryId): Draft => ({ type: "setting", name: cursorName, value: { entry } });

function readCursor(settings: Session["fold"]["projection"]["settings"]): EntryId | undefined {
  return cursorShape.safeParse(settings.get(cursorName)).data?.entry;
}
