import { createHash, randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { FrozenParts } from "../cache/baseline.ts";
import type { BreakCause } from "../cache/breaks.ts";
import { CostLedger, type CostSummary } from "../cache/costs.ts";
import type { Lifetime } from "../cache/lifetime.ts";
import { modelName } from "../cache/model-name.ts";
import { createEngine, type Engine, type EngineDeps } from "../engine.ts";
import { offloadLimitsOf, unlimited } from "../layers/1-offload/plan.ts";
import { isRerunnable } from "../layers/2-clear/clearable.ts";
import { type Conversation, mainConversation } from "../loop/agent/conversation.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { frozenBaseline, lastAsked } from "../loop/agent/frozen.ts";
import { pastRequests } from "../loop/agent/past-costs.ts";
import { contextDraft } from "../loop/agent/reminders.ts";
import { recordedReads } from "../loop/agent/recorded-reads.ts";
import { SessionLine } from "../loop/agent/line.ts";
import { ReckonedCache } from "../loop/agent/reckoned-cache.ts";
import { UsedIds } from "../loop/agent/used-ids.ts";
import { runTurn } from "../loop/agent/turn.ts";
import { instructionsLoaded } from "../loop/hooks/instructions-loaded.ts";
import { type FollowedSettings, followSettings } from "../loop/follow-settings.ts";
import { openSession, type Session, type SessionDeps } from "../loop/session.ts";
import { renderSystemPrompt } from "../loop/system-prompt/render.ts";
import { type LoadedInstructions, loadInstructions } from "../memory/instructions.ts";
import { readInstruction } from "../memory/read-instruction.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import type { HookMoment } from "../ports/hooks.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { Tool } from "../ports/tools.ts";
import { type SessionId, sessionId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { FlagInput } from "../settings/flags.ts";
import { numbersInForce } from "../settings/numbers.ts";
import type { Problem } from "../settings/problem.ts";
import type { SettingsReading } from "../settings/read.ts";
import { findModel } from "../tokens/registry.ts";
import { readFiles } from "../tool/read-files.ts";
import { findShell } from "../tool/shell/find-shell.ts";
import { makeHooks } from "../tool/hooks/hooks.ts";
import { rememberOrigin } from "./ancestors.ts";
import { copySession } from "./copy-session.ts";
import { settleLeft } from "./left-groups.ts";
import { type ModelChoice, pickModel } from "./model-choice.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";
import { problemsIn, unreadBans } from "./rule-problems.ts";
import { settingsNewsBox, withNews } from "./settings-news.ts";
import { narrowingChoice, type ToolChoice, toolChoice, type ToolWishes, whileSame } from "./tool-choice.ts";

export interface AgentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly flags: readonly FlagInput[];
  readonly session: SessionChoice;
  readonly model: ModelChoice;
  readonly tools: ToolWishes;
}

export type SessionChoice =
  | { readonly kind: "new" }
  | { readonly kind: "resume"; readonly id: SessionId }
  /** A session of its own that begins with everything the named one holds. */
  | { readonly kind: "fork"; readonly id: SessionId };

export interface Agent {
  readonly kind: "agent";
  readonly session: Session;
  readonly conversation: Conversation;
  readonly model: string;
  /** What was paid before the session was forked or copied from another; its own costs are the conversation's. */
  readonly inheritedCosts: CostSummary;
  /** What a person should know before the first turn. */
  readonly warnings: readonly string[];
  readonly settingsProblems: readonly Problem[];
  turn(text: string, signal: AbortSignal): AsyncGenerator<LoopEvent>;
  /** For what a person says while a turn runs. */
  readonly queue: string[];
  close(): Promise<void>;
}

export type AgentOpened =
  | Agent
  | { readonly kind: "no-key"; readonly message: string }
  /** Settings may hold a ban that can't be read: nothing runs until a person has looked. */
  | { readonly kind: "unread-bans"; readonly problems: readonly Problem[] }
  | { readonly kind: "missing"; readonly id: SessionId }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

/** Used where neither flag, session nor setting names one. */
export const modelDefault = "claude-sonnet-5-5";

/** A whole agent with everything picked: store, settings, model, tools, hooks, instructions. */
export async function openAgent(options: AgentOptions): Promise<AgentOpened> {
  const engine = createEngine(options);
  const project = await engine.project();
  if (project.kind === "failed") return project;
  // Without a key nothing will come of it: then no session is made either.
  const { reading, numbers } = await engine.settings({ flags: options.flags });
  const unread = unreadBans(reading);
  if (unread.length > 0) return { kind: "unread-bans", problems: unread };
  const named = numbers.model ?? modelDefault;
  const picked = pickModel({ choice: options.model, name: named, env: options.env, now: project.deps.now });
  if (picked.kind === "no-key" && options.session.kind === "new") return picked;
  const { value: clearableTools } = reading.settings.clearableTools;
  const added = new Set(clearableTools);
  const isClearable = (tool: string): boolean => isRerunnable(tool) || added.has(tool);
  const opened = await openChosen({ ...project.deps, isClearable }, options);
  if (opened.kind !== "open") return opened;
  const { session } = opened;
  const agent = await assembled({ engine, options, deps: project.deps, root: project.root, session });
  if (agent.kind !== "agent") await session.close();
  return agent;
}

interface Assembling {
  readonly engine: Engine;
  readonly options: AgentOptions;
  readonly deps: EngineDeps;
  /** Of the project. */
  readonly root: string;
  readonly session: Session;
}

async function assembled(parts: Assembling): Promise<AgentOpened> {
  const { engine, options, deps, root, session } = parts;
  const { flags, env } = options;
  const news = settingsNewsBox((await engine.settings({ flags })).reading);
  const settings = await followSettings(engine, { session, flags, onNews: news.put });
  // They may have become unreadable since they were looked at.
  const unread = unreadBans(settings.current());
  if (unread.length > 0) return { kind: "unread-bans", problems: unread };
  const first = await engine.settings({ flags, model: lastAsked(session) ?? session.model });
  const model = first.numbers.model ?? modelDefault;
  const picked = pickModel({ choice: options.model, name: model, env, now: deps.now });
  if (picked.kind === "no-key") return picked;
  const cwd = await realpath(options.cwd);
  const shell = await findShell();
  const choice = choiceFrom(options.tools, settings);
  const guarded = guardedBy(engine.home, settings.current().files);
  const left = await settleLeft(deps, session);
  if (left.kind === "failed") return left;
  const places = { roots: [root, cwd], home: homedir(), guarded };
  const box = await toolbox({ choice, deps, session, env, shell, groups: left.groups, ...places });
  const prefix = await prefixNow(parts, { model, cwd, tools: box.tools, settings });
  const frozen = await frozenBaseline(deps, { session, now: prefix.parts });
  if (frozen.kind === "failed") return frozen;
  const { baseline, moved } = frozen;
  const systemPrompts = baseline.systemBlocks.map(({ text }) => text);
  session.ledger.carries({ systemPrompts, tools: baseline.tools, memoryFiles: [] });
  const agentDeps = depsOf(parts, { model, cwd, box, settings, port: picked.model, shell: shell.path });
  const costs = costsSoFar(session, first.reading.settings.models.value);
  const lifetimes = { fixed: "5m", rolling: "5m" } as const;
  const conversation = mainConversation(agentDeps, {
    session: session.id,
    line: new SessionLine(session),
    baseline,
    costs: costs.own,
    files: readFiles(recordedReads(session.fold)),
    ids: new UsedIds(session.fold.path.entries),
    lifetimes,
    known: findModel(model, first.reading.settings.models.value),
    cache: reckonedCache(session, { lifetime: lifetimes.rolling, moved }),
    moved,
  });
  const greeted = await greet(agentDeps, { options, session, model, instructions: prefix.instructions });
  if (greeted.kind === "failed") return greeted;
  const queue: string[] = [];
  return {
    kind: "agent",
    session,
    conversation,
    model,
    inheritedCosts: costs.inherited.session,
    warnings: [...left.warnings, ...prefix.instructions.problems, ...greeted.warnings],
    settingsProblems: problemsIn(first.reading),
    turn: (text, signal) => withNews(runTurn(agentDeps, { conversation, text, signal, queue }), news),
    queue,
    close: async () => {
      const moment = { name: "SessionEnd", reason: "other" } as const;
      await agentDeps.hooks.fire({ ...agentDeps.place(), ...moment }, new AbortController().signal);
      await session.close();
    },
  };
}

function choiceFrom(wishes: ToolWishes, settings: FollowedSettings): () => ToolChoice {
  const current = () => settings.current().settings;
  const narrowed = narrowingChoice(toolChoice(wishes, current()));
  return whileSame(current, (now) => narrowed(toolChoice(wishes, now)));
}

/** What an earlier run left in the cache is lost where the prefix is another now. */
function reckonedCache({ inventory, fold }: Session, { lifetime, moved }: Reckoning): ReckonedCache {
  const cache = new ReckonedCache(lifetime);
  if (inventory !== undefined && moved === undefined) cache.resume({ inventory, fold });
  return cache;
}

interface Reckoning {
  readonly lifetime: Lifetime;
  readonly moved: BreakCause | undefined;
}

/** Files that decide what the agent may do, and the folders in which they, or others that count, may come to be. */
const guardedBy = (home: string, files: SettingsReading["files"]): readonly string[] => [
  home,
  ...files.flatMap(({ scope, path }) => (scope === "user" ? [path] : [path, dirname(path)])),
];

interface Greeting {
  readonly options: AgentOptions;
  readonly session: Session;
  readonly model: string;
  readonly instructions: LoadedInstructions;
}

type Greeted = { readonly kind: "greeted"; readonly warnings: readonly string[] } | WriteFailure;

/** Hooks are told that the session begins or goes on, and which instructions count; what they add is said to the model. */
async function greet(deps: AgentDeps, { options, session, model, instructions }: Greeting): Promise<Greeted> {
  const source = { new: "startup", resume: "resume", fork: "fork" } as const;
  const moments: readonly HookMoment[] = [
    { name: "SessionStart", source: source[options.session.kind], model },
    ...instructions.files.map((file) => instructionsLoaded(file, "session_start")),
  ];
  const warnings: string[] = [];
  for (const moment of moments) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...moment }, new AbortController().signal);
    warnings.push(...outcome.messages, ...outcome.warnings);
    if (outcome.context.length === 0) continue;
    const appended = await session.append(...outcome.context.map((one) => contextDraft(one)));
    if (appended.kind === "failed") return appended;
  }
  return { kind: "greeted", warnings };
}

