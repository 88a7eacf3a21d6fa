import { homedir } from "node:os";
import { makeBaseline, type Baseline } from "palimpsest/internal/cache/baseline";
import type { MessagePlace } from "palimpsest/internal/cache/breakpoint";
import type { WrittenPlaces } from "palimpsest/internal/cache/written-places";
import { applyFixedPart } from "palimpsest/internal/context/conversation";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { pastCosts } from "palimpsest/internal/context/past-costs";
import { SessionContext } from "palimpsest/internal/context/session-context";
import { type AgentDefinition, mayUseTool, toolsForAgent } from "palimpsest/internal/layers/7-agents/agent-definition";
import { forkDirective, forkPlaceholder } from "palimpsest/internal/layers/7-agents/agent-texts";
import { resolveAgentModel } from "palimpsest/internal/layers/7-agents/resolve-agent-model";
import { runTurn } from "palimpsest/internal/loop/run-turn";
import type { AgentConversation, AgentSpec } from "palimpsest/internal/ports/agent-host";
import type { Hooks } from "palimpsest/internal/ports/hooks";
import type { ReadFiles } from "palimpsest/internal/ports/tool";
import type { AgentWorktree } from "palimpsest/internal/schema/agent-run";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { Message } from "palimpsest/internal/schema/block";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import { restoreMissingState } from "palimpsest/internal/session/append-boundary";
import { forkSession } from "palimpsest/internal/session/fork-session";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import { openSession } from "palimpsest/internal/session/session";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { pathsToGuard } from "../../settings/scope-files.ts";
import type { Shell } from "../../tool/shell/bash-tool.ts";
import { PageCache } from "../../tool/web/get-page.ts";
import type { AgentParts } from "../agent-options.ts";
import { agentCompactionSetup } from "../agent-compaction-setup.ts";
import { createAgentDeps } from "../create-agent-deps.ts";
import type { FollowedSettings } from "../follow-settings.ts";
import { noMemory, type SessionMemory } from "../memory/session-memory.ts";
import { type PickModelOutcome, pickModel } from "../model/model-choice.ts";
import { SessionInstructions } from "../session/session-instructions.ts";
import { openPrefix } from "../system-prompt/open-prefix.ts";
import { type PrefixInput, renderPrefix } from "../system-prompt/render-prefix.ts";
import { endOrphanedCommands, type JobsAndServers } from "../tools/jobs-and-servers.ts";
import { memoizeByInput, narrowChoice, type PermissionChoice } from "../tools/permission-choice.ts";
import type { SessionAllowRules } from "../tools/session-allow-rules.ts";
import { createToolbox, expandId, type Toolbox } from "../tools/toolbox.ts";
import type { AgentToolDeps } from "../../tool/agent-tool.ts";
import { agentMessages } from "./agent-messages.ts";
import { followProgress } from "./follow-progress.ts";
import { openMemoryForAgent } from "./agent-memory.ts";
import type { AgentWorktrees, OpenWorktree } from "./agent-worktrees.ts";

/** A conversation that agents are started from: the main one, or an agent's own. */
export interface ParentConversation {
  readonly context: SessionContext;
  readonly box: Toolbox;
  /** What it may do now. */
  readonly choice: () => PermissionChoice;
  readonly prefix: PrefixInput;
  readonly picked: PickedModel;
  /** Its own type and those of the agents above it: what it starts has the tools that all of them have. */
  readonly limits: readonly AgentDefinition[];
  /** The folder that it may change: the project's, or a worktree. */
  readonly root: string;
  /** Absent if nobody can be asked for it, and so for none of its agents either. */
  readonly asking: AgentParts["options"]["user"];
}

type PickedModel = Extract<PickModelOutcome, { kind: "model" }>;

/** What all agents of a session share. */
export interface SubAgentShared {
  /** Of the session. Its user is asked for foreground agents, one question at a time. */
  readonly parts: AgentParts;
  readonly settings: FollowedSettings;
  readonly shell: Shell;
  readonly allowRules: SessionAllowRules;
  readonly background: Pick<JobsAndServers, "sandbox" | "temporary" | "servers">;
  readonly hooks: readonly HookSetting[];
  readonly source: PrefixInput["source"];
  readonly types: AgentToolDeps["types"];
  readonly worktrees: AgentWorktrees;
}

