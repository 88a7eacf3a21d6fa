import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { CostSummary } from "../cache/costs.ts";
import { createEngine, type EngineDeps } from "../engine.ts";
import type { AskedCompaction } from "../context/compaction.ts";
import type { SessionView } from "../context/session-view.ts";
import { isRerunnable } from "../layers/2-clear/clearable.ts";
import { compactionAsksFor } from "../loop/agent/compaction-asks.ts";
import type { Conversation } from "../loop/agent/conversation.ts";
import type { HookDeps } from "../loop/agent/deps.ts";
import { reckonWith } from "../loop/agent/follow-undo.ts";
import { frozenBaseline, toolsKnown } from "../loop/agent/frozen.ts";
import { runTurn } from "../loop/agent/turn.ts";
import { type FollowedSettings, followSettings } from "../loop/follow-settings.ts";
import type { SessionMode } from "../loop/plan/session-mode.ts";
import { putBackMissing } from "../loop/put-back.ts";
import { openSession, type Session, type SessionDeps } from "../loop/session.ts";
import type { CompactionAsks } from "../ports/compaction-asks.ts";
import type { HookMoment } from "../ports/hooks.ts";
import type { Job, Jobs } from "../ports/jobs.ts";
import type { RunningGroups } from "../ports/running-groups.ts";
import type { SandboxUse } from "../ports/sandbox.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import { type SessionId, sessionId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/event.ts";
import { figure } from "../schema/figure.ts";
import type { HookSetting } from "../schema/hook.ts";
import { plural } from "../schema/plural.ts";
import { type Numbers, numbersInForce } from "../settings/numbers.ts";
import type { Problem } from "../settings/problem.ts";
import { guardedPaths } from "../settings/files.ts";
import { findModel } from "../tokens/registry.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { findShell } from "../tool/shell/find-shell.ts";
import { gitBranch } from "../tool/working-state/git-branch.ts";
import { PageCache } from "../tool/web/page-cache.ts";
import { agentContext } from "./agent-context.ts";
import { type DepsInput, depsOf } from "./agent-deps.ts";
import type { AgentOptions } from "./agent-options.ts";
import { rememberOrigin } from "./ancestors.ts";
import type { Assembling } from "./assembling.ts";
import type { AgentCompacting } from "./compacting.ts";
import { copySession } from "./copy-session.ts";
import { costsSoFar } from "./costs-so-far.ts";
import { greet } from "./greet.ts";
import { keptTools } from "./kept-tools.ts";
import { type Leaves, leavesFor } from "./leaves.ts";
import { type JobsAndServers, jobsAndServers } from "./jobs-and-servers.ts";
import { type LeftSettled, settleLeft } from "./left-groups.ts";
import { pickModel, serverOf } from "./model-choice.ts";
import { modelDefault } from "./model-default.ts";
import { pickForSession } from "./pick-for-session.ts";
import { prefixNow } from "./prefix.ts";
import { serverAnswers } from "./server-answers.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";
import { problemsIn, unreadBans } from "./rule-problems.ts";
import { type News, settingsNewsBox, type SettingsNewsBox, withNews } from "./settings-news.ts";
import { afterTelling, skillsAndPlan, type SkillsAndPlan } from "./skills-and-plan.ts";
import { narrowingChoice, type ToolChoice, toolChoice, whileSame } from "./tool-choice.ts";

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
  /** The permission mode, for showing it and for a person to change it. */
  readonly mode: Pick<SessionMode, "current" | "change" | "state">;
  /** How commands run now, for showing it. */
  readonly sandbox: () => SandboxUse;
  /** For what a person says while a turn runs. */
  readonly queue: string[];
  /** Commands in the background, for showing them. */
  readonly jobs: () => readonly Job[];
  /** For a person who looks at one of them or ends it; absent where none may run. */
  readonly jobControl: Pick<Jobs, "peek" | "end"> | undefined;
  /** For the next agent of the same session: closing this one does not end them then. Absent where none may run. */
  readonly handOverJobs: () => Jobs | undefined;
  /** Of the MCP servers, once each has answered or has failed to. Must not reject. */
  readonly serversSettled: JobsAndServers["serversSettled"];
  /** What else runs beside the conversation. */
  readonly aside: () => Aside;
  /** In force until the session is closed: what is written meanwhile waits for the next. */
  readonly hooks: readonly HookSetting[];
  /** Between turns: what the model sees of the session, and what a user does about it. */
  readonly view: SessionView;
  /** Between turns. */
  readonly compaction: AskedCompaction;
  /** In force now, for showing them. */
  readonly numbers: () => Numbers;
  /** Tells the hooks that a person is waited for. What they answer is for that person. Must not reject. */
  notify(notice: PersonWanted): Promise<readonly string[]>;
  /** Stops what runs beside the turns, for good, and books what it has cost: before costs are told for the last time. */
  stopAside(): Promise<void>;
  /** `why`: for the hooks; `other` where it is absent. */
  close(why?: SessionEndReason): Promise<void>;
  /** Closes it; a new session in which nothing was ever said leaves no log behind. */
  discard(why?: SessionEndReason): Promise<void>;
}

