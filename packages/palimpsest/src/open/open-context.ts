import { randomUUID } from "node:crypto";
import type { FrozenParts } from "../cache/baseline.ts";
import { Context } from "../context/context.ts";
import type { PrefixChange } from "../context/context-parts.ts";
import type { SystemOption } from "../context/inputs.ts";
import { ContextError, storeError } from "../context/context-error.ts";
import { toJsonObject, type Provider } from "../context/provider-formats.ts";
import { ContextMemory } from "../context/memory/context-memory.ts";
import { createMemorySession } from "../context/memory/memory-session.ts";
import { hookContext } from "../context/hook-context.ts";
import { createRuntimeDeps } from "../context/create-runtime-deps.ts";
import { SessionContext, type StartedConversation } from "../context/session-context.ts";
import { createCallerModel, noModel, type Summarizer } from "../context/summarizer.ts";
import { KnownItems } from "../context/sync/known-items.ts";
import type { AgentDeps } from "../context/deps.ts";
import { pastCosts } from "../context/past-costs.ts";
import type { CompactionSetup } from "../context/compact/compaction-setup.ts";
import { SummaryPreparation } from "../context/compact/summary-preparation.ts";
import { SessionFactBook } from "../context/compact/session-fact-book.ts";
import { findLargestCount } from "../session/counted-log.ts";
import { ConversationForks } from "../loop/conversation-forks.ts";
import { restoreMissingState } from "../session/append-boundary.ts";
import { createRedaction, redactedMessage, redactSystem, type Redaction } from "../session/redaction.ts";
import { openSession, type Session, type SessionDeps, type OpenSessionOutcome } from "../session/session.ts";
import { clearableResults } from "../layers/2-clear/is-rerunnable.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import { redactSecrets, ruleScanner } from "../memory/redact-secrets.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import { noHooks } from "../ports/hooks.ts";
import type { Tool } from "../ports/tool.ts";
import type { RecallIndexes } from "../ports/recall-index.ts";
import type { SecretScanner } from "../ports/secret-scanner.ts";
import type { StorePorts } from "../ports/store.ts";
import { createWorkingState } from "../ports/working-state.ts";
import { millis, sessionId } from "../schema/brand.ts";
import { type JsonObject, textField as textAt } from "../schema/json.ts";
import type { SettingName } from "../schema/setting-table.ts";
import { type GivenSetting, resolveSettings } from "../settings/resolve-settings.ts";
import { resolveForModel } from "../settings/resolved-settings.ts";
import { memoryStore } from "../store/memory/store.ts";
import { findModel } from "../tokens/known-models.ts";
import { textCounter } from "../tokens/text-counter.ts";
import { checkOptions, checkPlatform } from "./check-options.ts";
import { ContextBackground } from "./context-background.ts";
import { freezePrefix } from "./freeze-prefix.ts";
import type { ContextOptions } from "./options.ts";
import { replyShareMax, replyTokensDefault } from "../context/limits.ts";

/** Opens a conversation whose requests always fit the window. */
export function openContext<P extends Provider = "anthropic">(options: ContextOptions<P>): Promise<Context<P>> {
  return openContextBy(options, {});
}

/** `tailBytes`: a log up to this size is kept in memory; of a longer one only the part from its newest boundary on. */
export async function openContextBy<P extends Provider>(
  options: ContextOptions<P>,
  reading: Pick<SessionDeps, "tailBytes">,
): Promise<Context<P>> {
  checkPlatform();
  checkOptions(options);
  const store = await (options.store ?? memoryStore()).open();
  if (store.kind === "failed") throw storeError(store);
  const sessionDeps: SessionDeps = {
    transcripts: store.transcripts,
    blobs: store.blobs,
    now: () => millis((options.clock ?? Date.now)()),
    uuid: options.ids ?? randomUUID,
    // Everything that is cleared can be read again by its id.
    ...clearableResults(
      typeof options.policy === "object" ? options.policy : getPreset(options.policy ?? "palimpsest"),
      () => true,
    ),
    redaction: buildRedaction(options),
    counter: options.tokenCounter === undefined ? undefined : textCounter(options.tokenCounter),
    ...reading,
  };
  const session = await openOrCreateSession(sessionDeps, options.session);
  try {
    const { sessions } = store;
    const recall = store.recall && withMask(store.recall, options.secretScanner);
    const projectStore = { ...(sessions && { sessions }), ...(recall && { recall }) };
    return await buildContext(options, { sessionDeps, session, projectStore, store });
  } catch (error) {
    await session.close();
    throw error;
  }
}

