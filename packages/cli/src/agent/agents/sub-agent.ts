import type { MessagePlace } from "palimpsest/internal/cache/breakpoint";
import type { WrittenPlaces } from "palimpsest/internal/cache/written-places";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { pastCosts } from "palimpsest/internal/context/past-costs";
import { SessionContext } from "palimpsest/internal/context/session-context";
import { type AgentDefinition } from "palimpsest/internal/layers/7-agents/agent-definition";
import type { AgentConversation, AgentSpec } from "palimpsest/internal/ports/agent-host";
import type { Hooks } from "palimpsest/internal/ports/hooks";
import type { AllowRuleDep, ReadFiles } from "palimpsest/internal/ports/tool";
import type { PermissionPrompt } from "palimpsest/internal/ports/user-port";
import { sessionId } from "palimpsest/internal/schema/brand";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import { restoreMissingState } from "palimpsest/internal/session/append-boundary";
import { openSession } from "palimpsest/internal/session/session";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { Shell } from "../../tool/shell/bash-tool.ts";
import type { AgentParts } from "../agent-options.ts";
import { agentCompactionSetup } from "../agent-compaction-setup.ts";
import { createAgentDeps } from "../create-agent-deps.ts";
import type { FollowedSettings } from "../follow-settings.ts";
import { type SessionMemory } from "../memory/session-memory.ts";
import { type PickModelOutcome } from "../model/model-choice.ts";
import { SessionInstructions } from "../session/session-instructions.ts";
import { type PrefixInput } from "../system-prompt/render-prefix.ts";
import { endOrphanedCommands, type JobsAndServers } from "../tools/jobs-and-servers.ts";
import { type PermissionChoice } from "../tools/permission-choice.ts";
import { type Toolbox } from "../tools/toolbox.ts";
import type { AgentToolDeps } from "../../tool/agent-tool.ts";
import type { AgentWorktrees } from "./agent-worktrees.ts";

/** A conversation that agents are started from: the main one, or an agent's own. */
export interface ParentConversation {
  readonly context: SessionContext;
  readonly box: Toolbox;
  /** What it may do now. */
  readonly choice: () => PermissionChoice;
  /** Where rules go that the user grants to it. */
  readonly allowRules: AllowRuleDep;
  readonly prefix: PrefixInput;
  readonly picked: PickedModel;
  /** Its own type and those of the agents above it: what it starts has the tools that all of them have. */
  readonly limits: readonly AgentDefinition[];
  /** The folder that it may change: the project's, or a worktree. */
  readonly root: string;
  /** Where its transcript is. */
  readonly store: Pick<AgentParts["deps"], "transcripts" | "blobs">;
  /** Absent if nobody can be asked for it, and so for none of its agents either. */
  readonly asking: AgentParts["options"]["user"];
}

export type PickedModel = Extract<PickModelOutcome, { kind: "model" }>;

/** What all agents of a session share. */
export interface SubAgentShared {
  /** Of the session. Its user is asked for foreground agents, one question at a time. */
  readonly parts: AgentParts;
  readonly settings: FollowedSettings;
  readonly shell: Shell;
  readonly background: Pick<JobsAndServers, "sandbox" | "temporary" | "servers">;
  readonly hooks: readonly HookSetting[];
  readonly source: PrefixInput["source"];
  readonly types: AgentToolDeps["types"];
  readonly worktrees: Pick<AgentWorktrees, "open">;
}

export interface OpenedSubAgent {
  readonly kind: "open";
  readonly conversation: AgentConversation;
  readonly parent: ParentConversation;
}

export type Refused = { readonly kind: "refused"; readonly message: string };

interface AgentPartsInput {
  readonly spec: AgentSpec;
  readonly parent: Pick<ParentConversation, "asking">;
  readonly cwd: string;
  /** The folder that it may change. */
  readonly root: string;
}

type OpenedParts = { readonly kind: "open"; readonly agent: AgentParts; readonly close: () => Promise<void> } | Refused;

/** Opens the agent's own transcript. It asks the user only in the foreground. */
export async function openAgentParts(
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
    user: user && namedUser(user, { name: spec.name, ruleScope: root === parts.root ? undefined : "agent" }),
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
export const askable = (
  { place }: AgentSpec,
  { asking }: Pick<ParentConversation, "asking">,
): ParentConversation["asking"] => (place === "foreground" ? asking : undefined);

/** The user sees which agent asks. */
const namedUser = (
  user: NonNullable<AgentParts["options"]["user"]>,
  { name, ruleScope }: { readonly name: string } & Pick<PermissionPrompt, "ruleScope">,
): typeof user => ({
  permission: (prompt, signal) =>
    user.permission({ ...prompt, ruleScope, reason: `The agent ${name} asks. ${prompt.reason}` }, signal),
  question: (prompt, signal) => user.question(prompt, signal),
});

interface SubAgentDepsInput {
  readonly spec: AgentSpec;
  readonly agent: AgentParts;
  readonly box: Toolbox;
  readonly allowRules: AllowRuleDep;
  readonly cwd: string;
  readonly model: string;
  readonly picked: PickedModel;
  readonly instructions: SessionInstructions;
  readonly memory: SessionMemory;
  readonly startedOn: string;
  readonly declared: Parameters<typeof createAgentDeps>[1]["declared"];
}

export function subAgentDeps(
  { settings, shell, hooks }: SubAgentShared,
  { spec, agent, picked, ...input }: SubAgentDepsInput,
): AgentDeps {
  const learned = { learnedTokens: undefined, learnedInputTokens: undefined };
  const deps = createAgentDeps(agent, {
    ...input,
    settings,
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

export interface ContextInput extends Pick<
  Parameters<SessionContext["start"]>[0],
  "baseline" | "countedFixed" | "moved"
> {
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

export function startContext(
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
