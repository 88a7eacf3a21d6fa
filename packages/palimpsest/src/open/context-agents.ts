import { lastPlace } from "../cache/fork-breakpoints.ts";
import type { CostLedger } from "../cache/cost-ledger.ts";
import type { FrozenParts } from "../cache/baseline.ts";
import type { AgentOptions, ForkOptions, ForkTies } from "../context/agent-options.ts";
import type { Context } from "../context/context.ts";
import { ContextError, storeError } from "../context/context-error.ts";
import type { Conversation } from "../context/conversation.ts";
import { badOptionError } from "../context/inputs.ts";
import { agentCostDraft } from "../context/past-costs.ts";
import type { Provider } from "../context/provider-formats.ts";
import type { SessionContext } from "../context/session-context.ts";
import { forkDirective, forkPlaceholder } from "../layers/7-agents/agent-texts.ts";
import { agentDepthMax } from "../layers/7-agents/limits.ts";
import { findFreeName, forkType } from "../layers/7-agents/plan.ts";
import { Stagger, type StaggerPass } from "../loop/stagger.ts";
import type { AgentPayment } from "../ports/agent-host.ts";
import type { StorePorts } from "../ports/store.ts";
import { isAgentName } from "../schema/agent-address.ts";
import { mainName } from "../schema/agent-run.ts";
import { type AgentId, newAgentId, type EntryId, type SessionId, sessionId, tokens } from "../schema/brand.ts";
import { forkSession } from "../session/fork-session.ts";
import { redactSystem } from "../session/redaction.ts";
import { openSession, type Session, type SessionDeps } from "../session/session.ts";
import type { Fold } from "../transcript/fold.ts";
import { buildParts } from "./build-parts.ts";
import { checkOptions } from "./check-options.ts";
import type { ContextOptions } from "./options.ts";

/** How the context of an agent begins. */
export interface AgentBuildInput<P extends Provider> {
  readonly options: ContextOptions<P>;
  readonly sessionDeps: SessionDeps;
  readonly session: Session;
  readonly parts: FrozenParts;
  readonly agent: AgentStart;
}

export interface AgentStart {
  readonly id: AgentId;
  readonly type: string;
  readonly depth: number;
  /** The main conversation's session. */
  readonly root: SessionId;
  /** Called with every request that it has paid for. */
  readonly onPaid: (paid: AgentPayment) => void;
  readonly onClosed: () => void;
  /** For a fork: what it shares with its parent and its siblings. */
  readonly fork?: ForkStart;
}

export interface ForkStart {
  readonly ties: ForkTies;
  readonly prefix: Partial<Parameters<SessionContext["start"]>[0]>;
}

interface ContextAgentsInput<P extends Provider> {
  readonly options: ContextOptions<P>;
  readonly sessionDeps: SessionDeps;
  readonly core: SessionContext;
  readonly costs: CostLedger;
  readonly agentsOf: StorePorts["agentsOf"];
  /** What requests begin with now. */
  readonly parts: () => FrozenParts;
  /** The conversation that starts agents, if it is an agent itself. */
  readonly agent: AgentStart | undefined;
  readonly build: (input: AgentBuildInput<P>) => Promise<Context<P>>;
}

/** The forks and agents that a library's context has started. The caller runs them: nothing here sends a request. */
export class ContextAgents<P extends Provider> {
  readonly #input: ContextAgentsInput<P>;
  readonly #open = new Set<Context<P>>();
  readonly #names: Set<string>;
  #newestPoint: ForkPoint | undefined;

  constructor(input: ContextAgentsInput<P>) {
    this.#input = input;
    // Names of earlier runs stay with what was paid under them.
    this.#names = new Set(Object.keys(input.costs.toJSON().byAgent));
  }

