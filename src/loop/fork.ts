import { BreakDetector } from "../cache/breaks.ts";
import type { Fork, ForkOutcome, ForkTask } from "../ports/fork.ts";
import { noHooks } from "../ports/hooks.ts";
import type { PermissionDep } from "../ports/tools.ts";
import type { Message } from "../schema/block.ts";
import { tokens } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { JsonObject } from "../schema/json.ts";
import { estimateShown } from "../tokens/estimate.ts";
import type { Conversation } from "./agent/conversation.ts";
import type { AgentDeps } from "./agent/deps.ts";
import { ForkLine, type ForkPoint } from "./agent/fork-line.ts";
import type { Line } from "./agent/line.ts";
import { runTurn } from "./agent/turn.ts";
import { forkBreakpoints } from "./fork-breakpoints.ts";
import { follower, type Pass, Stagger } from "./stagger.ts";
import { TimeLimit } from "./time-limit.ts";

/**
 * Forks of one conversation. What decides the cached prefix is the parent's own: baseline, blocks, their bytes. What can
 * change is copied: the line, the files read, the tools' state, where the cache was written. The parent never notices.
 */
export class ConversationForks implements Fork {
  readonly #deps: AgentDeps;
  readonly #parent: Conversation;
  #newest: { readonly blocks: number; readonly stagger: Stagger } | undefined;

  constructor(deps: AgentDeps, parent: Conversation) {
    this.#deps = deps;
    this.#parent = parent;
  }

  get model(): string {
    return this.#parent.baseline.model;
  }

