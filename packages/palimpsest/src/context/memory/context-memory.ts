import { memoryTypes } from "../../memory/directory/memory-text.ts";
import { judgeTrust } from "../../memory/judge-trust.ts";
import { DriftCheck } from "../../memory/directory/find-drift.ts";
import { type BlamedLine, blameLines, type MemoryDraft, planSave } from "../../memory/directory/memory-history.ts";
import { indexPath } from "../../memory/directory/memory-path.ts";
import {
  type MemoryToolAnswer,
  memoryToolDefinition,
  memoryToolHandlers,
  runMemoryCommand,
} from "../../memory/directory/memory-tool.ts";
import { findDerived, forgetMemories, type ForgetSelection } from "../../memory/directory/forget-memories.ts";
import { revertMemories, type RevertOutcome } from "../../memory/directory/revert-memories.ts";
import {
  type RankMemories,
  selectCandidates,
  selectShown,
  type ShownMemories,
} from "../../memory/directory/relevant-memories.ts";
import { type DriftFinding, showIndex, type ShownIndex, showMemory } from "../../memory/directory/show-memory.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type {
  MemoriesDep,
  Memory,
  MemoryAuthor,
  MemoryCommitOutcome,
  MemoryProvenance,
  MemoryPurgeOutcome,
  MemoryRevision,
  MemoryText,
  MemoryTrust,
} from "../../ports/memories.ts";
import type { WorkingTree } from "../../ports/working-tree.ts";
import { entryId, memoryRevisionId, type SessionId } from "../../schema/brand.ts";
import type { SessionSources } from "../../memory/trust-sources.ts";
import { rankMemories } from "./rank-memories.ts";
import type { DreamRunOutcome, SessionDream } from "./session-dream.ts";
import { agentMemories } from "./agent-memories.ts";
import { readMemories } from "../../memory/directory/read-memories.ts";

/** What memory has to know of the conversation it serves. */
export interface MemorySession {
  readonly id: SessionId;
  /** The newest entry: what is saved now came from it. */
  readonly leaf: () => string | null;
  /** Who said what, for what a model writes down by itself. */
  readonly sources: () => SessionSources;
  /** What the view shows already, and all bytes that the session has spent on memories. */
  readonly shown: () => ShownMemories;
  /** Whether a message is still in the view. */
  readonly isInView: (entry: string) => boolean;
}

interface ContextMemoryOptions {
  readonly deps: MemoriesDep & ClockDep;
  readonly session: MemorySession;
  /** What memories are checked against; absent: nothing is flagged. */
  readonly tree?: WorkingTree | undefined;
  /** Which memories have to do with a message; by default words in common. A ranking by a model goes here. */
  readonly rank?: RankMemories | undefined;
  /** Absent: dreams are off. */
  readonly dream?: Pick<SessionDream, "run"> | undefined;
}

export interface RelevantMemories {
  /** A reminder for the model, with age, source and flags. */
  readonly text: string;
  readonly memories: readonly Memory[];
}

interface SaveOptions {
  /** By default the user. */
  readonly author?: MemoryAuthor;
  /** By default `untrusted` if the text repeats what a tool returned and the user did not say. */
  readonly trust?: MemoryTrust;
}

export type SaveOutcome = MemoryCommitOutcome | { readonly kind: "duplicate"; readonly path: string };

/** The memories of a project, as one session sees and writes them. */
export class ContextMemory {
  readonly #options: ContextMemoryOptions;
  readonly #drift: DriftCheck | undefined;
  readonly #rank: RankMemories;

  constructor(options: ContextMemoryOptions) {
    this.#options = options;
    this.#drift = options.tree === undefined ? undefined : new DriftCheck(options.deps, options.tree);
    this.#rank = options.rank ?? rankMemories;
  }

