import { estimateFork } from "../../cache/background-budget.ts";
import { type ExtractionMoment, type ExtractionRule, findExtractionCause } from "../../layers/5-extract/plan.ts";
import {
  extractCloseWaitMillisMax,
  extractFailuresMax,
  extractStopMillisMax,
  usualExtraction,
} from "../../layers/5-extract/limits.ts";
import { type ExtractDeps, extractMemories, type ExtractOutcome } from "../../layers/5-extract/run-extract.ts";
import { collectExtractSources, type ExtractSources } from "../../memory/collect-extract-sources.ts";
import { collectTrustSources } from "../../memory/trust-sources.ts";
import type { EntryId, Millis, NanoUsd } from "../../schema/brand.ts";
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
import { type UnreadMessage, UnreadMessages } from "./unread-messages.ts";

export interface SessionExtractionDeps extends WaitDep, ResolvedSettingsDep, Omit<ExtractDeps, "writing"> {
  /** Asked before each extraction, since the tools may change. */
  readonly writing: () => ExtractDeps["writing"];
  /** What every request begins with: known already, however often the conversation repeats it. */
  readonly instructions: () => readonly string[];
  /** Asked before each extraction. `off`: the user, a rule or the place forbids it. */
  readonly state: () => "on" | "off";
  readonly spend: Pick<BackgroundSpend, "mayStart" | "flush">;
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
 * What was looked at is recorded as a setting in the transcript (`unread-messages.ts`): a resumed session goes on from
 * there, and a rewound one from where its path was.
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
  readonly #unread: UnreadMessages;

  constructor(deps: SessionExtractionDeps, input: ExtractionInput) {
    this.#deps = deps;
    this.#input = input;
    this.#log = input.session;
    this.#floorTokens = input.line.usedTokens;
    const { path, projection } = input.session.fold;
    this.#unread = new UnreadMessages(path.entries, projection.settings);
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

  /** What runs may end, what was wanted meanwhile may run, and then one last extraction, all within one limit. */
  async #finish(): Promise<void> {
    const waiting = new AbortController();
    const late = this.#deps.wait(extractCloseWaitMillisMax, waiting.signal).then(() => "late" as const);
    let last: "to-come" | "considered" = "to-come";
    for (;;) {
      if (this.#running === undefined && last === "to-come") {
        last = "considered";
        this.#consider("session-end");
      }
      if (this.#running === undefined) break;
      if ((await Promise.race([this.#running, late])) !== "late") continue;
      this.#stopped.abort();
      await Promise.race([this.#running, this.#deps.wait(extractStopMillisMax, waiting.signal)]);
      break;
    }
    waiting.abort();
    // What was spent last is written down before the session is closed.
    await this.#deps.spend.flush();
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
    this.#unread.follow(this.#input.session.fold.path.entries);
    const messages = [...this.#unread.messages];
    if (findExtractionCause(rule, this.#describeMoment(at, messages)) !== undefined) this.#start(rule, messages);
  }

  #describeMoment(at: ExtractionMoment["at"], messages: readonly UnreadMessage[]): ExtractionMoment {
    const isWarm = this.#lastReplyAt !== undefined && this.#deps.now() - this.#lastReplyAt < this.#deps.cacheMillis();
    return {
      at,
      turns: this.#turns,
      said: messages.map(({ text }) => text),
      tokens: this.#input.line.usedTokens - this.#floorTokens,
      cache: isWarm ? "warm" : "cold",
    };
  }

  /** Everything that the extraction considers is fixed before the first await: the conversation continues meanwhile. */
  #start(rule: ExtractionRule, messages: readonly UnreadMessage[]): void {
    const { session, line } = this.#input;
    const newest = session.leaf;
    if (newest === null) return;
    const { entries } = session.fold.path;
    const own = messages.map(({ text }) => text);
    const { known, others, memoriesWrittenBy } = collectExtractSources(entries, messages[0]?.id);
    const trust = collectTrustSources(entries);
    const input = {
      sources: { own, others, known: [...known, ...this.#deps.instructions()] },
      // Messages that the session has dropped are the user's all the same.
      trust: { ...trust, own: [...trust.own, ...own] },
      provenance: { session: session.id, messages: clipMessages(messages.map(({ id }) => id)) },
      turnsMax: rule.turnsMax,
      reach: measureReach(line.snapshot()),
    };
    const step = { messages, newest, turns: this.#turns, usedTokens: line.usedTokens, writtenBy: memoriesWrittenBy };
    this.#running = this.#run(input, step).finally(() => {
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
      if (step.writtenBy === "agent") return await this.#record(this.#markRead(step));
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

  /** From here on only what came since counts. */
  #markRead({ messages, newest, turns, usedTokens }: ExtractionStep): Draft {
    this.#turns -= turns;
    this.#floorTokens = Math.min(usedTokens, this.#input.line.usedTokens);
    return this.#unread.read(messages, newest);
  }

  #estimate(): NanoUsd {
    const contextTokens = this.#input.line.usedTokens;
    return estimateFork(this.#deps.known(), { ...usualExtraction, contextTokens });
  }

  async #recordOutcome(outcome: ExtractOutcome, step: ExtractionStep): Promise<void> {
    const { usage } = outcome;
    const failed = describeFailure(outcome);
    if (failed?.why === "aborted" && usage.length === 0) return;
    const cost = backgroundCostDraft({ source: "extraction", model: this.#deps.fork.model, usage, failed });
    // What failed, or was written by somebody else at the same time, is looked at again.
    const isDone = outcome.kind !== "failed" && outcome.conflicts.length === 0;
    const isOnPath = this.#input.session.fold.path.has(step.newest);
    await this.#record(cost, ...(isDone && isOnPath ? [this.#markRead(step)] : []));
  }

  async #record(...drafts: readonly Draft[]): Promise<void> {
    await this.#log.append(...drafts);
  }
}

/** An extraction of which nothing was saved because of a check is booked with the first reason. */
function describeFailure(outcome: ExtractOutcome): { readonly why: string; readonly message: string } | undefined {
  if (outcome.kind === "failed") return { why: outcome.why, message: outcome.message };
  const [refused] = outcome.kind === "nothing" ? outcome.refused : [];
  return refused === undefined ? undefined : { why: "refused", message: refused.why };
}

interface ExtractionStep {
  /** The unread messages that it looks at. */
  readonly messages: readonly UnreadMessage[];
  /** The newest entry that it looks at. */
  readonly newest: EntryId;
  /** Complete turns when it began. */
  readonly turns: number;
  /** Size of the context when it began. */
  readonly usedTokens: number;
  readonly writtenBy: ExtractSources["memoriesWrittenBy"];
}