  async fork({ name, task, onEvent }: ForkOptions): Promise<Context<P>> {
    const { core, parts } = this.#input;
    this.#checkStart("fork");
    const options = { ...this.#inherited, ...(onEvent && { onEvent }) };
    return await this.#start({ type: forkType, name, options, parts: parts() }, async (session) => {
      const from = core.session;
      const placeholder = from.fold.openCalls.size > 0 ? forkPlaceholder : undefined;
      const copied = await forkSession({ from, to: session, placeholder });
      if (copied.kind === "failed") throw storeError(copied);
      const { countedFixed, written } = core.conversation;
      return {
        first: task && forkDirective(task),
        fork: {
          ties: this.#tiesAt(findEnd(from.fold, placeholder)),
          prefix: { countedFixed, written: written.copy(), common: lastPlace(session.fold.messages) },
        },
      };
    });
  }

  async open({ name, task, ...given }: AgentOptions): Promise<Context<P>> {
    const { sessionDeps, parts } = this.#input;
    this.#checkStart("agent");
    const { model = parts().model, system = [], tools = [], thinking, onEvent } = given;
    const { contextTokens: parentTokens, outputTokensMax: parentOutput, thinking: _, ...inherited } = this.#inherited;
    const sizes = model === parts().model ? { contextTokens: parentTokens, outputTokensMax: parentOutput } : {};
    const { contextTokens = sizes.contextTokens, outputTokensMax = sizes.outputTokensMax } = given;
    const options: ContextOptions<P> = {
      ...inherited,
      model,
      system,
      tools,
      ...(onEvent && { onEvent }),
      ...(thinking && { thinking }),
      ...(contextTokens && { contextTokens }),
      ...(outputTokensMax && { outputTokensMax }),
    };
    checkOptions(options);
    const built = buildParts(options);
    const redacted = { ...built, system: await redactSystem(built.system, sessionDeps) };
    return await this.#start({ type: "agent", name, options, parts: redacted }, async () => ({ first: task }));
  }

  /** Closes those that are still open. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((context) => context.close()));
  }

  /** What an agent has from its parent. Nothing works in the background for it, and nobody is asked about its edits. */
  get #inherited(): ContextOptions<P> {
    const {
      background: _background,
      approveEdit: _approveEdit,
      onEvent: _onEvent,
      session: _session,
      store: _store,
      ...options
    } = this.#input.options;
    return options;
  }

  #checkStart(what: "fork" | "agent"): void {
    const { agent, agentsOf } = this.#input;
    if (agent?.fork !== undefined)
      throw new ContextError("no-agents", "A fork can't start forks or agents: call fork() on its parent.");
    if ((agent?.depth ?? 0) >= agentDepthMax)
      throw new ContextError("no-agents", `Agents can be started ${agentDepthMax} levels deep, and this is the last.`);
    if (agentsOf === undefined)
      throw new ContextError(
        "no-agents",
        `This store can't keep the transcript of ${what === "fork" ? "a fork" : "an agent"}: it has no agentsOf.`,
      );
  }

  #takeName(type: string, name = findFreeName(type, this.#names)): string {
    if (!isAgentName(name) || name === mainName)
      throw badOptionError(
        `${JSON.stringify(name)} can't be the name of an agent: letters, digits, dashes, dots and underscores.`,
      );
    if (this.#names.has(name)) throw badOptionError(`There is an agent called ${name} already.`);
    this.#names.add(name);
    return name;
  }

  async #start(
    { type, name: given, options, parts }: StartInput<P>,
    begin: (session: Session) => Promise<{ readonly first: string | undefined; readonly fork?: ForkStart }>,
  ): Promise<Context<P>> {
    const { agent: parent, core, build } = this.#input;
    const name = this.#takeName(type, given);
    const root = parent?.root ?? core.session.id;
    const { id, session, sessionDeps } = await this.#openTranscript(root);
    try {
      const { first, fork } = await begin(session);
      const depth = (parent?.depth ?? 0) + 1;
      const onPaid = (paid: AgentPayment): void => this.#pay({ id, name }, paid);
      const onClosed = (): void => void this.#open.delete(context);
      const agent: AgentStart = { id, type, depth, root, onPaid, onClosed, ...(fork && { fork }) };
      const context: Context<P> = await build({ options, sessionDeps, session, parts, agent });
      if (first !== undefined) await context.user(first);
      this.#open.add(context);
      return context;
    } catch (error) {
      this.#names.delete(name);
      await session.close();
      throw error;
    }
  }

  async #openTranscript(root: SessionId) {
    const { sessionDeps: parentDeps, agentsOf } = this.#input;
    const id = newAgentId(parentDeps.uuid());
    const { transcripts, blobs } = agentsOf?.(root) ?? parentDeps;
    const sessionDeps: SessionDeps = { ...parentDeps, transcripts, blobs };
    const circumstances = { cwd: process.cwd(), version: "library" };
    const opened = await openSession(sessionDeps, { id: sessionId(id), circumstances, mode: "create", agentOf: root });
    if (opened.kind === "failed") throw storeError(opened);
    if (opened.kind !== "open") throw new ContextError("missing", `The transcript of ${id} could not be created.`);
    return { id, sessionDeps, session: opened.session };
  }

  /** Booked one by one: what was paid is known after a crash too. */
  #pay({ id, name }: { readonly id: AgentId; readonly name: string }, { model, usage }: AgentPayment): void {
    const { core, costs } = this.#input;
    costs.add({ source: "agents", model, usage, headerTokens: tokens(0), agent: name });
    const draft = agentCostDraft({ agent: id, name, calls: [{ model, usage }] });
    // If the disk fails, only the record of the cost is lost; the fork's own log has it.
    core.session.append(draft).catch(() => undefined);
  }

  #tiesAt(entry: EntryId | undefined): ForkTies {
    const { core } = this.#input;
    const { conversation } = core;
    const newest = this.#newestPoint;
    const isShared = newest?.conversation === conversation && newest.entry === entry && this.#open.size > 0;
    const point = isShared ? newest : { conversation, entry, stagger: new Stagger(core.deps) };
    this.#newestPoint = point;
    return { ...siblingTies(point.stagger), expand: (id) => core.view.expand(id) };
  }
}

/** Forks of one point share their prefix. */
interface ForkPoint {
  readonly conversation: Conversation;
  /** The last entry that is copied. */
  readonly entry: EntryId | undefined;
  readonly stagger: Stagger;
}

interface StartInput<P extends Provider> {
  readonly type: string;
  readonly name: string | undefined;
  readonly options: ContextOptions<P>;
  readonly parts: FrozenParts;
}

/**
 * The first of several forks leads; the others get their first request when its reply begins. Only the first request of
 * each waits: later ones read what it has written itself.
 */
function siblingTies(stagger: Stagger): Omit<ForkTies, "expand"> {
  let pass: StaggerPass | undefined;
  let hasBegun = false;
  return {
    enter: async (signal) => {
      if (hasBegun || pass !== undefined) return;
      const entered = await stagger.enter(signal);
      if (signal.aborted) entered.left();
      else pass = entered;
    },
    begun: () => {
      hasBegun = true;
      pass?.begun();
    },
    left: () => {
      pass?.left();
      pass = undefined;
    },
  };
}

const findEnd = ({ projection: { items } }: Fold, placeholder: string | undefined): EntryId | undefined =>
  (placeholder === undefined ? items.at(-1) : items.findLast(({ role }) => role === "assistant"))?.entry;
