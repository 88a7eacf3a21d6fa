import type { FrozenParts } from "../cache/baseline.ts";
import { Context } from "../context/context.ts";
import type { PrefixChange } from "../context/context-parts.ts";
import { toJsonObject, type Provider } from "../context/provider-formats.ts";
import { ContextMemory } from "../context/memory/context-memory.ts";
import { createMemorySession } from "../context/memory/memory-session.ts";
import { hookContext } from "../context/hook-context.ts";
import { createRuntimeDeps } from "../context/create-runtime-deps.ts";
import { SessionContext, type StartedConversation } from "../context/session-context.ts";
import { createCallerModel, noModel, type Summarizer } from "../context/summarizer.ts";
import { KnownItems } from "../context/sync/known-items.ts";
import type { MessageDigester } from "../context/sync/message-digester.ts";
import type { AgentDeps } from "../context/deps.ts";
import { pastCosts } from "../context/past-costs.ts";
import type { CompactionSetup } from "../context/compact/compaction-setup.ts";
import { SummaryPreparation } from "../context/compact/summary-preparation.ts";
import { SessionFactBook } from "../context/compact/session-fact-book.ts";
import { findLargestCount } from "../session/counted-log.ts";
import { ConversationForks } from "../loop/conversation-forks.ts";
import { createRedaction, redactedMessage, redactSystem, type Redaction } from "../session/redaction.ts";
import type { Session, SessionDeps } from "../session/session.ts";
import { ruleScanner } from "../memory/redact-secrets.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import { noHooks } from "../ports/hooks.ts";
import type { Tool } from "../ports/tool.ts";
import type { StorePorts } from "../ports/store.ts";
import { createWorkingState } from "../ports/working-state.ts";
import type { SettingName } from "../schema/setting-table.ts";
import { type GivenSetting, resolveSettings, type Settings } from "../settings/resolve-settings.ts";
import { resolveForModel } from "../settings/resolved-settings.ts";
import { findModel } from "../tokens/known-models.ts";
import { buildSystem, toolDefinitions } from "./build-parts.ts";
import { type AgentStart, ContextAgents, type ForkStart } from "./context-agents.ts";
import { checkLimit } from "./check-options.ts";
import { ContextBackground } from "./context-background.ts";
import { freezePrefix } from "./freeze-prefix.ts";
import type { ContextOptions } from "./options.ts";
import { replyShareMax, replyTokensDefault } from "../context/limits.ts";

export const buildRedaction = <P extends Provider>({
  secrets,
  secretScanner = ruleScanner,
  onEvent,
}: ContextOptions<P>): Redaction | undefined =>
  secrets !== "redact"
    ? undefined
    : createRedaction({
        secrets: secretScanner,
        onRedacted: (found) => onEvent?.({ kind: "warning", code: "secrets", message: redactedMessage(found) }),
      });

interface OpenedSession {
  readonly sessionDeps: SessionDeps;
  readonly session: Session;
}

interface BuildInput extends OpenedSession {
  /** What requests begin with. */
  readonly parts: FrozenParts;
  readonly store: Pick<StorePorts, "memories" | "dreams" | "sessions" | "recall" | "spend" | "agentsOf">;
  /** Absent for a main conversation. */
  readonly agent?: AgentStart | undefined;
  readonly digester?: MessageDigester | undefined;
}