interface PrefixInput {
  readonly model: string;
  readonly cwd: string;
  readonly tools: readonly Tool[];
  readonly settings: FollowedSettings;
}

/** What requests would carry besides messages if they were rendered now. */
async function prefixNow(
  { engine, options, deps, root, session }: Assembling,
  { model, cwd, tools, settings }: PrefixInput,
): Promise<Prefix> {
  const home = homedir();
  const userFolders = [options.env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), engine.home];
  const instructions = await loadInstructions(readInstruction, { cwd, root, home, userFolders });
  const git = (await isRepository(root)) ? "repository" : "none";
  const environment = {
    model,
    cwd,
    platform: process.platform,
    git,
    startedOn: dayOf(startOf(session) ?? deps.now()),
  } as const;
  const { value: choices } = settings.current().settings.systemPrompts;
  return {
    parts: {
      model,
      ...thinkingOf(model),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
      system: renderSystemPrompt({ choices, environment, instructions: instructions.files }),
    },
    instructions,
  };
}

interface Prefix {
  readonly parts: FrozenParts;
  readonly instructions: LoadedInstructions;
}

/** When the first entry was written. */
function startOf(session: Session): number | undefined {
  const first = session.fold.path.entries[0]?.timestamp;
  const at = first === undefined ? Number.NaN : Date.parse(first);
  return Number.isNaN(at) ? undefined : at;
}

