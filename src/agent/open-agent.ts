import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { CostLedger, type CostSummary } from "../cache/costs.ts";
import { createEngine, type EngineDeps } from "../engine.ts";
import { isRerunnable } from "../layers/2-clear/clearable.ts";
import { compactionAsksFor } from "../loop/agent/compaction-asks.ts";
import type { Conversation } from "../loop/agent/conversation.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { frozenBaseline, lastAsked } from "../loop/agent/frozen.ts";
import { pastRequests } from "../loop/agent/past-costs.ts";
import { contextDraft } from "../loop/agent/reminders.ts";
import { runTurn } from "../loop/agent/turn.ts";
import { instructionsLoaded } from "../loop/hooks/instructions-loaded.ts";
import { type FollowedSettings, followSettings } from "../loop/follow-settings.ts";
import { openSession, type Session, type SessionDeps } from "../loop/session.ts";
import type { LoadedInstructions } from "../memory/instructions.ts";
import type { CompactionAsks } from "../ports/compaction-asks.ts";
import type { HookMoment } from "../ports/hooks.ts";
import type { RunningGroups } from "../ports/running-groups.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import { type SessionId, sessionId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/event.ts";
import { numbersInForce } from "../settings/numbers.ts";
import type { Problem } from "../settings/problem.ts";
import type { SettingsReading } from "../settings/read.ts";
import { findModel } from "../tokens/registry.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { findShell } from "../tool/shell/find-shell.ts";
import { type AgentCompaction, agentCompaction } from "./agent-compaction.ts";
import { depsOf } from "./agent-deps.ts";
import type { AgentOptions } from "./agent-options.ts";
import { rememberOrigin } from "./ancestors.ts";
import type { Assembling } from "./assembling.ts";
import { copySession } from "./copy-session.ts";
import { settleLeft } from "./left-groups.ts";
import { pickModel } from "./model-choice.ts";
import { prefixNow } from "./prefix.ts";
import { talkWith } from "./talk.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";
import { problemsIn, unreadBans } from "./rule-problems.ts";
import { settingsNewsBox, withNews } from "./settings-news.ts";
import { narrowingChoice, type ToolChoice, toolChoice, type ToolWishes, whileSame } from "./tool-choice.ts";

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
  /** Between turns. */
  readonly compaction: AgentCompaction;
  /** Stops what runs beside the turns, for good, and books what it has cost: before costs are told for the last time. */
  stopAside(): Promise<void>;
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

async function assembled(parts: Assembling): Promise<AgentOpened> {
  const { engine, options, deps, session } = parts;
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
  const left = await settleLeft(deps, session);
  if (left.kind === "failed") return left;
  const { box, asks } = await equip(parts, { settings, model, cwd, shell, groups: left.groups });
  const rendering = { model, cwd, tools: box.tools, settings };
  const prefix = await prefixNow(parts, rendering);
  const frozen = await frozenBaseline(deps, { session, now: prefix.parts });
  if (frozen.kind === "failed") return frozen;
  const { baseline, moved } = frozen;
  const systemPrompts = baseline.systemBlocks.map(({ text }) => text);
  session.readBy(baseline.model);
  session.ledger.carries({ systemPrompts, tools: baseline.tools, memoryFiles: [] });
  const { window } = first.numbers;
  const learnedTokens = window.source === "learned" ? window.tokens : undefined;
  const agentDeps = depsOf(parts, {
    model,
    cwd,
    box,
    settings,
    port: picked.model,
    shell: shell.path,
    learnedTokens,
  });
  const models = first.reading.settings.models.value;
  const costs = costsSoFar(session, models);
  const talk = talkWith(parts, {
    deps: agentDeps,
    box,
    prefix: rendering,
    baseline,
    moved,
    asks,
    costs: costs.own,
    known: findModel(model, models),
  });
  const { conversation } = talk;
  const { notes, preparation } = talk.compacting;
  const aside = [news, { code: "notes-wishes", take: () => notes?.takeWarnings() ?? [] }];
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
    turn: (text, signal) => withNews(runTurn(agentDeps, { conversation, text, signal, queue }), aside),
    queue,
    compaction: agentCompaction(agentDeps, talk),
    stopAside: async () => void (await Promise.all([notes?.stop(), preparation?.cancel()])),
    close: () => closed(agentDeps, session),
  };
}

async function closed({ hooks, place }: Pick<AgentDeps, "hooks" | "place">, session: Session): Promise<void> {
  const moment = { name: "SessionEnd", reason: "other" } as const;
  await hooks.fire({ ...place(), ...moment }, new AbortController().signal);
  await session.close();
}

interface Equipping {
  readonly settings: FollowedSettings;
  readonly model: string;
  readonly cwd: string;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
}

/** The session's tools, and where its agent asks for compaction. */
async function equip({ engine, options, deps, root, session }: Assembling, input: Equipping): Promise<Equipped> {
  const { settings, model, cwd, shell, groups } = input;
  const isOn = () => numbersInForce(settings.current().settings, { model }).switches["compact.agent"].value;
  const asks = await compactionAsksFor(deps, { session, model, isOn });
  const box = await toolbox({
    choice: choiceFrom(options.tools, settings),
    deps,
    session,
    env: options.env,
    shell,
    groups,
    roots: [root, cwd],
    home: homedir(),
    guarded: guardedBy(engine.home, settings.current().files),
    compactionAsks: asks,
  });
  return { box, asks };
}

interface Equipped {
  readonly box: Toolbox;
  readonly asks: CompactionAsks | undefined;
}

function choiceFrom(wishes: ToolWishes, settings: FollowedSettings): () => ToolChoice {
  const current = () => settings.current().settings;
  const narrowed = narrowingChoice(toolChoice(wishes, current()));
  return whileSame(current, (now) => narrowed(toolChoice(wishes, now)));
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

type CostsByPayer = Readonly<Record<"own" | "inherited", CostLedger>>;

function costsSoFar(session: Session, models: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ entries: session.fold.path.everyBranch, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}

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