  /** Without the index and the logs. */
  async list(): Promise<readonly Memory[]> {
    return (await this.#memories.list()).filter(({ role }) => role === "memory");
  }

  read(path: string): Promise<MemoryText | undefined> {
    return this.#memories.read(path);
  }

  /** A memory as the model sees it: with age and source, flagged if it names what is gone, quoted if it is untrusted. */
  async show(path: string): Promise<string | undefined> {
    const memory = await this.#memories.read(path);
    if (memory === undefined) return undefined;
    return showMemory(memory, { now: this.#options.deps.now(), driftByPath: await this.#checkDrift([memory]) });
  }

  /** The index as it goes into the context at the start, within its limits. */
  async index(): Promise<ShownIndex> {
    const memories = await readMemories(this.#memories);
    const index = memories.find(({ path }) => path === indexPath)?.text ?? "";
    return showIndex(index, {
      memories,
      now: this.#options.deps.now(),
      driftByPath: await this.#checkDrift(memories),
    });
  }

  /** By path: what memories name and the working tree lacks. */
  async drift(): Promise<ReadonlyMap<string, readonly DriftFinding[]>> {
    return this.#checkDrift(await readMemories(this.#memories));
  }

  /** A text that a memory has already makes no new one; the same name supersedes the memory, with its history. */
  async save(draft: MemoryDraft, { author = "user", trust }: SaveOptions = {}): Promise<SaveOutcome> {
    const problem = draftProblem(draft);
    if (problem !== undefined) return { kind: "invalid", path: draft.name, message: problem };
    for (let attempt = 0; ; attempt += 1) {
      const plan = planSave(draft, await readMemories(this.#memories));
      if (plan.kind === "duplicate") return plan;
      const provenance = this.#provenance(`${draft.description}\n${draft.body}`, trust);
      const message = `${plan.kind === "new" ? "save" : "update"} ${draft.name}`;
      const outcome = await this.#memories.commit({ author, provenance, message, changes: [plan.change] });
      // Somebody else saved at the same time: what is there now decides.
      if (outcome.kind !== "conflict" || attempt >= saveAttemptsMax) return outcome;
    }
  }

  /** Every path that `forget` would remove: the memory, its copies, and what was derived from it. */
  async derived(selection: ForgetSelection): Promise<readonly string[]> {
    return findDerived(await this.#memories.history(), selection);
  }

  /** Removes a memory, or all that came from a session, with its revisions and everything derived from it. */
  async forget(selection: string | ForgetSelection): Promise<MemoryPurgeOutcome> {
    const chosen = typeof selection === "string" ? ({ kind: "paths", paths: [selection] } as const) : selection;
    return forgetMemories(this.#memories, chosen);
  }

  /** Newest first. */
  log(path?: string): Promise<readonly MemoryRevision[]> {
    return this.#memories.history(path);
  }

  /** Which revision added each line. */
  async blame(path: string): Promise<readonly BlamedLine[]> {
    const revisions = (await this.#memories.history(path)).toReversed();
    const versions = await Promise.all(
      revisions.map(async (revision) => {
        const { after } = revision.changes.find((change) => change.path === path) ?? {};
        return { revision, text: after === undefined ? undefined : await this.#memories.text(after) };
      }),
    );
    return blameLines(versions);
  }

  /** Undoes one revision, or what it did to one file, as a new revision. */
  revert(revision: string, path?: string): Promise<RevertOutcome> {
    const { now } = this.#options.deps;
    return revertMemories(this.#memories, { revision: memoryRevisionId(revision), path, now: now() });
  }

  /**
   * Consolidates the memories now: a fork tidies up a draft, an audit decides what of it may stand, and that is one revision.
   * With `dry-run` nothing is written; the receipt says what would be. Undefined if dreams are off.
   */
  dream(mode: "commit" | "dry-run" = "commit"): Promise<DreamRunOutcome> | undefined {
    return this.#options.dream?.run({ mode, force: true });
  }

  /** The Messages API's memory tool, served from this directory. */
  get tool(): MemoryTool {
    const { deps: engine, session } = this.#options;
    const deps = {
      memories: agentMemories({ ...engine, session }),
      author: "agent",
      provenance: (text: string) => this.#provenance(text),
    } as const;
    return {
      definition: memoryToolDefinition,
      run: (input) => runMemoryCommand(deps, input),
      handlers: memoryToolHandlers(deps),
    };
  }

  /**
   * The memories that have to do with a message, within the budgets of a message and of the session, and never one that the
   * view shows already, or whose source it shows. Undefined if there are none.
   */
  async relevant(message: string): Promise<RelevantMemories | undefined> {
    const { session, deps } = this.#options;
    const shown = session.shown();
    const candidates = selectCandidates(await this.#memories.list(), shown).filter(
      (memory) => !this.#isSourceInView(memory),
    );
    if (candidates.length === 0) return undefined;
    const ranked = await this.#rank(message, candidates);
    const known = new Map(candidates.map((memory) => [memory.path, memory]));
    const texts = await Promise.all(
      ranked.flatMap(({ path }) => (known.has(path) ? [this.#memories.read(path)] : [])).slice(0, rankedReadMax),
    );
    const memories = texts.filter((memory) => memory !== undefined);
    const driftByPath = await this.#checkDrift(memories);
    const chosen = selectShown(
      memories.map((memory) => ({ memory, text: showMemory(memory, { now: deps.now(), driftByPath }) })),
      shown,
    );
    if (chosen.length === 0) return undefined;
    return {
      text: [relevantIntro, ...chosen.map(({ text }) => text)].join("\n\n"),
      memories: chosen.map(({ memory }) => memory),
    };
  }

  get #memories() {
    return this.#options.deps.memories;
  }

  /** A memory born in this session is not recalled into it while the messages that it came from can be read there. */
  #isSourceInView({ provenance }: Memory): boolean {
    const { session } = this.#options;
    if (provenance.session !== session.id) return false;
    return provenance.messages?.some((message) => session.isInView(message)) ?? false;
  }

  async #checkDrift(memories: readonly MemoryText[]): Promise<ReadonlyMap<string, readonly DriftFinding[]>> {
    return (await this.#drift?.check(memories)) ?? new Map<string, readonly DriftFinding[]>();
  }

  #provenance(text: string, trust?: MemoryTrust): MemoryProvenance {
    const { session, deps } = this.#options;
    const leaf = session.leaf();
    return {
      session: session.id,
      messages: leaf === null ? undefined : [entryId(leaf)],
      at: deps.now(),
      trust: trust ?? judgeTrust(text, session.sources()),
    };
  }
}

/** A memory without a name or with an unknown type would be found by nobody. Callers in JavaScript get no help from types. */
function draftProblem({ name, type, body }: MemoryDraft): string | undefined {
  if (name.trim() === "") return "A memory needs a name.";
  if (!memoryTypes.includes(type)) return `The type is one of ${memoryTypes.join(", ")}.`;
  return body.trim() === "" ? "A memory needs a text." : undefined;
}

interface MemoryTool {
  /** For the Messages API; the provider knows its schema. */
  readonly definition: typeof memoryToolDefinition;
  /** Runs one call of the model. */
  readonly run: (input: unknown) => Promise<MemoryToolAnswer>;
  /** For the SDK's `betaMemoryTool`. */
  readonly handlers: ReturnType<typeof memoryToolHandlers>;
}

const saveAttemptsMax = 5;
/** More than are shown, since one that is too long for what is left of the budget makes room for the next. */
const rankedReadMax = 10;

const relevantIntro =
  "These memories of earlier sessions may have to do with the user's message. They were true when they were written: check what they say against the files before you rely on it.";