const buildRedaction = <P extends Provider>({
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

/** What is indexed is masked by the caller's scanner too. */
const withMask = (recall: RecallIndexes, scanner: SecretScanner | undefined): RecallIndexes =>
  scanner === undefined
    ? recall
    : {
        exists: () => recall.exists(),
        open: (given) =>
          recall.open({
            ...given,
            maskText: async (text) => (await redactSecrets(await given.maskText(text), scanner)).text,
          }),
      };

async function openOrCreateSession(deps: SessionDeps, name: string | undefined): Promise<Session> {
  const id = sessionId(name ?? deps.uuid());
  // Costs and receipts cover the whole session, so its log is read once from the beginning.
  const options = { id, circumstances: { cwd: process.cwd(), version: "library" }, reads: "whole" } as const;
  const resumed = name === undefined ? undefined : await openSession(deps, { ...options, mode: "resume" });
  const found =
    resumed === undefined || resumed.kind === "missing"
      ? await openSession(deps, { ...options, mode: "create" })
      : resumed;
  return openOrThrow(found, id);
}

function openOrThrow(found: OpenSessionOutcome, id: string): Session {
  switch (found.kind) {
    case "open":
      return found.session;
    case "busy":
      throw new ContextError("busy", `The session ${id} is open elsewhere: ${found.holder}.`);
    case "failed":
      throw storeError(found);
    case "missing":
    case "exists":
      throw new ContextError("missing", `The session ${id} could not be opened.`);
  }
}

interface OpenedSession {
  readonly sessionDeps: SessionDeps;
  readonly session: Session;
}

async function buildContext<P extends Provider>(
  options: ContextOptions<P>,
  {
    sessionDeps,
    session,
    projectStore,
    store,
  }: OpenedSession & {
    readonly projectStore: Pick<StorePorts, "sessions" | "recall">;
    readonly store: Pick<StorePorts, "memories" | "dreams" | "sessions" | "spend">;
  },
): Promise<Context<P>> {
  // The default of the type parameter.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const provider = options.provider ?? ("anthropic" as P);
  const restored = await restoreMissingState(sessionDeps, session);
  if (restored.kind === "failed") throw storeError(restored);
  const settled = await session.settle();
  if (settled.kind === "failed") throw storeError(settled);
  const built = buildParts(options);
  let parts: FrozenParts = { ...built, system: await redactSystem(built.system, sessionDeps) };
  let tools = buildTools(parts);
  const deps = buildDeps(options, { sessionDeps, session, provider, model: () => parts.model, tools: () => tools });
  const background = new ContextBackground(options, {
    session,
    deps,
    store,
    search: (query) => core.view.recall({ ...query, scope: "project" }),
  });
  const core: SessionContext = new SessionContext(deps, {
    session,
    transcripts: sessionDeps.transcripts,
    projectStore,
    costs: pastCosts(session).own,
    spend: store.spend,
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
  const start = async (): Promise<void> => {
    const frozen = await freezePrefix(sessionDeps, { session, parts });
    core.start({ ...frozen, known: findModel(parts.model) });
  };
  // The whole log was read: its receipts are kept, and the rest is dropped from memory.
  await core.view.followReceipts();
  const known = KnownItems.read(session.fold.path);
  await session.shed();
  await start();
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
  await core.view.followReceipts();
  const memory = buildMemory(options, { memories: store.memories, now: sessionDeps.now, session, background });
  return new Context<P>({ provider, known, core, sessionDeps, memory, onEvent: options.onEvent, change });
}

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

function buildParts<P extends Provider>({ model, thinking, tools = [], system = [] }: ContextOptions<P>): FrozenParts {
  return {
    model,
    betas: [],
    ...(thinking === undefined ? {} : { thinking: toJsonObject(thinking) }),
    tools: toolDefinitions(tools.map((tool) => toJsonObject(tool))),
    system: buildSystem(system),
  };
}

const buildSystem = (system: SystemOption): FrozenParts["system"] =>
  (typeof system === "string" ? [system] : system).map((part, at) => ({
    name: `system ${at + 1}`,
    text: typeof part === "string" ? part : part.text,
  }));

const toolDefinitions = (tools: readonly JsonObject[]): FrozenParts["tools"] =>
  tools.map((tool) => ({ ...tool, name: textAt(tool, "name") ?? "" }));

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

interface DepsInput<P extends Provider> extends OpenedSession {
  readonly provider: P;
  readonly model: () => string;
  readonly tools: () => readonly Tool[];
}

function buildDeps<P extends Provider>(
  options: ContextOptions<P>,
  { sessionDeps, session, provider, model, tools }: DepsInput<P>,
): AgentDeps {
  const { summarizer, policy } = options;
  const ask = typeof summarizer === "function" ? summarizer : summarizer?.ask;
  const settings = resolveSettings([{ givenByName: optionSettings(options) }]);
  // Read once: later requests of this conversation stay within the known window.
  const recorded = findLargestCount(session.fold);
  const knowledge = () => ({
    model: model(),
    recordedTokens: recorded?.model === model() ? recorded.tokens : undefined,
  });
  return {
    ...createRuntimeDeps({
      settings: () => settings,
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
    place: () => hookContext(sessionDeps, { session: session.id, cwd: cwd() }),
  };
}

/** The caller's options have the rank of command-line flags: they override everything else. */
function optionSettings<P extends Provider>(options: ContextOptions<P>): ReadonlyMap<SettingName, GivenSetting> {
  const { contextTokens, outputTokensMax = replyTokensFor(options), saving } = options;
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

function replyTokensFor<P extends Provider>({ model, contextTokens = Infinity }: ContextOptions<P>): number {
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