export interface OpenedSubAgent {
  readonly kind: "open";
  readonly conversation: AgentConversation;
  readonly parent: ParentConversation;
}

type Refused = { readonly kind: "refused"; readonly message: string };

/** An agent of its own type: own prompt, tools, model and permissions, which are at most its parent's. */
export async function openFreshAgent(
  shared: SubAgentShared,
  { spec, parent, definition }: { spec: AgentSpec; parent: ParentConversation; definition: AgentDefinition },
): Promise<OpenedSubAgent | Refused> {
  const { options } = shared.parts;
  const model = resolveAgentModel(spec.model ?? definition.model, parent.prefix.model);
  const picked = pickModel({ choice: options.model, name: model, env: options.env, now: shared.parts.deps.now });
  if (picked.kind === "no-key")
    return { kind: "refused", message: `The model ${model} can't be used: ${picked.message}` };
  const worktree = spec.worktree === "own" ? await shared.worktrees.open(spec.id) : undefined;
  if (worktree?.kind === "refused") return worktree;
  const place = worktree?.worktree;
  const cwd = place?.cwd ?? parent.prefix.cwd;
  const parts = await openAgentParts(shared, { spec, parent, cwd, root: place?.path ?? parent.root });
  if (parts.kind === "refused") {
    await place?.finish();
    return parts;
  }
  const { agent, close } = parts;
  const choice = memoizeByInput(parent.choice, (now) => narrowChoice(now, definition));
  const memory = await openAgentsMemory(shared, { agent, definition, model });
  const limits = [...parent.limits, definition];
  const box = await createFreshBox(shared, { spec, agent, choice, limits, cwd, memory });
  const own = { model, cwd, tools: box.tools, memory: memory.piece, prompt: definition.prompt };
  const prefix: PrefixInput = { ...parent.prefix, ...own };
  const opened = await openPrefix(agent, { input: prefix, box, picked, memory });
  if (opened.kind === "failed") {
    await close();
    await place?.finish();
    return { kind: "refused", message: opened.message };
  }
  const { instructions, fixedPart, answers } = opened;
  const deps = subAgentDeps(shared, {
    spec,
    agent,
    box,
    cwd,
    model,
    picked,
    instructions,
    memory,
    startedOn: opened.prefix.startedOn,
    declared: answers.declaredSizes,
  });
  const context = startContext(shared, { spec, agent, deps, box, prefix, instructions, ...fixedPart });
  const progress = followProgress(context, spec);
  return {
    kind: "open",
    parent: { context, box, choice, prefix, picked, limits, root: agent.root, asking: askable(spec, parent) },
    conversation: {
      model,
      worktree: place && toWorktree(place),
      transcriptPath: agent.deps.transcripts.linkTo?.(agent.session.id),
      turn: ({ text, signal, roundsMax }) =>
        progress.during(runTurn(context, { text: withNotes(text, place), signal, roundsMax, queue: [] })),
      close: async () => {
        await progress.stop();
        await close();
        return { worktree: await place?.finish() };
      },
    },
  };
}

/** The memory of its type, which is the project's own also for an agent in a worktree. */
async function openAgentsMemory(
  { parts, settings }: SubAgentShared,
  {
    agent,
    definition,
    model,
  }: { readonly agent: AgentParts; readonly definition: AgentDefinition; readonly model: string },
): Promise<SessionMemory> {
  const { workspace, options, deps, root, secrets } = parts;
  const { session } = agent;
  const memory = await openMemoryForAgent(
    { home: workspace.home, root, env: options.env, secrets, blobs: deps.blobs, now: deps.now },
    {
      definition,
      session,
      model,
      isOn: () => settings.current().settings.autoMemoryEnabled.value,
      trust: settings.current().trust,
    },
  );
  if (memory.first.length > 0 && session.leaf === null) await session.append(...memory.first);
  return memory;
}