export type SessionEndReason = Extract<HookMoment, { name: "SessionEnd" }>["reason"];
export type PersonWanted = Omit<Extract<HookMoment, { name: "Notification" }>, "name">;

export interface Aside {
  readonly notes: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
}

export type AgentOpened =
  | Agent
  | { readonly kind: "no-key"; readonly message: string }
  /** Settings may hold a ban that can't be read: nothing runs until a person has looked. */
  | { readonly kind: "unread-bans"; readonly problems: readonly Problem[] }
  | { readonly kind: "missing"; readonly id: SessionId }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

/** A whole agent with everything picked: store, settings, model, tools, hooks, instructions. */
export async function openAgent(options: AgentOptions): Promise<AgentOpened> {
  const engine = createEngine(options);
  const project = await engine.project();
  if (project.kind === "failed") return project;
  // Without a key nothing will come of it: then no session is made either.
  const { reading, numbers } = await engine.settings({ flags: options.flags, server: serverOf(options.model) });
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
  const { flags } = options;
  const news = settingsNewsBox((await engine.settings({ flags })).reading);
  const settings = await followSettings(engine, { session, flags, onNews: news.put });
  // They may have become unreadable since they were looked at.
  const unread = unreadBans(settings.current());
  if (unread.length > 0) return { kind: "unread-bans", problems: unread };
  const { first, model, picked } = await pickForSession(parts);
  if (picked.kind === "no-key") return picked;
  const cwd = await realpath(options.cwd);
  const shell = await findShell();
  const left = await mended(parts);
  if (left.kind === "failed") return left;
  const having = { settings, shell, cwd, groups: left.groups, toolsHad: await toolsKnown(deps, { session, model }) };
  const beside = await jobsAndServers(parts, having);
  const { box, asks, own, told, leaves } = await equip(parts, { ...having, model, beside });
  const rendering = { model, cwd, tools: box.tools, settings };
  const prefix = await prefixNow(parts, rendering);
  const frozen = await frozenBaseline(deps, { session, now: prefix.parts });
  if (frozen.kind === "failed") return frozen;
  const { baseline, moved } = frozen;
  const answers = await serverAnswers(parts, { baseline, picked });
  const { countedFixed } = answers;
  reckonWith(session, { baseline, countedFixed });
  const hooks = settings.current().settings.hooks.value;
  const agentDeps = depsOf(parts, {
    model,
    declared: answers.declaredSizes,
    hooks,
    cwd,
    box,
    leaves,
    settings,
    port: picked.model,
    shell: shell.path,
    learned: learnedIn(first.numbers),
    news: beside.news,
    startedOn: prefix.startedOn,
  });
  const { value: models } = first.reading.settings.models;
  const costs = costsSoFar(session, models);
  const begun = { prefix: rendering, baseline, countedFixed, moved, costs: costs.own, known: findModel(model, models) };
  const talk = agentContext(parts, { deps: agentDeps, box, asks, ...begun });
  const { conversation, compacting } = talk;
  const aside = newsAside({ settings: news, leaves, compacting, beside });
  const greeted = await greet(agentDeps, { options, session, model, instructions: prefix.instructions });
  if (greeted.kind === "failed") return greeted;
  const queue: string[] = [];
  return {
    kind: "agent",
    session,
    conversation,
    model,
    inheritedCosts: costs.inherited.session,
    warnings: [...warningsOf(damageOf(session), left, own, beside, greeted), ...prefix.instructions.problems],
    settingsProblems: problemsIn(first.reading),
    turn: (text, signal) =>
      withNews(told(answers.askBeside(runTurn(agentDeps, { conversation, text, signal, queue }))), aside),
    mode: own.mode,
    queue,
    ...shownBeside(beside, compacting),
    hooks,
    view: talk.view,
    compaction: talk.compaction,
    numbers: agentDeps.numbers,
    ...towardsHooks(agentDeps, session),
  };
}

const towardsHooks = (deps: HookDeps, session: Session): Pick<Agent, "notify" | "close" | "discard"> => ({
  notify: (notice) => notified(deps, notice),
  close: (why = "other") => closed(deps, { session, why, log: "close" }),
  discard: (why = "other") => closed(deps, { session, why, log: "discard" }),
});

/** What an earlier run that was killed left undone. */
async function mended({ deps, session, options: { jobs } }: Assembling): Promise<LeftSettled> {
  const put = await putBackMissing(deps, session);
  return put.kind === "failed" ? put : await settleLeft(deps, { session, jobs });
}

interface NewsAside {
  readonly settings: SettingsNewsBox;
  readonly leaves: Leaves;
  readonly compacting: AgentCompacting;
  readonly beside: JobsAndServers;
}