interface DepsInput {
  readonly model: string;
  readonly cwd: string;
  readonly box: Toolbox;
  readonly settings: FollowedSettings;
  readonly port: AgentDeps["model"];
  readonly shell: string;
}

function depsOf({ engine, options, deps, root, session }: Assembling, input: DepsInput): AgentDeps {
  const { model, cwd, box, settings } = input;
  const current = () => settings.current().settings;
  const numbers = () => numbersInForce(current(), { model });
  // A hook is a program that also answers for the person: one that is written while the session runs waits for the next.
  const hooks = current().hooks.value;
  return {
    ...deps,
    model: input.port,
    tools: box.tools,
    permit: box.permit,
    hooks: makeHooks({
      settings: () => hooks,
      shell: input.shell,
      env: options.env,
      projectRoot: root,
    }),
    hash: (text) => createHash("sha256").update(text).digest("hex"),
    cwd: () => box.cwd() ?? cwd,
    toolsForFork: () => {
      const forked = box.forked();
      return { tools: forked.tools, cwd: () => forked.cwd() ?? cwd };
    },
    // Whoever stops waiting has his reasons; there is nothing to tell.
    wait: (time, signal) => wait(time, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    numbers,
    offloadLimits: () => {
      const { switches, policy } = numbers();
      return switches.offload.value ? offloadLimitsOf(policy.offload, current().toolLimits.value) : unlimited;
    },
    retries: retryLimitsDefault,
    place: () => ({ session: session.id, transcriptPath: deps.transcripts.whereIs(session.id) ?? "", cwd }),
    learn: async ({ limitTokens, from }) => {
      await engine.learnWindow({ model, tokens: limitTokens, from });
    },
  };
}

const isRepository = async (root: string): Promise<boolean> =>
  stat(join(root, ".git")).then(
    () => true,
    () => false,
  );

/**
 * Models since 4.6 decide by themselves how much to think. Where thinking is valid only behind the prefix it was made with,
 * the server is asked to leave out what an edit or an undo has cut off from its own, instead of refusing the request.
 */
function thinkingOf(model: string): Pick<FrozenParts, "thinking" | "betas"> {
  if (!/claude/.test(model) || modelName(model).version < 4.06) return { betas: [] };
  if (findModel(model)?.thinking !== "bound") return { betas: [], thinking: { type: "adaptive" } };
  return {
    betas: ["thinking-binding-controls-2026-08-01"],
    thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  };
}

type CostsByPayer = Readonly<Record<"own" | "inherited", CostLedger>>;

function costsSoFar(session: Session, models: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ path: session.fold.path.entries, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}

const dayOf = (at: number): string => new Date(at).toLocaleDateString("sv-SE");

type Chosen =
  | { readonly kind: "open"; readonly session: Session }
  | Exclude<AgentOpened, { kind: "agent" } | { kind: "no-key" } | { kind: "unread-bans" }>;

async function openChosen(deps: EngineDeps & Pick<SessionDeps, "isClearable">, options: AgentOptions): Promise<Chosen> {
  const { session: choice, cwd, version } = options;
  const circumstances = { cwd, version };
  const id = choice.kind === "resume" ? choice.id : sessionId(randomUUID());
  if (choice.kind === "fork") {
    const copied = await copySession(deps, { from: choice.id, to: id });
    if (copied.kind !== "copied") return copied;
  }
  const mode = choice.kind === "new" ? "create" : "resume";
  const opened = await openSession(deps, { id, circumstances, mode });
  switch (opened.kind) {
    case "open": {
      const failure = choice.kind === "fork" ? await rememberOrigin(opened.session, choice.id) : undefined;
      if (failure === undefined) return { kind: "open", session: opened.session };
      await opened.session.close();
      return failure;
    }
    case "missing":
    case "exists":
      return { kind: "missing", id };
    case "busy":
    case "failed":
      return opened;
  }
}