/** The agent is told once what its worktree lacks. */
const withNotes = (text: string | undefined, place: OpenWorktree | undefined): string | undefined =>
  text === undefined || place === undefined ? text : [text, ...worktreeNotes(place)].join("\n");

const worktreeNotes = ({ path, branch, notes }: OpenWorktree): readonly string[] => [
  "",
  `You work in a git worktree of your own at ${path}, on the branch ${branch}: change files only there.`,
  ...notes,
];

const toWorktree = ({ path, branch }: OpenWorktree): AgentWorktree => ({ path, branch, state: "in-use" });

/** A copy of its parent's conversation: the same bytes up to the reply that asked for it, then its own task. */
export async function openForkedAgent(
  shared: SubAgentShared,
  { spec, parent }: { readonly spec: AgentSpec; readonly parent: ParentConversation },
): Promise<OpenedSubAgent | Refused> {
  if (spec.worktree === "own")
    return {
      kind: "refused",
      message: "A fork works where its parent does: start an agent of another type for a worktree.",
    };
  const { context: parentContext, box: parentBox, prefix } = parent;
  const parts = await openAgentParts(shared, { spec, parent, cwd: prefix.cwd, root: parent.root });
  if (parts.kind === "refused") return parts;
  const { agent, close } = parts;
  const { session } = agent;
  const from = parentContext.session;
  const forked =
    spec.mode === "new" ? await forkSession({ from, to: session, placeholder: forkPlaceholder }) : undefined;
  const baseline = spec.mode === "new" ? parentContext.conversation.baseline : await readBaseline(agent);
  if (forked?.kind === "failed" || baseline === undefined) {
    await close();
    return {
      kind: "refused",
      message: forked?.kind === "failed" ? forked.message : "What it began with can't be read.",
    };
  }
  const { countedFixed, written, files } = parentContext.conversation;
  applyFixedPart(session, { baseline, countedFixed });
  const ownExpand = expandId({ deps: agent.deps, session, recall: undefined, agents: undefined });
  const parentExpand = expandId({ deps: shared.parts.deps, session: from, recall: undefined, agents: spec.agents });
  const expand: typeof ownExpand = async (id) => {
    const found = await ownExpand(id);
    return found.kind === "missing" ? await parentExpand(id) : found;
  };
  const box: Toolbox = { ...parentBox, ...parentBox.forked({ agents: spec.agents, expand }) };
  const opening = await renderPrefix(agent, prefix);
  const instructions = new SessionInstructions({
    deps: agent.deps,
    session,
    source: shared.source,
    mayRead: box.mayRead,
    render: () => renderPrefix(agent, prefix),
    opening,
  });
  const { model, cwd } = prefix;
  const deps = {
    ...subAgentDeps(shared, {
      spec,
      agent,
      box,
      cwd,
      model,
      picked: parent.picked,
      instructions,
      memory: noMemory,
      startedOn: opening.startedOn,
      declared: () => ({}),
    }),
    // What is new outside of the conversation would stand between the siblings' common prefix and their tasks.
    reminders: undefined,
  };
  const share =
    spec.mode === "new"
      ? { written: written.copy(), common: lastPlace(session.fold.messages), files: files.copy() }
      : {};
  const context = startContext(shared, {
    spec,
    agent,
    deps,
    box,
    prefix,
    instructions,
    baseline,
    countedFixed,
    moved: undefined,
    ...share,
  });
  const progress = followProgress(context, spec);
  let isFirst = spec.mode === "new";
  return {
    kind: "open",
    parent: { ...parent, context, box, asking: askable(spec, parent) },
    conversation: {
      model,
      transcriptPath: agent.deps.transcripts.linkTo?.(session.id),
      turn: ({ text, signal, roundsMax }) => {
        const directive = isFirst && text !== undefined ? forkDirective(text) : text;
        isFirst = false;
        return progress.during(runTurn(context, { text: directive, signal, roundsMax, queue: [] }));
      },
      close: async () => {
        await progress.stop();
        await close();
        return {};
      },
    },
  };
}