export async function buildContext<P extends Provider>(
  options: ContextOptions<P>,
  { sessionDeps, session, store, agent, digester, ...opened }: BuildInput,
): Promise<Context<P>> {
  // The default of the type parameter.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const provider = options.provider ?? ("anthropic" as P);
  let { parts } = opened;
  let tools = buildTools(parts);
  const current = { model: () => parts.model, tools: () => tools };
  const deps = buildDeps(options, { sessionDeps, session, provider, agent, ...current });
  const background = new ContextBackground(options, {
    session,
    deps,
    store,
    search: (query) => core.view.searchProject(query),
  });
  const { sessions, recall } = store;
  const costs = pastCosts(session).own;
  if (agent !== undefined) costs.onPaid((_cost, { model, usage }) => agent.onPaid({ model, usage }));
  const core: SessionContext = new SessionContext(deps, {
    session,
    transcripts: sessionDeps.transcripts,
    projectStore: { ...(sessions && { sessions }), ...(recall && { recall }) },
    costs,
    lifetimes: agent === undefined ? "chosen" : "fixed",
    // What an agent pays is in its parent's costs, and logged with them.
    spend: agent === undefined ? store.spend : undefined,
    onPaused: (message) => options.onEvent?.({ kind: "warning", code: "background-budget", message }),
    compacting: (started) => ({
      ...buildCompaction(options, {
        ...started,
        sessionDeps,
        session,
        model: parts.model,
        onCompacted: () => core.shed(),
      }),
      background: background.start(started),
    }),
  });
  const start = async (shared: ForkStart["prefix"] = {}): Promise<void> => {
    const frozen = await freezePrefix(sessionDeps, { session, parts });
    core.start({ ...frozen, known: findModel(parts.model), ...shared });
  };
  // The whole log was read: its receipts are kept, and the rest is dropped from memory.
  await core.view.followReceipts();
  const known = KnownItems.read(session.fold.path);
  await session.shed();
  await start(agent?.fork?.prefix);
  const change = async ({ model, system, tools: changed }: PrefixChange): Promise<void> => {
    parts = {
      ...parts,
      ...(system === undefined ? {} : { system: await redactSystem(buildSystem(system), sessionDeps) }),
      ...(model === undefined ? {} : { model }),
      ...(changed === undefined ? {} : { tools: toolDefinitions(changed) }),
    };
    tools = buildTools(parts);
    await start();
  };
  const { memories, agentsOf } = store;
  const memory = buildMemory(options, { memories, now: sessionDeps.now, session, background });
  const parent = { options, sessionDeps, core, costs, agentsOf, agent };
  const agents = new ContextAgents<P>({
    ...parent,
    parts: () => parts,
    build: ({ options: given, ...beginning }) => buildContext(given, { store, ...beginning }),
  });
  const ties = { ...contextTies(options), fork: agent?.fork?.ties, onClosed: agent?.onClosed };
  return new Context<P>({ provider, known, digester, core, sessionDeps, memory, change, agents, ...ties });
}

const contextTies = ({ onEvent, hiddenTools }: Pick<ContextOptions, "onEvent" | "hiddenTools">) => ({
  onEvent,
  hiddenTools: new Set(hiddenTools),
});

interface MemoryInput<P extends Provider> extends Pick<OpenedSession, "session">, ClockDep {
  readonly memories: StorePorts["memories"] | undefined;
  readonly background: ContextBackground<P>;
}

const buildMemory = <P extends Provider>(
  { workingTree: tree, rankMemories: rank }: ContextOptions<P>,
  { memories, now, session, background }: MemoryInput<P>,
): ContextMemory | undefined =>
  memories &&
  new ContextMemory({
    deps: { memories, now },
    session: createMemorySession(session),
    tree,
    rank,
    dream: background.dream,
  });

/** Only what the layers need: the caller runs the tools. */
const buildTools = ({ tools }: FrozenParts): readonly Tool[] =>
  tools.map(({ name, description, input_schema: schema }) => ({
    name,
    description: typeof description === "string" ? description : "",
    inputSchema: typeof schema === "object" && schema !== null ? toJsonObject(schema) : {},
    effect: "write",
    plan: () => Promise.resolve({ kind: "wrong", message: "Calls are not run here. Answer with text alone." }),
  }));

const cwd = (): string => process.cwd();

interface DepsInput<P extends Provider> extends OpenedSession, Pick<BuildInput, "agent"> {
  readonly provider: P;
  readonly model: () => string;
  readonly tools: () => readonly Tool[];
}

function buildDeps<P extends Provider>(
  options: ContextOptions<P>,
  { sessionDeps, session, provider, agent, model, tools }: DepsInput<P>,
): AgentDeps {
  const { summarizer, policy } = options;
  const ask = typeof summarizer === "function" ? summarizer : summarizer?.ask;
  const settings = createOptionSettings(options, model);
  // Read once: later requests of this conversation stay within the known window.
  const recorded = findLargestCount(session.fold);
  const knowledge = () => ({
    model: model(),
    recordedTokens: recorded?.model === model() ? recorded.tokens : undefined,
  });
  return {
    ...createRuntimeDeps({
      settings,
      knowledge,
      policy: typeof policy === "object" ? policy : undefined,
    }),
    model: ask === undefined ? noModel : createCallerModel(sessionDeps, { provider, ask }),
    get tools() {
      return tools();
    },
    permit: () => Promise.resolve({ kind: "denied", reason: "Calls are not run here." }),
    hooks: options.hooks ?? noHooks,
    approveEdit: options.approveEdit,
    now: sessionDeps.now,
    blobs: sessionDeps.blobs,
    redaction: sessionDeps.redaction,
    cwd,
    toolsForFork: () => ({ tools: tools(), cwd }),
    place: () => ({
      ...hookContext(sessionDeps, { session: session.id, cwd: cwd() }),
      ...(agent && { agent: { id: agent.id, type: agent.type } }),
    }),
  };
}

