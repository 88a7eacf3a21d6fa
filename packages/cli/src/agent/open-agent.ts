import { realpath } from "node:fs/promises";
import { createSecretScanner } from "../host/secret-scanner.ts";
import { openWorkspace } from "../host/workspace.ts";
import { clearableResults, isRerunnable } from "palimpsest/internal/layers/2-clear/is-rerunnable";
import type { NewConversation } from "palimpsest/internal/context/conversation";
import { toolsKnownToModel } from "./system-prompt/freeze-baseline.ts";
import { runTurn } from "palimpsest/internal/loop/run-turn";
import {
  followSettings,
  createSettingsNewsQueue,
  withNews,
  type NewsSource,
  type SettingsNewsQueue,
} from "./follow-settings.ts";
import { restoreMissingState } from "palimpsest/internal/session/append-boundary";
import type { Session } from "palimpsest/internal/session/session";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { findShell } from "../tool/shell/bash-tool.ts";
import { type AgentDepsInput, createAgentDeps } from "./create-agent-deps.ts";
import { type AgentOptions, type AgentParts, modelDefault } from "./agent-options.ts";
import { pastCosts } from "palimpsest/internal/context/past-costs";
import { announceSessionStart, sessionHooks } from "./session/session-hooks.ts";
import {
  startJobsAndServers,
  type JobsAndServers,
  type EndOrphansOutcome,
  endOrphanedCommands,
} from "./tools/jobs-and-servers.ts";
import { pickModel, serverChoice } from "./model/model-choice.ts";
import { pickSessionModel } from "./model/pick-session-model.ts";
import { openPrefix } from "./system-prompt/open-prefix.ts";
import { sessionSource } from "./system-prompt/render-prefix.ts";
import { allSettingsProblems, unreadableDenyRules } from "./all-settings-problems.ts";
import type { OpenAgentOutcome, Agent } from "./agent.ts";
import { chooseSession } from "./session/choose-session.ts";
import { type Retention, startRetention } from "./session/expire-sessions.ts";
import type { AgentMail } from "../team/agent-mail.ts";
import { checkTeam, markWork, openAgentMail, withLeave } from "./session/open-agent-mail.ts";
import { openSessionRedaction, redactPlanFile } from "./session/session-redaction.ts";
import { type EquipInput, equipSession } from "./tools/equip-session.ts";
import { followPermissionChoice } from "./tools/permission-choice.ts";
import type { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import { SessionContext } from "palimpsest/internal/context/session-context";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import {
  type AgentCompactionSetup,
  agentCompactionSetup,
  type CompactionSetupInput,
} from "./agent-compaction-setup.ts";
import type { SessionInstructions } from "./session/session-instructions.ts";
import type { SessionAllowRules } from "./tools/session-allow-rules.ts";
import { BackgroundEvents } from "./memory/background-events.ts";
import type { BackgroundMemoryInput } from "./memory/open-session-extraction.ts";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { recordEvent, recordTurn } from "./record-turn.ts";
import { oneAtATime } from "palimpsest/internal/loop/ask-user";
import { openAgents, type OpenedAgents } from "./agents/open-agents.ts";
import { openAgentMemory } from "./memory/open-agent-memory.ts";

/** Opens an agent with its store, settings, model, tools, hooks and instructions. */
export async function openAgent(options: AgentOptions): Promise<OpenAgentOutcome> {
  const workspace = openWorkspace(options);
  const project = await workspace.project();
  if (project.kind === "failed") return project;
  // An agent without a key is of no use: then no session is created either.
  const { reading, resolved } = await workspace.settings({ flags: options.flags, server: serverChoice(options.model) });
  const unread = unreadableDenyRules(reading);
  if (unread.length > 0) return { kind: "unreadable-deny-rules", problems: unread };
  const named = resolved.model ?? modelDefault;
  const picked = pickModel({ choice: options.model, name: named, env: options.env, now: project.deps.now });
  if (picked.kind === "no-key" && options.session.kind === "new") return picked;
  const { value: clearableTools } = reading.settings.clearableTools;
  const addedTools = new Set(clearableTools);
  const isSafe = (tool: string): boolean => isRerunnable(tool) || addedTools.has(tool);
  const secrets = createSecretScanner();
  const redaction = openSessionRedaction(reading.settings.secrets.value, { secrets });
  const clearable = clearableResults(resolved.policy, isSafe);
  const sessionDeps = { ...project.deps, ...clearable, redaction };
  const refused = await checkTeam(workspace.home, options, project.root);
  if (refused !== undefined) return refused;
  const opened = await chooseSession(sessionDeps, options);
  if (opened.kind !== "open") return opened;
  const { session } = opened;
  const { root } = project;
  const deps = redactPlanFile(project.deps, { secrets, redaction });
  const user = options.user && oneAtATime(options.user);
  const agent = await assembleAgent({
    workspace,
    options: { ...options, user },
    deps,
    root,
    session,
    secrets,
    redaction,
    clearable,
  });
  if (agent.kind !== "agent") await session.close();
  return agent;
}

async function assembleAgent(parts: AgentParts): Promise<OpenAgentOutcome> {
  const { options, session } = parts;
  const ready = await readySession(parts);
  if (ready.kind !== "ready") return ready;
  const { settings, settingsNews, opening, model, picked, repaired } = ready;
  const tooling = await prepareTooling(parts, { settings, model, groups: repaired.groups });
  const { cwd, shell } = tooling;
  const background = await startJobsAndServers(parts, tooling);
  const { value: models } = opening.reading.settings.models;
  const costs = pastCosts(session, models);
  const memory = await openAgentMemory(parts, { settings, opening, model, port: picked.model, costs: costs.own });
  const hooks = settings.current().settings.hooks.value;
  const events = new BackgroundEvents();
  const source = sessionSource(parts);
  const sharedByAgents = { settings, shell, background, hooks, source, model, cwd, costs: costs.own };
  const agents = await openAgents(parts, { ...sharedByAgents, onEnded: (run) => announceEnd(events, run) });
  const joined = await openAgentMail(parts, agents.agents);
  if (joined.kind !== "open") return joined;
  const { mail } = joined;
  const equipment = await equipSession(parts, { ...tooling, background, memory, agents: agents.tool, mail });
  const { box, compactionRequests: requests, skillsAndPlan, announceFirst, allowRules } = equipment;
  const prefixInput = { model, cwd, tools: box.tools, settings, source, memory: memory.piece };
  const opened = await openPrefix(parts, { input: prefixInput, box, picked, memory });
  if (opened.kind === "failed") return opened;
  const { prefix, instructions, fixedPart, answers } = opened;
  const limits = { declared: answers.declaredSizes, learned: limitsLearned(opening.resolved) };
  const sessionInput = { cwd, box, allowRules, settings, shell: shell.path, hooks, memory, instructions, mail };
  const told = { news: () => [...background.news(), ...agents.news()], startedOn: prefix.startedOn };
  const agentDeps = createAgentDeps(parts, { model, port: picked.model, ...limits, ...sessionInput, ...told });
  const contextInput = { deps: agentDeps, box, requests, memory, prefix: prefixInput, known: findModel(model, models) };
  const { mode } = skillsAndPlan;
  const state = { settings, sandbox: background.sandbox, mode: () => mode.current(), costs: costs.own, events };
  const begun = startAgentContext(parts, { ...contextInput, ...fixedPart, instructions, ...state });
  const { context } = begun;
  agents.begin({ context, box, choice: allowRules.choice, prefix: prefixInput, picked, allowRules, ...agentDeps });
  const retention = startRetention(parts, opening.reading.settings.retentionDays.value);
  const newsInput = { begun, instructions, allowRules, background, retention, agents, mail, settingsNews };
  const news = backgroundNews(parts, newsInput);
  const started = await announceSessionStart(agentDeps, { options, session, model, instructions: prefix.instructions });
  if (started.kind === "failed") return started;
  const queue: string[] = [];
  return {
    kind: "agent",
    session,
    context,
    model,
    inheritedCosts: costs.inherited.session,
    warnings: [
      ...collectWarnings(damageWarnings(session), repaired, skillsAndPlan, memory, background, agents, joined, started),
      ...prefix.instructions.problems,
    ],
    settingsProblems: allSettingsProblems(opening.reading),
    turn: (text, signal) => {
      const turn = announceFirst(answers.askDuring(runTurn(context, { text, signal, queue })));
      return withNews(markWork({ mail, session }, recordTurn(context, { turn })), news);
    },
    mail,
    ...begun.controls,
    mode,
    queue,
    ...backgroundControls(background, context.compacting, retention),
    hooks,
    settings: agentDeps.settings,
    ...withAgents(agents, withLeave(joined, sessionHooks(agentDeps, session))),
  };
}

/** Follows the settings, picks the model and finishes what an earlier run left undone. */
async function readySession(parts: AgentParts) {
  const { workspace, options, session } = parts;
  const { flags } = options;
  const settingsNews = createSettingsNewsQueue((await workspace.settings({ flags })).reading);
  const settings = await followSettings(workspace, { session, flags, onNews: settingsNews.put });
  // They may have become unreadable since the first check.
  const unread = unreadableDenyRules(settings.current());
  if (unread.length > 0) return { kind: "unreadable-deny-rules", problems: unread } as const;
  const { settings: opening, model, picked } = await pickSessionModel(parts);
  if (picked.kind === "no-key") return picked;
  const repaired = await repairEarlierRun(parts);
  if (repaired.kind === "failed") return repaired;
  return { kind: "ready", settings, settingsNews, opening, model, picked, repaired } as const;
}

/** The user is told of what worked in the background, and of changes that wait in a worktree; the model gets the report. */
function announceEnd(events: BackgroundEvents, run: AgentRun): void {
  if (run.place === "background" || run.worktree?.state === "kept") events.emit({ kind: "agent-ended", run });
}

/** Agents end before their session: their last lines are in its log. */
const withAgents = (
  { agents, found }: OpenedAgents,
  { notify, close, discard }: ReturnType<typeof sessionHooks>,
): ReturnType<typeof sessionHooks> & Pick<Agent, "agents" | "agentTypes"> => ({
  agents,
  agentTypes: found,
  notify,
  close: async (why) => {
    await agents?.close();
    await close(why);
  },
  discard: async (why) => {
    await agents?.close();
    await discard(why);
  },
});
/** What the tools of a session are built on. */
async function prepareTooling(
  { deps, session, options }: AgentParts,
  { settings, model, groups }: ToolingInput,
): Promise<ToolingInput & ToolBase> {
  const { carriedMode, permissionLimit: limit, tools: requested } = options;
  const requestedTools = { ...requested, mode: carriedMode ?? requested.mode, limit };
  return {
    settings,
    model,
    groups,
    cwd: await realpath(options.cwd),
    shell: await findShell(),
    toolsKnown: await toolsKnownToModel(deps, { session, model }),
    choice: followPermissionChoice(requestedTools, () => settings.current().settings),
  };
}

type ToolingInput = Pick<EquipInput, "settings" | "model" | "groups">;
type ToolBase = Pick<EquipInput, "cwd" | "shell" | "toolsKnown" | "choice">;

/** Finishes what an earlier run that was killed left undone. */
async function repairEarlierRun({ deps, session, options: { jobs } }: AgentParts): Promise<EndOrphansOutcome> {
  const restored = await restoreMissingState(deps, session);
  return restored.kind === "failed" ? restored : await endOrphanedCommands(deps, { session, jobs });
}

const limitsLearned = ({ window, inputTokensMax }: ResolvedSettings): AgentDepsInput["learned"] => ({
  learnedTokens: window.source === "learned" ? window.tokens : undefined,
  learnedInputTokens: inputTokensMax?.source === "learned" ? inputTokensMax.tokens : undefined,
});

/** What could not be read is not in the view: an answer may lack it. */
const damageWarnings = ({ id, damagedRanges: count }: Session): { readonly warnings: readonly string[] } => {
  const ranges = `${formatCount(count)} damaged ${plural(count, "range")}`;
  return { warnings: count === 0 ? [] : [`the log has ${ranges}: see \`palimpsest sessions fsck ${id}\``] };
};

const collectWarnings = (...sources: readonly { readonly warnings: readonly string[] }[]): readonly string[] =>
  sources.flatMap(({ warnings }) => warnings);

interface AgentContextInput
  extends
    Pick<NewConversation, "countedFixed" | "moved" | "known">,
    Pick<CompactionSetupInput, "box" | "prefix" | "requests" | "instructions" | "memory">,
    Pick<BackgroundMemoryInput, "settings" | "sandbox" | "mode">,
    Pick<NewConversation, "baseline"> {
  readonly deps: AgentDeps;
  readonly costs: CostLedger;
  readonly events: BackgroundEvents;
}

interface AgentContextStart {
  readonly context: SessionContext<AgentCompactionSetup>;
  /** What background work tells the user. */
  readonly news: readonly NewsSource[];
  readonly controls: Pick<Agent, "onBackground" | "lastSaved" | "billing">;
}

function startAgentContext(
  parts: AgentParts,
  {
    box,
    prefix,
    requests,
    instructions,
    memory,
    settings,
    sandbox,
    mode,
    deps,
    costs,
    events,
    ...start
  }: AgentContextInput,
): AgentContextStart {
  // The simulator's prices are paid by nobody.
  const isSimulated = parts.options.model.kind === "simulator";
  const onEvent = (event: LoopEvent): void => {
    events.emit(event);
    void recordEvent(context, event);
  };
  const background = { settings, sandbox, mode, onEvent, warn: events.warnings.add };
  const context = new SessionContext(deps, {
    session: parts.session,
    transcripts: parts.deps.transcripts,
    costs,
    spend: isSimulated ? undefined : parts.deps.spend,
    onPaused: events.paused.add,
    compacting: (started) =>
      agentCompactionSetup(parts, { ...started, box, prefix, instructions, requests, memory, background }),
    onUndone: () => box.readAgain(),
  });
  context.start(start);
  return {
    context,
    news: [
      { code: "memory", take: () => events.warnings.take() },
      { code: "background-budget", take: () => events.paused.take() },
    ],
    controls: {
      onBackground: (listener) => events.listen(listener),
      lastSaved: () => events.saved,
      billing: isSimulated ? "simulated" : "real",
    },
  };
}

interface BackgroundNewsInput {
  readonly begun: AgentContextStart;
  readonly instructions: SessionInstructions;
  readonly settingsNews: SettingsNewsQueue;
  readonly allowRules: SessionAllowRules;
  readonly background: JobsAndServers;
  readonly retention: Retention;
  readonly agents: OpenedAgents;
  readonly mail: AgentMail | undefined;
}

/** News of background work, for the user. */
const backgroundNews = (
  { redaction }: AgentParts,
  { begun, instructions, settingsNews, allowRules, background, retention, agents, mail }: BackgroundNewsInput,
): readonly NewsSource[] => [
  { code: "settings", take: () => settingsNews.take(allowRules.granted()) },
  { code: "instructions", take: () => instructions.takeWarnings() },
  { code: "notes-wishes", take: () => begun.context.compacting.notes?.takeWarnings() ?? [] },
  ...begun.news,
  { code: "agents", take: agents.takeWarnings },
  { code: "mail", take: () => mail?.takeNews() ?? [] },
  { code: "mcp-server", take: background.takeWarnings },
  { code: "retention", take: retention.takeNews },
  { code: "secrets", take: () => redaction?.takeNotices() ?? [] },
];

/** Shows and ends background work. */
type BackgroundControls = Pick<
  Agent,
  "sandbox" | "jobs" | "jobControl" | "handOverJobs" | "serversSettled" | "dream" | "aside" | "stopAside"
>;

const backgroundControls = (
  { jobs, handOver, sandbox, serversSettled }: JobsAndServers,
  { notes, extraction, dream, preparation }: AgentCompactionSetup,
  retention: Retention,
): BackgroundControls => ({
  serversSettled,
  sandbox,
  jobs: () => jobs?.list() ?? [],
  jobControl: jobs,
  handOverJobs: handOver,
  dream,
  aside: () => ({
    notes: notes?.state === "running" ? "running" : "idle",
    extraction: extraction?.state ?? "idle",
    dream: dream?.task?.status === "running" ? "running" : "idle",
    preparation: preparation?.state ?? "none",
  }),
  stopAside: async () => {
    retention.stop();
    await Promise.all([notes?.stop(), extraction?.finish(), dream?.finish(), preparation?.cancel()]);
  },
});