function lastPlace(messages: readonly Message[]): MessagePlace | undefined {
  const last = messages.at(-1);
  return last && { part: "messages", message: messages.length - 1, at: last.content.length - 1 };
}

async function readBaseline({ deps, session }: AgentParts): Promise<Baseline | undefined> {
  const state = readFrozenState(session.fold);
  const parts = state && (await readFrozenParts(deps, state.byModel[state.last]?.sent));
  return parts && makeBaseline(parts);
}

interface AgentPartsInput {
  readonly spec: AgentSpec;
  readonly parent: Pick<ParentConversation, "asking">;
  readonly cwd: string;
  /** The folder that it may change. */
  readonly root: string;
}

type OpenedParts = { readonly kind: "open"; readonly agent: AgentParts; readonly close: () => Promise<void> } | Refused;

/** Opens the agent's own transcript. It asks the user only in the foreground. */
async function openAgentParts(
  { parts }: SubAgentShared,
  { spec, parent, cwd, root }: AgentPartsInput,
): Promise<OpenedParts> {
  const { agentsOf } = parts.deps;
  if (agentsOf === undefined) return { kind: "refused", message: "Agents can't be stored here." };
  const deps = { ...parts.deps, ...agentsOf(parts.session.id) };
  const { version } = parts.options;
  const user = askable(spec, parent);
  const opened = await openSession(
    { ...deps, ...parts.clearable, redaction: parts.redaction },
    {
      id: sessionId(spec.id),
      circumstances: { cwd, version },
      mode: spec.mode === "new" ? "create" : "resume",
      agentOf: parts.session.id,
    },
  );
  if (opened.kind !== "open") return { kind: "refused", message: openFailureText(opened) };
  const { session } = opened;
  const options = {
    ...parts.options,
    cwd,
    user: user && namedUser(user, spec),
    approveEdit: undefined,
    planReview: undefined,
    jobs: "off",
    askSizes: "off",
    countFixedPart: "off",
    turns: "one",
  } as const;
  const agent: AgentParts = { ...parts, deps, session, options, root };
  const restored = await restoreMissingState(deps, session);
  const settled = restored.kind === "failed" ? restored : await endOrphanedCommands(deps, { session, jobs: "off" });
  if (settled.kind === "failed") {
    await session.close();
    return { kind: "refused", message: settled.message };
  }
  return { kind: "open", agent, close: () => session.close() };
}

function openFailureText(outcome: Exclude<Awaited<ReturnType<typeof openSession>>, { kind: "open" }>): string {
  switch (outcome.kind) {
    case "busy":
      return `Its transcript is open elsewhere: ${outcome.holder}.`;
    case "missing":
      return "Its transcript is gone.";
    case "exists":
      return "Its transcript exists already.";
    case "failed":
      return outcome.message;
  }
}

/** Nobody waits for what a background agent does. */
const askable = ({ place }: AgentSpec, { asking }: Pick<ParentConversation, "asking">): ParentConversation["asking"] =>
  place === "foreground" ? asking : undefined;

/** The user sees which agent asks. */
const namedUser = (user: NonNullable<AgentParts["options"]["user"]>, { name }: AgentSpec): typeof user => ({
  permission: (prompt, signal) =>
    user.permission({ ...prompt, reason: `The agent ${name} asks. ${prompt.reason}` }, signal),
  question: (prompt, signal) => user.question(prompt, signal),
});

interface FreshBoxInput {
  readonly spec: AgentSpec;
  readonly agent: AgentParts;
  readonly choice: () => PermissionChoice;
  readonly limits: readonly AgentDefinition[];
  readonly cwd: string;
  readonly memory: SessionMemory;
}