/** The settings of now: limits that the caller gave as functions may change with each request. */
function createOptionSettings<P extends Provider>(options: ContextOptions<P>, model: () => string): () => Settings {
  let last: (OptionLimits & { readonly settings: Settings }) | undefined;
  return () => {
    const limits = readLimits(options, model());
    const { contextTokens, outputTokensMax } = limits;
    if (last === undefined || last.contextTokens !== contextTokens || last.outputTokensMax !== outputTokensMax)
      last = { ...limits, settings: resolveSettings([{ givenByName: optionSettings(options, limits) }]) };
    return last.settings;
  };
}

interface OptionLimits {
  readonly contextTokens: number | undefined;
  readonly outputTokensMax: number;
}

function readLimits<P extends Provider>(options: ContextOptions<P>, model: string): OptionLimits {
  const contextTokens =
    typeof options.contextTokens === "function" ? options.contextTokens(model) : options.contextTokens;
  const given = typeof options.outputTokensMax === "function" ? options.outputTokensMax() : options.outputTokensMax;
  checkLimit("contextTokens", contextTokens);
  checkLimit("outputTokensMax", given);
  return { contextTokens, outputTokensMax: given ?? replyTokensFor(model, contextTokens) };
}

/** The caller's options have the rank of command-line flags: they override everything else. */
function optionSettings<P extends Provider>(
  options: ContextOptions<P>,
  { contextTokens, outputTokensMax }: OptionLimits,
): ReadonlyMap<SettingName, GivenSetting> {
  const { saving } = options;
  const policy = typeof options.policy === "string" ? options.policy : undefined;
  const valueByName = { contextTokens, outputTokensMax, policy, saving };
  const settings = (["contextTokens", "outputTokensMax", "policy", "saving"] as const).flatMap((name) => {
    const value = valueByName[name];
    return value === undefined
      ? []
      : [[name, { value, source: `flag --${name}`, from: `the option ${name}` } as const] as const];
  });
  return new Map(settings);
}

function replyTokensFor(model: string, contextTokens = Infinity): number {
  const modelMax = findModel(model)?.outputTokensMax ?? Infinity;
  return Math.floor(Math.min(replyTokensDefault, modelMax, contextTokens * replyShareMax));
}

interface CompactionInput extends OpenedSession, StartedConversation {
  readonly model: string;
  readonly onCompacted: CompactionSetup["onCompacted"];
}

function buildCompaction<P extends Provider>(
  { summarizer }: ContextOptions<P>,
  { context, sessionDeps, session, model, onCompacted }: CompactionInput,
): CompactionSetup {
  const facts = new SessionFactBook(sessionDeps, session);
  return {
    session,
    facts,
    ...summarizerSetup(summarizer, { model, run: (task, signal) => new ConversationForks(context).run(task, signal) }),
    preparation: summarizer === undefined ? undefined : new SummaryPreparation(context, session),
    // Named to the model only if the caller offers one.
    recallTool: context.deps.tools.find(({ name }) => name === "recall")?.name,
    summaryOptions: () => Promise.resolve({}),
    mode: "attended",
    workingState: createWorkingState([]),
    onCompacted: () => {
      facts.forget();
      return onCompacted();
    },
  };
}

/** The conversation's own model is called through a fork, which reads from the cache; another model gets its own requests. */
function summarizerSetup<P extends Provider>(
  summarizer: Summarizer<P> | undefined,
  fork: NonNullable<CompactionSetup["fork"]>,
): Pick<CompactionSetup, "fork" | "summaryModel"> {
  if (summarizer === undefined) return { summaryModel: "none" };
  if (typeof summarizer === "function") return { fork };
  const { window, outputTokensMax } = resolveForModel(resolveSettings([]), { model: summarizer.model });
  return {
    summaryModel: { name: summarizer.model, windowTokens: window.tokens, outputTokensMax: outputTokensMax.tokens },
  };
}
