import type { Fork, ForkOutcome, ForkTask } from "../ports/fork.ts";
import { noHooks } from "../ports/hooks.ts";
import type { PermissionDep, PermissionRequest, Tool, ToolContext } from "../ports/tool.ts";
import type { Message } from "../schema/block.ts";
import { tokens } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { JsonObject } from "../schema/json.ts";
import { estimateShown } from "../tokens/estimate-block.ts";
import type { Conversation, ConversationContext } from "../context/conversation.ts";
import type { AgentDeps } from "../context/deps.ts";
import { WrittenPlaces } from "../cache/written-places.ts";
import { forkBreakpoints } from "../cache/fork-breakpoints.ts";
import { ForkLine, type ForkPoint } from "../context/fork-line.ts";
import type { Line } from "../context/line.ts";
import { runTurn } from "./run-turn.ts";
import { firstMessages, type MessagesReach } from "../transcript/first-messages.ts";
import { TimeLimit } from "../context/time-limit.ts";
import { follower, Stagger, type StaggerPass } from "./stagger.ts";

/**
 * Forks of one conversation. What determines the cached prefix is shared with the parent: baseline, blocks, their bytes.
 * What can change is copied: the line, the files read, the tools' state, the cache writes. The parent is not affected.
 */
export class ConversationForks implements Fork {
  readonly #deps: AgentDeps;
  readonly #parent: Conversation;
  #newest: { readonly blocks: number; readonly stagger: Stagger } | undefined;

