import { millisByLifetime } from "../cache/lifetime.ts";
import type { RoundListener } from "../context/compact/compaction-setup.ts";
import type { ConversationContext } from "../context/conversation.ts";
import type { AgentDeps } from "../context/deps.ts";
import { SessionLine } from "../context/line.ts";
import { rankMemories } from "../context/memory/rank-memories.ts";
import type { StartedConversation } from "../context/session-context.ts";
import { SessionDream } from "../context/memory/session-dream.ts";
import { SessionExtraction } from "../context/memory/session-extraction.ts";
import type { Provider } from "../context/provider-formats.ts";
import type { MemoryWriteMode } from "../layers/5-extract/run-extract.ts";
import { extractRecall } from "../layers/5-extract/limits.ts";
import { ForkRecall, type SearchTranscripts } from "../memory/fork-recall.ts";
import { ConversationForks } from "../loop/conversation-forks.ts";
import { DriftCheck } from "../memory/directory/find-drift.ts";
import { memoryToolDefinition } from "../memory/directory/memory-tool.ts";
import type { Fork } from "../ports/fork.ts";
import type { Memories } from "../ports/memories.ts";
import type { StorePorts } from "../ports/store.ts";
import { textField } from "../schema/json.ts";
import type { Session } from "../session/session.ts";
import type { ContextOptions } from "./options.ts";

interface BackgroundDeps {
  readonly session: Session;
  readonly deps: AgentDeps;
  /** What the store keeps; each may be missing. */
  readonly store: Pick<StorePorts, "memories" | "dreams" | "sessions">;
  /** Searches all sessions of the store. */
  readonly search: SearchTranscripts;
}

/** The background work of a library's context. It outlives the conversation, which starts again with another prefix. */
export class ContextBackground<P extends Provider> {
  readonly #options: ContextOptions<P>;
  readonly #deps: BackgroundDeps;
  #context: ConversationContext | undefined;
  #listeners: readonly RoundListener[] | undefined;
  #dream: SessionDream | undefined;

  constructor(options: ContextOptions<P>, deps: BackgroundDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Called for each conversation of the session; forks begin from the newest. */
  start({ context, spend }: Pick<StartedConversation, "context" | "spend">): readonly RoundListener[] {
    this.#context = context;
    this.#listeners ??= this.#create(spend);
    return this.#listeners;
  }

  /** Undefined if dreams are off, or the store has what they need not. */
  get dream(): SessionDream | undefined {
    return this.#dream;
  }

  #create(spend: StartedConversation["spend"]): readonly RoundListener[] {
    const { memories, dreams, sessions } = this.#deps.store;
    const { extraction = "off", dream = "off" } = this.#options.background ?? {};
    if (memories === undefined) return [];
    const listeners: RoundListener[] = extraction === "on" ? [this.#createExtraction(memories, spend)] : [];
    if (dream !== "on" || dreams === undefined || sessions === undefined) return listeners;
    const created = this.#createDream({ memories, dreams, sessions }, spend);
    this.#dream = created;
    return [...listeners, { roundEnded: (calls) => (calls === 0 ? created.turnEnded() : undefined) }];
  }

  #createExtraction(memories: Memories, spend: StartedConversation["spend"]): SessionExtraction {
    const { session, deps } = this.#deps;
    return new SessionExtraction(
      {
        now: deps.now,
        wait: deps.wait,
        settings: deps.settings,
        memories,
        fork: this.#fork,
        rank: this.#options.rankMemories ?? rankMemories,
        secrets: this.#options.secretScanner,
        writing: () => this.#writing,
        instructions: () => this.#running.conversation.baseline.system.map(({ text }) => text),
        state: () => "on",
        spend,
        known: () => this.#running.conversation.known,
        prompt: () => Promise.resolve(undefined),
        cacheMillis: () => millisByLifetime[this.#running.conversation.lifetimes.rolling],
        onEvent: (event) => this.#options.onEvent?.(event),
      },
      { session, line: new SessionLine(session) },
    );
  }

  #createDream(
    store: Required<Pick<StorePorts, "memories" | "dreams" | "sessions">>,
    spend: StartedConversation["spend"],
  ): SessionDream {
    const { session, deps, search } = this.#deps;
    const { workingTree, secretScanner: scanner } = this.#options;
    const drift = workingTree && new DriftCheck({ now: deps.now }, workingTree);
    return new SessionDream(
      {
        ...store,
        now: deps.now,
        settings: deps.settings,
        fork: this.#fork,
        scanner,
        search,
        drift: drift && ((memories) => drift.check(memories)),
        tools: () => ({
          memory: this.#hasMemoryTool ? memoryToolDefinition.name : undefined,
          recall: this.#recallTool,
          read: [],
          sandbox: "unheld",
        }),
        spend,
        known: () => this.#running.conversation.known,
        fixedTokens: () => this.#running.conversation.line.fixedTokens,
        emit: (event) => this.#options.onEvent?.(event),
      },
      { session },
    );
  }

  get #running(): ConversationContext {
    if (this.#context === undefined) throw new TypeError("no conversation was started");
    return this.#context;
  }

  /** The caller runs its own tools; in a fork only ours run, and what they may do is the task's to say. */
  get #fork(): Fork {
    const running = () => this.#running;
    return {
      get model() {
        return running().conversation.baseline.model;
      },
      run: (task, signal) => {
        const { deps, conversation } = running();
        return new ConversationForks({ deps: { ...deps, permit: permitAll }, conversation }).run(task, signal);
      },
    };
  }

  /** The provider's memory tool, if the caller offers it, else a list in the reply: the prefix stays the caller's. */
  get #writing(): MemoryWriteMode {
    if (!this.#hasMemoryTool) return { kind: "text" };
    const recall = this.#recallTool;
    const own = recall === undefined ? [] : [new ForkRecall(this.#deps.search, extractRecall).tool(recall)];
    return { kind: "tool", own, readTools: [], sandbox: "unheld" };
  }

  /** Whatever the caller's own tool of this name does: in a fork it searches. */
  get #recallTool(): string | undefined {
    return this.#running.conversation.baseline.tools.find(({ name }) => name === "recall")?.name;
  }

  get #hasMemoryTool(): boolean {
    const { type, name } = memoryToolDefinition;
    return this.#running.conversation.baseline.tools.some(
      (tool) => tool.name === name && textField(tool, "type") === type,
    );
  }
}

const permitAll: AgentDeps["permit"] = () => Promise.resolve({ kind: "allowed" });
