import { millisByLifetime } from "../cache/lifetime.ts";
import type { RoundListener } from "../context/compact/compaction-setup.ts";
import type { ConversationContext } from "../context/conversation.ts";
import type { AgentDeps } from "../context/deps.ts";
import { SessionLine } from "../context/line.ts";
import { rankMemories } from "../context/memory/rank-memories.ts";
import type { StartedConversation } from "../context/session-context.ts";
import { SessionExtraction } from "../context/memory/session-extraction.ts";
import type { Provider } from "../context/provider-formats.ts";
import type { MemoryWriting } from "../layers/5-extract/run-extract.ts";
import { ConversationForks } from "../loop/conversation-forks.ts";
import { memoryToolDefinition } from "../memory/directory/memory-tool.ts";
import type { Fork } from "../ports/fork.ts";
import type { Memories } from "../ports/memories.ts";
import { textField } from "../schema/json.ts";
import type { Session } from "../session/session.ts";
import type { ContextOptions } from "./options.ts";

interface BackgroundDeps {
  readonly session: Session;
  readonly deps: AgentDeps;
  /** Undefined if the store keeps none. */
  readonly memories: Memories | undefined;
}

/** The background work of a library's context. It outlives the conversation, which starts again with another prefix. */
export class ContextBackground<P extends Provider> {
  readonly #options: ContextOptions<P>;
  readonly #deps: BackgroundDeps;
  #context: ConversationContext | undefined;
  #listeners: readonly RoundListener[] | undefined;

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

  #create(spend: StartedConversation["spend"]): readonly RoundListener[] {
    const { memories, session, deps } = this.#deps;
    if (this.#options.background?.extraction !== "on" || memories === undefined) return [];
    const extraction = new SessionExtraction(
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
    return [extraction];
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
        const permit = () => Promise.resolve({ kind: "allowed" } as const);
        return new ConversationForks({ deps: { ...deps, permit }, conversation }).run(task, signal);
      },
    };
  }

  /** The provider's memory tool, if the caller offers it, else a list in the reply: the prefix stays the caller's. */
  get #writing(): MemoryWriting {
    const { type, name } = memoryToolDefinition;
    const hasTool = this.#running.conversation.baseline.tools.some(
      (tool) => tool.name === name && textField(tool, "type") === type,
    );
    return hasTool ? { kind: "tool", own: [], readTools: [], sandbox: "unheld" } : { kind: "text" };
  }
}