  constructor({ deps, conversation }: ConversationContext) {
    this.#deps = deps;
    this.#parent = conversation;
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
    const line = new ForkLine(findForkPoint(this.#parent.line, task));
    // Everything is copied before the first await: the parent continues meanwhile.
    const fork = new ForkRun({ deps: this.#deps, parent: this.#parent, line, task, usage });
    const pass = await this.#enter(task, { blocks: line.commonBlocks, signal });
    try {
      return signal.aborted ? { kind: "over", why: "aborted", usage } : await fork.run(signal, pass.begun);
    } finally {
      pass.left();
    }
  }

  /**
   * Forks of one point can read their common part from the cache only once the reply of the first one begins: the others
   * wait for that. If the first fails before, the next one takes its place. A fork that writes nothing need not wait.
   */
  async #enter({ cacheWrite }: ForkTask, { blocks, signal }: ForkStart): Promise<StaggerPass> {
    if (cacheWrite === "skip") return follower;
    if (this.#newest?.blocks !== blocks) this.#newest = { blocks, stagger: new Stagger(this.#deps) };
    return this.#newest.stagger.enter(signal);
  }
}

interface ForkStart {
  /** Number of blocks that it shares with its parent. Identifies the fork point. */
  readonly blocks: number;
  readonly signal: AbortSignal;
}

interface ForkParts {
  readonly deps: AgentDeps;
  readonly parent: Conversation;
  readonly line: ForkLine;
  readonly task: ForkTask;
  /** The provider's usage of each request; filled as the fork runs. */
  readonly usage: JsonObject[];
}

class ForkRun {
  readonly #parts: ForkParts;
  readonly #context: ConversationContext;
  #text = "";

  constructor(parts: ForkParts) {
    const { deps, task } = parts;
    this.#parts = parts;
    const retries = { ...deps.retries, triesMax: Math.min(deps.retries.triesMax, task.triesMax ?? Infinity) };
    const forkDeps = {
      permit: narrowPermissions(deps, task),
      asking: undefined,
      hooks: noHooks,
      model: recordUsage(parts),
      retries,
    };
    this.#context = {
      deps: { ...deps, ...rewriteInputs(replaceTools(deps.toolsForFork(), task), task), ...forkDeps },
      conversation: createForkConversation(parts),
    };
  }

  async run(signal: AbortSignal, begun: () => void): Promise<ForkOutcome> {
    const { task } = this.#parts;
    const input = { text: task.directive, signal, queue: [], roundsMax: task.roundsMax };
    let end: Extract<LoopEvent, { kind: "turn-end" }> | undefined;
    const round = new RoundState(task);
    for await (const event of runTurn(this.#context, input)) {
      task.onEvent?.(event);
      if (event.kind === "request-start") {
        // Results are in, and nothing is sent yet: a request for a mere "done" would read the whole prefix again.
        if (round.isEnough) break;
        round.begin();
      }
      if (event.kind === "reply-end") round.replied(event);
      if (event.kind === "call-end") round.add(event);
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
    return round.isEnough ? this.#answer() : this.#outcome(end);
  }

  #answer(): ForkOutcome {
    const { line, usage } = this.#parts;
    return { kind: "answered", text: this.#text, said: line.said, usage };
  }

  #outcome(end: Extract<LoopEvent, { kind: "turn-end" }> | undefined): ForkOutcome {
    const { usage } = this.#parts;
    switch (end?.reason) {
      case "answered":
        return this.#answer();
      case "cut-short":
        return { kind: "failed", why: "cut-short", message: end.message ?? "", usage };
      case "failed":
      case "refused":
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

type CallEnd = Extract<LoopEvent, { kind: "call-end" }>;

/** How the calls of the newest round ended. */
class RoundState {
  readonly #endsWith: ForkTask["endsWith"];
  readonly #outcomes = new Set<CallEnd["outcome"]>();
  /** The reply was cut off, so it may have had more calls to make. */
  #isCut = false;

  constructor({ endsWith }: ForkTask) {
    this.#endsWith = endsWith;
  }

  get isEnough(): boolean {
    const ends = this.#outcomes;
    if (this.#isCut || !ends.has("done") || ends.has("failed") || ends.has("interrupted")) return false;
    return (typeof this.#endsWith === "function" ? this.#endsWith() : this.#endsWith) === "calls";
  }

  begin(): void {
    this.#outcomes.clear();
  }

  replied({ stopReason }: Extract<LoopEvent, { kind: "reply-end" }>): void {
    this.#isCut = stopReason === "max_tokens" || stopReason === "model_context_window_exceeded";
  }

  add({ outcome }: CallEnd): void {
    this.#outcomes.add(outcome);
  }
}

/** The current end of the parent, or an earlier point of it. */
function findForkPoint(parent: Line, reach: MessagesReach): ForkPoint {
  const { usedTokens, fixedTokens } = parent;
  const all = parent.snapshot();
  const messages = firstMessages(all, reach);
  if (messages === all) return { messages, usedTokens, fixedTokens };
  if (messages.at(-1)?.content.some(({ type }) => type === "tool_use") === true)
    throw new Error("a fork can't begin between calls and their results");
  const share = estimateMessages(messages) / Math.max(1, estimateMessages(all));
  return { messages, usedTokens: tokens(Math.ceil(fixedTokens + share * (usedTokens - fixedTokens))), fixedTokens };
}

const estimateMessages = (messages: readonly Message[]): number =>
  estimateShown(messages.map(({ content }) => content));

function createForkConversation({ parent, line, task }: ForkParts): Conversation {
  return {
    ...parent,
    line,
    cache: undefined,
    compacting: undefined,
    inheritedAsks: parent.cache?.server.asked,
    // A fork without the parent's messages has nothing at the places where those were written.
    written: line.common === undefined ? new WrittenPlaces() : parent.written.copy(),
    breaks: parent.breaks.createSibling(),
    files: copyFiles(parent, task),
    ids: parent.ids.copy(),
    source: task.source,
    mark: (input) => forkBreakpoints(input, { common: line.common, cacheWrite: task.cacheWrite }),
  };
}

function copyFiles({ files }: Conversation, { ownFile }: ForkTask): Conversation["files"] {
  const copy = files.copy();
  if (ownFile !== undefined) copy.set(ownFile.path, ownFile.read);
  return copy;
}

function replaceTools(
  forked: ReturnType<AgentDeps["toolsForFork"]>,
  { ownTools = [] }: ForkTask,
): ReturnType<AgentDeps["toolsForFork"]> {
  if (ownTools.length === 0) return forked;
  const ownByName = new Map(ownTools.map((tool) => [tool.name, tool]));
  const tools = forked.tools.map((tool): Tool => {
    const own = ownByName.get(tool.name);
    return own === undefined ? tool : { ...tool, plan: (input, context) => own.plan(input, context) };
  });
  return { ...forked, tools };
}

function rewriteInputs(
  forked: ReturnType<AgentDeps["toolsForFork"]>,
  { rewriteInput }: ForkTask,
): ReturnType<AgentDeps["toolsForFork"]> {
  if (rewriteInput === undefined) return forked;
  const tools = forked.tools.map((tool) => ({
    ...tool,
    plan: async (input: JsonObject, context: ToolContext) => tool.plan(await rewriteInput(input), context),
  }));
  return { ...forked, tools };
}

function recordUsage({ deps: { model }, usage }: ForkParts): AgentDeps["model"] {
  return {
    ...model,
    send: async function* (request, signal) {
      let startUsage: JsonObject | undefined;
      for await (const event of model.send(request, signal)) {
        if (event.kind === "reply-start") startUsage = event.usage;
        if (event.kind === "reply-end") usage.push(event.usage);
        // A broken reply is paid for too.
        if (event.kind === "failure" && startUsage !== undefined) usage.push(startUsage);
        yield event;
      }
    },
  };
}

/**
 * A fork inherits or narrows permissions, it never widens them: what is denied to its parent is denied to it. If the user
 * would be asked, writes to the fork's own file are allowed.
 */
const narrowPermissions =
  (parent: PermissionDep, task: ForkTask): PermissionDep["permit"] =>
  async (request) => {
    const verdict = await task.permit(request);
    if (verdict.kind !== "allowed") return verdict;
    const parentVerdict = await parent.permit(request);
    return parentVerdict.kind === "ask" && writesOnlyOwnFile(task, request) ? verdict : parentVerdict;
  };

const writesOnlyOwnFile = ({ ownFile }: ForkTask, { acts }: PermissionRequest): boolean =>
  ownFile !== undefined &&
  acts.length > 0 &&
  acts.every((act) => act.kind === "write" && act.byShell === undefined && act.path === ownFile.path);