  async run(task: ForkTask, signal: AbortSignal): Promise<ForkOutcome> {
    const usage: JsonObject[] = [];
    const { timeMillisMax } = task;
    const limit = timeMillisMax === undefined ? undefined : new TimeLimit(this.#deps, { timeMillisMax, signal });
    try {
      const outcome = await this.#run({ task, usage }, limit?.signal ?? signal);
      const late = outcome.kind === "over" && !signal.aborted ? limit?.exceeded : undefined;
      return late === undefined ? outcome : { kind: "failed", message: `The fork was stopped. ${late}`, usage };
    } catch (error) {
      return { kind: "failed", message: `The fork broke off: ${String(error)}`, usage };
    } finally {
      limit?.end();
    }
  }

  async #run({ task, usage }: Pick<ForkParts, "task" | "usage">, signal: AbortSignal): Promise<ForkOutcome> {
    const line = new ForkLine(pointOf(this.#parent.line, task));
    // Everything is copied before the fork waits: the parent goes on meanwhile.
    const fork = new ForkRun({ deps: this.#deps, parent: this.#parent, line, task, usage });
    const pass = await this.#enter(task, { blocks: line.commonBlocks, signal });
    try {
      return signal.aborted ? { kind: "over", why: "aborted", usage } : await fork.run(signal, pass.begun);
    } finally {
      pass.left();
    }
  }

  /**
   * Forks of one point share what they have in common only once the first one's reply begins: the others wait for that,
   * and where it fails before, the next of them goes first. One that writes nothing has nothing to wait for.
   */
  async #enter({ cacheWrite }: ForkTask, { blocks, signal }: ForkStart): Promise<Pass> {
    if (cacheWrite === "skip") return follower;
    if (this.#newest?.blocks !== blocks) this.#newest = { blocks, stagger: new Stagger() };
    return this.#newest.stagger.enter(signal);
  }
}

interface ForkStart {
  /** That it shares with its parent: what tells one point from another. */
  readonly blocks: number;
  readonly signal: AbortSignal;
}

interface ForkParts {
  readonly deps: AgentDeps;
  readonly parent: Conversation;
  readonly line: ForkLine;
  readonly task: ForkTask;
  /** As the provider said it, request by request; filled as it runs. */
  readonly usage: JsonObject[];
}

class ForkRun {
  readonly #parts: ForkParts;
  readonly #deps: AgentDeps;
  readonly #conversation: Conversation;
  #text = "";

  constructor(parts: ForkParts) {
    const { deps, task } = parts;
    this.#parts = parts;
    const retries = { ...deps.retries, triesMax: Math.min(deps.retries.triesMax, task.triesMax ?? Infinity) };
    const narrowed = { permit: both(deps, task), hooks: noHooks, model: booked(parts), retries };
    this.#deps = { ...deps, ...deps.toolsForFork(), ...narrowed };
    this.#conversation = conversationOf(parts);
  }

  async run(signal: AbortSignal, begun: () => void): Promise<ForkOutcome> {
    const { task } = this.#parts;
    const input = {
      conversation: this.#conversation,
      text: task.directive,
      signal,
      queue: [],
      roundsMax: task.roundsMax,
    };
    let end: Extract<LoopEvent, { kind: "turn-end" }> | undefined;
    for await (const event of runTurn(this.#deps, input)) {
      if (event.kind === "reply-start") {
        begun();
        this.#text = "";
      }
      if (event.kind === "text-delta") {
        this.#text += event.text;
        task.onText?.(event.text);
      }
      if (event.kind === "turn-end") end = event;
    }
    return this.#outcome(end);
  }

  #outcome(end: Extract<LoopEvent, { kind: "turn-end" }> | undefined): ForkOutcome {
    const { line, usage } = this.#parts;
    switch (end?.reason) {
      case "answered":
        return { kind: "answered", text: this.#text, said: line.said, usage };
      case "failed":
      case "refused":
      case "cut-short":
        return { kind: "failed", message: end.message ?? "", usage };
      case "over-limit":
      case "aborted":
        return { kind: "over", why: end.reason, usage };
      case "turn-limit":
        return { kind: "over", why: "rounds", usage };
      case "blocked-by-hook":
      case undefined:
        throw new Error("a fork has no hooks and always ends");
    }
  }
}

/** Where the parent stands, or an earlier point of it. */
function pointOf(parent: Line, { messagesMax }: ForkTask): ForkPoint {
  const { usedTokens, fixedTokens } = parent;
  const all = parent.snapshot();
  if (messagesMax === undefined || messagesMax >= all.length) return { messages: all, usedTokens, fixedTokens };
  const messages = all.slice(0, messagesMax);
  if (messages.at(-1)?.content.some(({ type }) => type === "tool_use") === true)
    throw new Error("a fork can't begin between calls and their results");
  const share = sizeOf(messages) / Math.max(1, sizeOf(all));
  return { messages, usedTokens: tokens(Math.ceil(fixedTokens + share * (usedTokens - fixedTokens))), fixedTokens };
}

const sizeOf = (messages: readonly Message[]): number => estimateShown(messages.map(({ content }) => content));

function conversationOf({ deps, parent, line, task }: ForkParts): Conversation {
  return {
    ...parent,
    line,
    cache: undefined,
    compacting: undefined,
    inheritedAsks: parent.cache?.asks,
    written: parent.written.copy(),
    breaks: new BreakDetector(deps),
    files: parent.files.copy(),
    ids: parent.ids.copy(),
    source: task.source,
    mark: (input) => forkBreakpoints(input, { common: line.common, cacheWrite: task.cacheWrite }),
  };
}

function booked({ deps: { model }, usage }: ForkParts): AgentDeps["model"] {
  return {
    ...model,
    send: async function* (request, signal) {
      let begun: JsonObject | undefined;
      for await (const event of model.send(request, signal)) {
        if (event.kind === "reply-start") begun = event.usage;
        if (event.kind === "reply-end") usage.push(event.usage);
        // What a broken reply read and wrote is paid for all the same.
        if (event.kind === "failure" && begun !== undefined) usage.push(begun);
        yield event;
      }
    },
  };
}

/** A fork inherits or narrows, it never widens. */
const both =
  (parent: PermissionDep, own: PermissionDep): PermissionDep["permit"] =>
  async (request) => {
    const verdict = await own.permit(request);
    return verdict.kind === "allowed" ? parent.permit(request) : verdict;
  };