/** The tools that its type and those above it have, with a state of their own. */
async function createFreshBox(
  { parts, settings, shell, allowRules, background, types }: SubAgentShared,
  { spec, agent, choice, limits, cwd, memory }: FreshBoxInput,
): Promise<Toolbox> {
  const { workspace, options } = parts;
  const { session, deps, root } = agent;
  const box = await createToolbox({
    choice,
    deps,
    session,
    env: options.env,
    shell,
    groups: deps.runningGroupsFor?.(session.id),
    roots: [root, cwd],
    home: homedir(),
    sandbox: { use: background.sandbox, ownHome: workspace.home, temporary: background.temporary },
    guarded: pathsToGuard(workspace.home, settings.current().files),
    memory: memory.tool,
    teamwork: { messages: agentMessages(spec) },
    servers: background.servers,
    allowRules,
    web: options.net && { net: options.net, pages: new PageCache() },
    agents: { agents: spec.agents, types, places: "foreground" },
  });
  return limits.reduce((limited, definition) => limitBox(limited, definition), box);
}

function limitBox(box: Toolbox, definition: AgentDefinition): Toolbox {
  const limit = <Set extends Pick<Toolbox, "tools">>(set: Set): Set => ({
    ...set,
    tools: toolsForAgent(definition, set.tools),
  });
  return {
    ...limit(box),
    forked: (changes) => limit(box.forked(changes)),
    permit: async (request) => {
      const refused = request.acts.find(
        (act) => act.kind === "mcp" && !mayUseTool(definition, `mcp__${act.server}__${act.tool}`),
      );
      if (refused === undefined) return await box.permit(request);
      return { kind: "denied", reason: `Agents of the type ${definition.name} may not use this tool.` };
    },
  };
}

interface SubAgentDepsInput {
  readonly spec: AgentSpec;
  readonly agent: AgentParts;
  readonly box: Toolbox;
  readonly cwd: string;
  readonly model: string;
  readonly picked: PickedModel;
  readonly instructions: SessionInstructions;
  readonly memory: SessionMemory;
  readonly startedOn: string;
  readonly declared: Parameters<typeof createAgentDeps>[1]["declared"];
}

function subAgentDeps(
  { settings, allowRules, shell, hooks }: SubAgentShared,
  { spec, agent, picked, ...input }: SubAgentDepsInput,
): AgentDeps {
  const learned = { learnedTokens: undefined, learnedInputTokens: undefined };
  const deps = createAgentDeps(agent, {
    ...input,
    settings,
    allowRules,
    shell: shell.path,
    hooks,
    learned,
    port: picked.model,
    mail: undefined,
    news: spec.takeMail,
  });
  const place: AgentDeps["place"] = () => ({ ...deps.place(), agent: { id: spec.id, type: spec.type } });
  return { ...deps, place, hooks: withoutTurnHooks(deps.hooks) };
}

/** An agent's task is not the user's prompt, and its end has an event of its own. */
const withoutTurnHooks = (hooks: Hooks): Hooks => ({
  fire: async (event, signal) =>
    event.name === "UserPromptSubmit" || event.name === "Stop"
      ? { context: [], messages: [], warnings: [] }
      : await hooks.fire(event, signal),
});

interface ContextInput extends Pick<Parameters<SessionContext["start"]>[0], "baseline" | "countedFixed" | "moved"> {
  readonly spec: AgentSpec;
  readonly agent: AgentParts;
  readonly deps: AgentDeps;
  readonly box: Toolbox;
  readonly prefix: PrefixInput;
  readonly instructions: SessionInstructions;
  readonly written?: WrittenPlaces;
  readonly common?: MessagePlace | undefined;
  readonly files?: ReadFiles;
}

function startContext(
  { settings }: SubAgentShared,
  { spec, agent, deps, box, prefix, instructions, files, ...start }: ContextInput,
): SessionContext {
  const { session } = agent;
  const { value: models } = settings.current().settings.models;
  const costs = pastCosts(session, models).own;
  costs.onPaid((_cost, { model, usage }) => spec.onPaid({ model, usage }));
  const context = new SessionContext(deps, {
    session,
    transcripts: agent.deps.transcripts,
    costs,
    files,
    lifetimes: "fixed",
    compacting: (started) =>
      agentCompactionSetup(agent, { ...started, box, prefix, instructions, requests: undefined }),
    onUndone: () => box.readAgain(),
  });
  context.start({ ...start, known: findModel(prefix.model, models) });
  return context;
}