const newsAside = ({ settings, leaves, compacting: { notes }, beside }: NewsAside): readonly News[] => [
  { code: "settings", take: () => settings.take(leaves.given()) },
  { code: "notes-wishes", take: () => notes?.takeWarnings() ?? [] },
  { code: "mcp-server", take: beside.takeWarnings },
];

type BesideTurns = Pick<
  Agent,
  "sandbox" | "jobs" | "jobControl" | "handOverJobs" | "serversSettled" | "aside" | "stopAside"
>;

const shownBeside = (
  { jobs, handOver, sandbox, serversSettled }: JobsAndServers,
  { notes, preparation }: AgentCompacting,
): BesideTurns => ({
  serversSettled,
  sandbox,
  jobs: () => jobs?.list() ?? [],
  jobControl: jobs,
  handOverJobs: handOver,
  aside: () => ({
    notes: notes?.state === "running" ? "running" : "idle",
    preparation: preparation?.state ?? "none",
  }),
  stopAside: async () => void (await Promise.all([notes?.stop(), preparation?.cancel()])),
});

const learnedIn = ({ window, inputTokensMax }: Numbers): DepsInput["learned"] => ({
  learnedTokens: window.source === "learned" ? window.tokens : undefined,
  learnedInputTokens: inputTokensMax?.source === "learned" ? inputTokensMax.tokens : undefined,
});

/** What could not be read is not in the view: an answer may miss it. */
const damageOf = ({ id, damagedRanges: count }: Session): { readonly warnings: readonly string[] } => {
  const ranges = `${figure(count)} damaged ${plural(count, "range")}`;
  return { warnings: count === 0 ? [] : [`the log has ${ranges}: see \`palimpsest sessions fsck ${id}\``] };
};

const warningsOf = (...of: readonly { readonly warnings: readonly string[] }[]): readonly string[] =>
  of.flatMap(({ warnings }) => warnings);

async function closed({ hooks, place }: HookDeps, { session, why, log }: Closing): Promise<void> {
  await hooks.fire({ ...place(), name: "SessionEnd", reason: why }, new AbortController().signal);
  await session[log]();
}

interface Closing {
  readonly session: Session;
  readonly log: "close" | "discard";
  readonly why: SessionEndReason;
}

async function notified({ hooks, place }: HookDeps, notice: PersonWanted): Promise<readonly string[]> {
  const outcome = await hooks.fire({ ...place(), name: "Notification", ...notice }, new AbortController().signal);
  return [...outcome.messages, ...outcome.warnings];
}

interface Equipping {
  readonly settings: FollowedSettings;
  readonly model: string;
  readonly cwd: string;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  readonly beside: JobsAndServers;
  readonly toolsHad: ReadonlySet<string>;
}

/** The session's tools, and where its agent asks for compaction. */
async function equip(parts: Assembling, input: Equipping): Promise<Equipped> {
  const { engine, options, deps, root, session } = parts;
  const { settings, model, cwd, shell, groups } = input;
  const isOn = () => numbersInForce(settings.current().settings, { model }).switches["compact.agent"].value;
  const asks = await compactionAsksFor(deps, { session, model, isOn });
  const own = await skillsAndPlan(parts, choiceFrom(options, settings));
  const { skillPlaces, planning, mode } = own;
  const leaves = leavesFor({
    engine,
    flags: options.flags,
    choice: own.choice,
    inSettings: () => settings.current().settings["permissions.allow"].value,
  });
  const box = await toolbox({
    choice: leaves.choice,
    deps,
    session,
    env: options.env,
    shell,
    groups,
    roots: [root, cwd],
    home: homedir(),
    sandbox: { use: input.beside.sandbox, ownHome: engine.home, temporary: input.beside.temporary },
    guarded: guardedPaths(engine.home, settings.current().files),
    compactionAsks: asks,
    skillPlaces,
    planState: () => mode.state(),
    ...keptTools({ person: options.person, planning, jobs: input.beside.jobs }, input.toolsHad),
    servers: input.beside.servers,
    leaves,
    web: options.net && { net: options.net, pages: new PageCache() },
  });
  input.beside.reachThrough(box.network);
  const telling = { session, mode, skills: box.skills, cwd };
  return { box, asks, own, told: (turn) => afterTelling(telling, turn), leaves };
}

interface Equipped {
  readonly box: Toolbox;
  readonly asks: CompactionAsks | undefined;
  readonly own: SkillsAndPlan;
  /** A turn, and before it what the model does not know yet. */
  readonly told: (turn: AsyncIterable<LoopEvent>) => AsyncGenerator<LoopEvent>;
  readonly leaves: Leaves;
}

function choiceFrom({ tools, carriedMode }: AgentOptions, settings: FollowedSettings): () => ToolChoice {
  const wishes = { ...tools, mode: carriedMode ?? tools.mode };
  const current = () => settings.current().settings;
  const narrowed = narrowingChoice(toolChoice(wishes, current()));
  return whileSame(current, (now) => narrowed(toolChoice(wishes, now)));
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
      opened.session.recordBranch(await gitBranch(cwd));
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
