import type { CostLedger } from "../cache/cost-ledger.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { ReadFiles } from "../ports/tool.ts";
import type { Session } from "../session/session.ts";
import type { SpendLog } from "../ports/spend-log.ts";
import { BackgroundSpend } from "./background-spend.ts";
import type { CompactionSetup } from "./compact/compaction-setup.ts";
import {
  applyFixedPart,
  createMainConversation,
  followUndo,
  UsedIds,
  type Conversation,
  type ConversationContext,
  type NewConversation,
} from "./conversation.ts";
import type { AgentDeps } from "./deps.ts";
import { SessionLine } from "./line.ts";
import { ManualCompaction } from "./manual-compaction.ts";
import { createReadFiles, listRecordedReads } from "./read-files.ts";
import { CacheModel } from "./request/cache-model.ts";
import { SessionView } from "./session-view.ts";
import type { StorePorts } from "../ports/store.ts";

interface SessionContextInput<Setup extends CompactionSetup> extends TranscriptsDep {
  readonly session: Session;
  /** The session's costs so far. */
  readonly costs: CostLedger;
  /** For a fork: the files that its parent has read. Absent: those that the session's log records. */
  readonly files?: ReadFiles | undefined;
  /** `fixed` for an agent: nobody pauses between its requests, so nothing is written to the cache for an hour. */
  readonly lifetimes?: "chosen" | "fixed" | undefined;
  /** Lets a search reach all sessions. Absent: only this one. */
  readonly projectStore?: Pick<StorePorts, "sessions" | "recall"> | undefined;
  /** Where the project's sessions write what they pay. Absent: background work counts this session's costs only. */
  readonly spend?: SpendLog | undefined;
  /** Called at most once, with a message for the user: background work has no money left. */
  readonly onPaused?: ((message: string) => void) | undefined;
  /** Creates the compaction setup. It refers to the conversation, and the conversation refers to it. */
  readonly compacting: (started: StartedConversation) => Setup;
  /** Called after an undo or a rewind, to bring the caller's own state in line with the session. */
  readonly onUndone?: (() => Promise<void>) | undefined;
}

export interface StartedConversation {
  /** Its conversation is there once the setup has been returned. */
  readonly context: ConversationContext;
  readonly files: ReadFiles;
  /** Asked by background work before it spends something. */
  readonly spend: BackgroundSpend;
}

/** What a conversation's requests begin with. */
type Prefix = Pick<NewConversation, "baseline" | "countedFixed" | "moved" | "known" | "written" | "common">;

/**
 * The context of one session: its conversation, what the model sees of it, and what the user does to it. The agent and its
 * commands use this object; the library's `Context` is the same in a provider's types.
 *
 *   new ──start──▶ started ──start, with another prefix──▶ started: a new conversation with the same costs, ids and files
 */
export class SessionContext<Setup extends CompactionSetup = CompactionSetup> implements ConversationContext {
  readonly deps: AgentDeps;
  readonly session: Session;
  /** What the model sees, and the user's edits of it. To be used between turns. */
  readonly view: SessionView;
  /** To be used between turns. */
  readonly compaction: ManualCompaction;
  /** Decides whether background work may start, by what was paid for it. */
  readonly backgroundSpend: BackgroundSpend;
  readonly #input: SessionContextInput<Setup>;
  readonly #state: Pick<Conversation, "costs" | "ids" | "files">;
  #started: { readonly conversation: Conversation; readonly compacting: Setup } | undefined;

  constructor(deps: AgentDeps, input: SessionContextInput<Setup>) {
    const { session, transcripts, costs, spend, onPaused } = input;
    this.deps = deps;
    this.session = session;
    this.#input = input;
    this.#state = {
      costs,
      // Includes abandoned branches: costs are booked by the id of the reply.
      ids: new UsedIds(session.fold.path.everyBranch),
      files: input.files ?? createReadFiles(listRecordedReads(session.fold)),
    };
    this.view = new SessionView({
      session,
      deps: { transcripts, blobs: deps.blobs, ...input.projectStore },
      settings: deps.settings,
      thinking: () => this.conversation.known?.thinking,
      follow: async () => {
        await followUndo(this.conversation, session);
        await input.onUndone?.();
      },
    });
    this.compaction = new ManualCompaction(this);
    this.backgroundSpend = new BackgroundSpend(deps, { costs, log: spend, onPaused });
    session.onClose(() => this.backgroundSpend.flush());
  }

  get conversation(): Conversation {
    return this.#running.conversation;
  }

  get compacting(): Setup {
    return this.#running.compacting;
  }

  /** Starts the conversation, or starts it again with another prefix. */
  start(prefix: Prefix): void {
    const { deps, session } = this;
    const context: ConversationContext = {
      deps,
      get conversation() {
        return conversation;
      },
    };
    const compacting = this.#input.compacting({ context, files: this.#state.files, spend: this.backgroundSpend });
    const conversation: Conversation = createMainConversation(deps, {
      ...prefix,
      ...this.#state,
      session: session.id,
      line: new SessionLine(session),
      lifetimes: { fixed: "5m", rolling: "5m" },
      cache: createCacheModel(session, { ...prefix, lifetimes: this.#input.lifetimes }),
      compacting,
    });
    this.#started = { conversation, compacting };
  }

  /** Called after a boundary: drops from memory what the view does not need. Never rejects. */
  async shed(): Promise<void> {
    // The receipts of the edits so far must be read before their entries are dropped.
    await this.view.followReceipts();
    await this.session.shed();
    applyFixedPart(this.session, this.conversation);
    await this.view.followReceipts();
  }

  get #running() {
    if (this.#started === undefined) throw new TypeError("the context was not started");
    return this.#started;
  }
}

/** If the prefix has changed, what an earlier run wrote to the cache is lost. */
function createCacheModel(
  { inventory, fold }: Session,
  { moved, lifetimes = "chosen" }: Pick<Prefix, "moved"> & Pick<SessionContextInput<CompactionSetup>, "lifetimes">,
): CacheModel {
  const cache = new CacheModel("5m", { lifetimes });
  if (inventory !== undefined && moved === undefined) cache.resume({ inventory, fold });
  return cache;
}
