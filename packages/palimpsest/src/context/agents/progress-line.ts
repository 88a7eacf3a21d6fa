import type { CostLedger } from "../../cache/cost-ledger.ts";
import { describeCall } from "../../layers/7-agents/describe-call.ts";
import { type DropReason, judgeProgress } from "../../layers/7-agents/judge-progress.ts";
import {
  progressEveryMs,
  progressMillisMax,
  progressOutputTokensMax,
  progressStaleMs,
} from "../../layers/7-agents/limits.ts";
import { progressDirective, progressQuestion, progressSystem } from "../../layers/7-agents/progress-prompt.ts";
import {
  planProgress,
  type ProgressChoice,
  type ProgressSizes,
  type ProgressSkip,
  renderNewest,
} from "../../layers/7-agents/progress.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Fork, ForkTask } from "../../ports/fork.ts";
import type { ModelDep } from "../../ports/model-port.ts";
import type { Message } from "../../schema/block.ts";
import { millis, type Millis, type NanoUsd, nanoUsd, tokens } from "../../schema/brand.ts";
import type { PaidCall } from "../../schema/edit.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { Model, ModelOverride } from "../../schema/model.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { findCheapestModel, findModel } from "../../tokens/known-models.ts";
import { outputTokensMaxDefault, windowTokensDefault } from "../../tokens/limits.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { BackgroundSpend } from "../background-spend.ts";
import { plainSummariser } from "../compact/plain-summariser.ts";
import type { ResolvedSettingsDep, WaitDep } from "../deps.ts";
import type { Line } from "../line.ts";
import { progressCostDraft } from "../past-costs.ts";

export interface ProgressLineDeps extends ClockDep, WaitDep, ModelDep, ResolvedSettingsDep {
  /** Forks of the agent's conversation. They book their costs themselves. */
  readonly fork: Fork;
  /** The agent's. What a fork or the small call costs is booked here under `agents`. */
  readonly costs: Pick<CostLedger, "add" | "priceOf">;
  readonly spend: Pick<BackgroundSpend, "mayStart">;
  /** The agent's conversation. */
  readonly line: Pick<Line, "snapshot" | "usedTokens" | "uncountedTokens">;
  /** The users' own prices. */
  readonly models?: readonly ModelOverride[] | undefined;
  /** What the agent's own work has cost so far. */
  readonly agentNanos: () => NanoUsd;
  /** How long the provider's cache holds the agent's conversation after a request. */
  readonly cacheMillis: () => number;
  /** Writes the cost to the agent's log. Absent: it is not written. May reject. */
  readonly record?: ((draft: Draft) => Promise<unknown>) | undefined;
  /** Called with each new line. Must not throw. */
  readonly onLine: (text: string) => void;
}

export type ProgressOutcome =
  | { readonly kind: "line"; readonly text: string; readonly way: ProgressChoice["way"] }
  | { readonly kind: "skipped"; readonly why: ProgressSkip }
  /** The line before it stays. */
  | { readonly kind: "dropped"; readonly why: DropReason }
  | { readonly kind: "failed"; readonly message: string };

/**
 * What one background agent is doing, in a line. Runs beside the agent: no round waits for it, and none of its failures
 * reaches the agent.
 *
 *   new ──start──▶ waiting ──30 s──▶ asking ──answer, failure, 20 s──▶ waiting
 *   asking ──30 s──▶ asking: this time is skipped
 *   any ──stop──▶ stopped: what is asked is aborted, and no line comes any more
 *
 * A line of a model stays until the next one. If there is none, or none younger than a minute, the agent's newest call is
 * the line: that costs nothing.
 */
export class ProgressLine {
  readonly #deps: ProgressLineDeps;
  readonly #stopped = new AbortController();
  #asking: Promise<ProgressOutcome> | undefined;
  #lastMark: string | undefined;
  #failures = 0;
  #spentNanos = 0;
  #requestAt: Millis | undefined;
  #text: string | undefined;
  /** When the newest line of a model came. */
  #modelLineAt: Millis | undefined;
  /** The provider does not know the cheapest model. */
  #isSmallMissing = false;

