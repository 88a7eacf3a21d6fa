import { homedir } from "node:os";
import { type AgentDefinition, mayUseTool, toolsForAgent } from "palimpsest/internal/layers/7-agents/agent-definition";
import { resolveAgentModel } from "palimpsest/internal/layers/7-agents/resolve-agent-model";
import { runTurn } from "palimpsest/internal/loop/run-turn";
import type { AgentSpec } from "palimpsest/internal/ports/agent-host";
import type { AllowRuleDep } from "palimpsest/internal/ports/tool";
import type { AgentWorktree } from "palimpsest/internal/schema/agent-run";
import { pathsToGuard } from "../../settings/scope-files.ts";
import { PageCache } from "../../tool/web/get-page.ts";
import type { AgentParts } from "../agent-options.ts";
import { type SessionMemory } from "../memory/session-memory.ts";
import { pickModel } from "../model/model-choice.ts";
import { openPrefix } from "../system-prompt/open-prefix.ts";
import { type PrefixInput } from "../system-prompt/render-prefix.ts";
import { memoizeByInput, narrowChoice, type PermissionChoice } from "../tools/permission-choice.ts";
import { openAgentAllowRules } from "../tools/session-allow-rules.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";
import { agentMessages } from "./agent-messages.ts";
import { followProgress } from "./follow-progress.ts";
import { openMemoryForAgent } from "./agent-memory.ts";
import type { EndedWorktree, OpenWorktree } from "./agent-worktrees.ts";
import {
  askable,
  openAgentParts,
  type OpenedSubAgent,
  type ParentConversation,
  type PickedModel,
  type Refused,
  startContext,
  subAgentDeps,
  type SubAgentShared,
} from "./sub-agent.ts";

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
  const release = async (): Promise<EndedWorktree | undefined> => {
    await parts.close().catch(() => undefined);
    return await place?.finish();
  };
  try {
    const input = { spec, parent, definition, agent: parts.agent, place, cwd, model, picked, release };
    const opened = await assembleFresh(shared, input);
    if (opened.kind === "refused") await release();
    return opened;
  } catch (error) {
    await release();
    throw error;
  }
}

interface FreshInput {
  readonly spec: AgentSpec;
  readonly parent: ParentConversation;
  readonly definition: AgentDefinition;
  readonly agent: AgentParts;
  readonly place: OpenWorktree | undefined;
  readonly cwd: string;
  readonly model: string;
  readonly picked: PickedModel;
  /** Closes its transcript and ends its worktree. */
  readonly release: () => Promise<EndedWorktree | undefined>;
}

async function assembleFresh(
  shared: SubAgentShared,
  { spec, parent, definition, agent, place, cwd, model, picked, release }: FreshInput,
): Promise<OpenedSubAgent | Refused> {
  const narrowed = memoizeByInput(parent.choice, (now) => narrowChoice(now, definition));
  const { choice, allowRules } = grantsFor({ choice: narrowed, parent, place });
  const memory = await openAgentsMemory(shared, { agent, definition, model });
  const limits = [...parent.limits, definition];
  const box = await createFreshBox(shared, { spec, agent, choice, allowRules, limits, cwd, memory });
  const own = { model, cwd, tools: box.tools, memory: memory.piece, prompt: definition.prompt };
  const prefix: PrefixInput = { ...parent.prefix, ...own };
  const opened = await openPrefix(agent, { input: prefix, box, picked, memory });
  if (opened.kind === "failed") return { kind: "refused", message: opened.message };
  const { instructions, fixedPart, answers } = opened;
  const deps = subAgentDeps(shared, {
    spec,
    agent,
    box,
    allowRules,
    cwd,
    model,
    picked,
    instructions,
    memory,
    startedOn: opened.prefix.startedOn,
    declared: answers.declaredSizes,
  });
  const context = startContext(shared, { spec, agent, deps, box, prefix, instructions, ...fixedPart });
  const progress = followProgress(context, spec, shared.settings.current().settings.models.value);
  let notes = place && worktreeNotes(place);
  return {
    kind: "open",
    parent: {
      context,
      box,
      choice,
      allowRules,
      prefix,
      picked,
      limits,
      root: agent.root,
      store: agent.deps,
      asking: askable(spec, parent),
    },
    conversation: {
      model,
      worktree: place && toWorktree(place),
      transcriptPath: agent.deps.transcripts.linkTo?.(agent.session.id),
      turn: ({ text, signal, roundsMax }) => {
        // It is told once what its worktree lacks.
        const task = text === undefined ? undefined : [text, ...(notes ?? [])].join("\n");
        if (text !== undefined) notes = undefined;
        return progress.during(runTurn(context, { text: task, signal, roundsMax, queue: [] }));
      },
      close: async () => {
        await progress.stop();
        return { worktree: await release() };
      },
    },
  };
}

/** What is granted to an agent in a worktree does not count for its parent, whose paths are others. */
function grantsFor({
  choice,
  parent,
  place,
}: {
  readonly choice: () => PermissionChoice;
  readonly parent: ParentConversation;
  readonly place: OpenWorktree | undefined;
}): Pick<ParentConversation, "choice" | "allowRules"> {
  if (place === undefined) return { choice, allowRules: parent.allowRules };
  const own = openAgentAllowRules(choice);
  return { choice: own.choice, allowRules: own };
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

const worktreeNotes = ({ path, branch, notes }: OpenWorktree): readonly string[] => [
  "",
  `You work in a git worktree of your own at ${path}, on the branch ${branch}: change files only there.`,
  ...notes,
];

const toWorktree = ({ path, branch }: OpenWorktree): AgentWorktree => ({ path, branch, state: "in-use" });

interface FreshBoxInput {
  readonly spec: AgentSpec;
  readonly agent: AgentParts;
  readonly choice: () => PermissionChoice;
  readonly allowRules: AllowRuleDep;
  readonly limits: readonly AgentDefinition[];
  readonly cwd: string;
  readonly memory: SessionMemory;
}

/** The tools that its type and those above it have, with a state of their own. */
async function createFreshBox(
  { parts, settings, shell, background, types }: SubAgentShared,
  { spec, agent, choice, allowRules, limits, cwd, memory }: FreshBoxInput,
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
