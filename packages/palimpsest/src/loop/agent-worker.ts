import type { CostLedger } from "../cache/cost-ledger.ts";
import { countPromptTokens, parseSpent } from "../cache/usage-split.ts";
import type { AgentConversation, AgentPayment } from "../ports/agent-host.ts";
import { agentRoundsMax } from "../layers/7-agents/limits.ts";
import type { AgentEnd, AgentRun, AgentState, AgentUsage } from "../schema/agent-run.ts";
import { type AgentId, type Millis, nanoUsd, tokens, type ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { LoopEvent, TurnOutcome } from "../schema/loop-event.ts";
import type { Draft } from "../transcript/draft.ts";
import { denialsMax } from "./limits.ts";
import { follower, type StaggerPass } from "./stagger.ts";

/** The conversation that starts agents. `id`: undefined for the main one. */
export interface Asker {
  readonly id: AgentId | undefined;
  readonly depth: number;
  readonly kind: "conversation" | "fork";
}

/** How one turn of an agent ended. */
export interface WorkerTurn {
  readonly how: AgentEnd;
  /** Its last reply. */
  readonly text: string;
  /** Why it failed, or which limit it reached. */
  readonly message?: string | undefined;
}

interface WorkerInput {
  readonly run: AgentRun;
  readonly costs: CostLedger;
  readonly onChange: (run: AgentRun) => void;
}

/**
 * One agent at work: follows the events of its turns and keeps its state up to date.
 *
 *   running ──end──▶ ended ──restart──▶ running
 */
export class AgentWorker {
  /** Messages that it has not seen. */
  readonly mail: Draft[] = [];
  /** Payments that are not booked in its session's log. */
  readonly unbooked: AgentPayment[] = [];
  /** Payments that are. */
  booked = 0;
  /**
   * Set when its last turn is over: it takes no more mail and starts no agents. `kept`: it stays on record, to go on when the
   * session is opened again.
   */
  leaving: "gone" | "kept" | undefined;
  readonly #costs: CostLedger;
  readonly #onChange: (run: AgentRun) => void;
  #run: AgentRun;
  #stopping = new AbortController();
  #stopReason: "stopped" | "limit" = "stopped";
  #done = Promise.withResolvers<AgentRun>();
  #reply = "";
  /** Of calls that run. */
  readonly #inputById = new Map<ToolUseId, JsonObject>();

  constructor({ run, costs, onChange }: WorkerInput) {
    this.#run = run;
    this.#costs = costs;
    this.#onChange = onChange;
  }

  get run(): AgentRun {
    return this.#run;
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves with the run as it ended, also if it goes on at once. */
  get done(): Promise<AgentRun> {
    return this.#done.promise;
  }

  stop(why: "stopped" | "limit"): void {
    this.#stopReason = why;
    this.#stopping.abort();
  }

  change(change: Partial<AgentRun>): void {
    this.#run = { ...this.#run, ...change };
    this.#onChange(this.#run);
  }

  restart(change: Pick<AgentRun, "place">): void {
    this.#stopping = new AbortController();
    this.#stopReason = "stopped";
    this.#done = Promise.withResolvers<AgentRun>();
    this.leaving = undefined;
    this.change({ ...change, state: { kind: "running" } });
  }

  /** It could not go on: it is as it was. */
  giveBack(before: AgentRun): void {
    this.#run = before;
    this.#onChange(before);
    this.#done.resolve(before);
  }

  end(end: { readonly how: AgentEnd; readonly report: string; readonly at: Millis }): void {
    const state: AgentState = { kind: "ended", ...end };
    this.change({ state, progress: undefined });
    this.#done.resolve(this.#run);
  }

  /** It could not be started: nobody has to wait for it. */
  drop(): void {
    this.#done.resolve(this.#run);
  }

  paid({ model, usage }: AgentPayment): void {
    this.#costs.add({ source: "agents", model, usage, headerTokens: tokens(0), agent: this.#run.name });
    this.unbooked.push({ model, usage });
    const spent = parseSpent(usage).reduce((sum, part) => sum + countPromptTokens(part.usage) + part.outputTokens, 0);
    const before = this.#run.usage;
    this.#use({
      tokens: tokens(before.tokens + spent),
      nanos: nanoUsd(before.nanos + this.#costs.priceOf({ model, usage })),
    });
  }

  /** One turn of its conversation. Must not reject. */
  async turn(
    conversation: AgentConversation,
    { text, pass = follower }: { readonly text: string | undefined; readonly pass?: StaggerPass },
  ): Promise<WorkerTurn> {
    let outcome: TurnOutcome | undefined;
    try {
      for await (const event of conversation.turn({ text, signal: this.signal, roundsMax: agentRoundsMax })) {
        this.#follow(event);
        if (event.kind === "reply-start") pass.begun();
        if (event.kind === "turn-end") outcome = event;
      }
    } catch (error) {
      return { how: "failed", text: this.#reply, message: `The agent broke off: ${String(error)}` };
    } finally {
      pass.left();
    }
    return this.#judge(outcome);
  }

  #judge(outcome: TurnOutcome | undefined): WorkerTurn {
    const text = this.#reply;
    if (outcome === undefined || outcome.reason === "aborted")
      return { how: this.#stopReason, text, ...(this.#stopReason === "limit" ? { message: moneyLimitText } : {}) };
    if (outcome.reason === "answered") return { how: "answered", text };
    return { how: outcome.reason === "turn-limit" ? "limit" : "failed", text, message: outcome.message };
  }

  #follow(event: LoopEvent): void {
    const { requests, calls, denied } = this.#run.usage;
    switch (event.kind) {
      case "request-start":
        return this.#use({ requests: requests + 1 });
      case "call-start":
        this.#inputById.set(event.id, event.input);
        return this.#use({ calls: calls + 1 });
      case "call-end": {
        const { id, tool, outcome } = event;
        const input = this.#inputById.get(id) ?? {};
        this.#inputById.delete(id);
        if (outcome !== "denied") return;
        this.change({ denials: [...(this.#run.denials ?? []), { id, tool, input }].slice(-denialsMax) });
        return this.#use({ denied: denied + 1 });
      }
      case "reply-start":
        this.#reply = "";
        return;
      case "text-delta":
        this.#reply += event.text;
        return;
      default:
        return;
    }
  }

  #use(change: Partial<AgentUsage>): void {
    this.change({ usage: { ...this.#run.usage, ...change } });
  }
}

const moneyLimitText = "the agents of this session have spent what the user allows them (setting agentDollarsMax)";

export const newUsage: AgentUsage = { requests: 0, calls: 0, denied: 0, tokens: tokens(0), nanos: nanoUsd(0) };

export const endedAt = ({ run: { state } }: AgentWorker): number => (state.kind === "ended" ? state.at : Infinity);

/** A host that breaks its promise must not keep the session from closing. */
export const closeConversation = (
  conversation: AgentConversation,
): Promise<{ readonly worktree?: AgentRun["worktree"]; readonly failure?: string }> =>
  conversation.close().catch((error: unknown) => ({ failure: `it could not be closed: ${String(error)}` }));