  constructor(deps: ProgressLineDeps) {
    this.#deps = deps;
  }

  /** The newest line; undefined if there was none. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Asks every 30 seconds until `stop`. */
  start(): void {
    void this.#repeat();
  }

  /** To be called with the events of the agent's turns: they tell its newest call, and how warm its cache is. */
  observe(event: LoopEvent): void {
    if (event.kind === "reply-start") this.#requestAt = this.#deps.now();
    if (event.kind !== "call-start" || this.#hasModelLine) return;
    const text = describeCall(event.tool, event.input);
    if (text !== undefined) this.#show(text);
  }

  /** Asks now, unless there is a reason not to. Must not reject. */
  async ask(): Promise<ProgressOutcome> {
    if (this.#asking !== undefined) return { kind: "skipped", why: "running" };
    this.#asking = this.#ask().catch((error: unknown) => this.#fail(String(error)));
    try {
      return await this.#asking;
    } finally {
      this.#asking = undefined;
    }
  }

  /** For an agent that ends. Resolves when nothing runs any more. Must not reject. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#asking;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      // A wait that is broken ends the repetition, never the agent.
      const waited = await this.#deps.wait(progressEveryMs, signal).then(
        () => "over" as const,
        () => "broken" as const,
      );
      if (waited === "broken" || signal.aborted) return;
      void this.ask();
    }
  }

  async #ask(): Promise<ProgressOutcome> {
    const { line, settings, agentNanos } = this.#deps;
    const messages = line.snapshot();
    const excerpt = renderNewest(messages);
    const small = this.#findSmallModel();
    const plan = planProgress({
      progress: settings().switches.progress.value ? "on" : "off",
      agent: this.#stopped.signal.aborted ? "ended" : "running",
      call: "idle",
      failures: this.#failures,
      messages,
      lastMark: this.#lastMark,
      sizes: this.#measure(excerpt, small.known),
      spentNanos: nanoUsd(this.#spentNanos),
      agentNanos: agentNanos(),
    });
    if (plan.kind === "skip") return { kind: "skipped", why: plan.why };
    const { way, estimateNanos } = plan.choice;
    if ((await this.#deps.spend.mayStart(estimateNanos)).kind === "over") return { kind: "skipped", why: "budget" };
    this.#lastMark = plan.mark;
    const answer = way === "fork" ? await this.#askFork() : await this.#askSmall(excerpt, small);
    await this.#book(answer.calls, way);
    if (this.#stopped.signal.aborted) return { kind: "skipped", why: "ended" };
    return answer.kind === "failed" ? this.#fail(answer.message) : this.#judge(answer.text, { messages, way });
  }

  #judge(
    answer: string,
    { messages, way }: { readonly messages: readonly Message[]; readonly way: ProgressChoice["way"] },
  ): ProgressOutcome {
    const verdict = judgeProgress(answer, messages);
    if (verdict.kind === "dropped") {
      this.#failures += 1;
      return verdict;
    }
    this.#failures = 0;
    this.#modelLineAt = this.#deps.now();
    this.#show(verdict.text);
    return { ...verdict, way };
  }

  #fail(message: string): ProgressOutcome {
    this.#failures += 1;
    return { kind: "failed", message };
  }

  #show(text: string): void {
    if (text === this.#text || this.#stopped.signal.aborted) return;
    this.#text = text;
    this.#deps.onLine(text);
  }

  get #hasModelLine(): boolean {
    return this.#modelLineAt !== undefined && this.#deps.now() - this.#modelLineAt < progressStaleMs;
  }

  #measure(excerpt: string, small: Model | undefined): ProgressSizes {
    const { line, fork, models, now, cacheMillis } = this.#deps;
    const isWarm = this.#requestAt !== undefined && now() - this.#requestAt < cacheMillis();
    const cachedTokens = isWarm ? Math.max(0, line.usedTokens - line.uncountedTokens) : 0;
    return {
      model: findModel(fork.model, models),
      cachedTokens,
      freshTokens: line.usedTokens - cachedTokens,
      small,
      excerptTokens: estimateBlock({ type: "text", text: excerpt }),
    };
  }

  /** The cheapest model of the provider, or the agent's own if none is known. */
  #findSmallModel(): SmallModel {
    const { fork, models } = this.#deps;
    const cheapest = this.#isSmallMissing ? undefined : findCheapestModel(fork.model, models);
    return { name: cheapest?.id ?? fork.model, known: cheapest ?? findModel(fork.model, models) };
  }

  async #askFork(): Promise<ProgressAnswer> {
    const { fork } = this.#deps;
    const outcome = await fork.run(forkTask, this.#stopped.signal);
    const calls = toCalls("fork", { model: fork.model, usage: outcome.usage });
    if (outcome.kind === "answered") return { kind: "answered", text: outcome.text, calls };
    return { kind: "failed", message: outcome.kind === "failed" ? outcome.message : outcome.why, calls };
  }

  async #askSmall(excerpt: string, { name, known }: SmallModel): Promise<ProgressAnswer> {
    const { now, wait, model } = this.#deps;
    const caller = plainSummariser(
      { now, wait, model, random: () => 0 },
      {
        model: name,
        windowTokens: known?.windowTokens ?? windowTokensDefault,
        outputTokensMax: known?.outputTokensMax ?? outputTokensMaxDefault,
        triesMax: 1,
        timeMillisMax: progressMillisMax,
        silenceMillisMax: progressMillisMax,
      },
    );
    const content = [{ type: "text", text: progressQuestion(excerpt) } as const];
    const call = {
      system: progressSystem,
      messages: [{ role: "user", content } as const],
      outputTokensMax: progressOutputTokensMax,
    };
    const answer = await caller.ask(call, this.#stopped.signal);
    const usage = [...(answer.wasted ?? []), ...(answer.usage === undefined ? [] : [answer.usage])];
    const calls = toCalls("stream", { model: name, usage });
    if (answer.kind === "answered") return { kind: "answered", text: answer.text, calls };
    if (answer.failure.why === "not-found") this.#isSmallMissing = true;
    return { kind: "failed", message: answer.failure.message, calls };
  }

  /** Also what a dropped line has cost. A fork is in the ledger already. */
  async #book(calls: readonly PaidCall[], way: ProgressChoice["way"]): Promise<void> {
    const { costs, record } = this.#deps;
    for (const { model, usage } of calls) {
      this.#spentNanos += costs.priceOf({ model, usage });
      if (way === "small") costs.add({ source: "agents", model, usage, headerTokens: tokens(0) });
    }
    // If the disk fails, only the record of the cost is lost.
    if (calls.length > 0) await record?.(progressCostDraft(calls)).catch(() => undefined);
  }
}

interface SmallModel {
  readonly name: string;
  readonly known: Model | undefined;
}

type ProgressAnswer =
  | { readonly kind: "answered"; readonly text: string; readonly calls: readonly PaidCall[] }
  | { readonly kind: "failed"; readonly message: string; readonly calls: readonly PaidCall[] };

const toCalls = (
  path: string,
  { model, usage }: { readonly model: string; readonly usage: readonly JsonObject[] },
): readonly PaidCall[] => usage.map((one) => ({ path, model, usage: one }));

/** Without a reach: it begins with all of the conversation, stand-ins for the results of open calls included. */
const forkTask: ForkTask = {
  directive: progressDirective,
  source: "agents",
  roundsMax: 1,
  cacheWrite: "skip",
  triesMax: 1,
  timeMillisMax: millis(progressMillisMax),
  permit: () => Promise.resolve({ kind: "denied", reason: "No tool is used here. Answer with the line alone." }),
};
