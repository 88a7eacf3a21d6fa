import { homedir } from "node:os";
import type { FollowedSettings } from "../follow-settings.ts";
import {
  type CompactionRequests,
  type AgentCompactionRequest,
  compactToolName,
} from "palimpsest/internal/ports/compaction-requests";
import type { RunningGroups } from "palimpsest/internal/ports/session-files";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { resolveForModel } from "palimpsest/internal/settings/resolved-settings";
import { pathsToGuard } from "../../settings/scope-files.ts";
import type { Shell } from "../../tool/shell/bash-tool.ts";
import type { AgentToolDeps } from "../../tool/agent-tool.ts";
import { PageCache } from "../../tool/web/get-page.ts";
import type { AgentParts } from "../agent-options.ts";
import type { AgentMail } from "../../team/agent-mail.ts";
import { createTeamTools, describePlace } from "../session/open-agent-mail.ts";
import type { SessionMemory } from "../memory/session-memory.ts";
import { type SessionAllowRules, openSessionAllowRules } from "./session-allow-rules.ts";
import type { JobsAndServers } from "./jobs-and-servers.ts";
import { createProjectRecall } from "../../host/project-recall.ts";
import { type Toolbox, createToolbox } from "./toolbox.ts";
import { announceFirst, openSkillsAndPlan, type SkillsAndPlan } from "../session/skills-and-plan.ts";
import type { PermissionChoice } from "./permission-choice.ts";
import { type Jobs, foregroundOnlyJobs } from "palimpsest/internal/ports/jobs";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import { type PlanMode, unattendedPlanMode } from "palimpsest/internal/ports/plan-mode";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";

export interface EquipInput {
  readonly settings: FollowedSettings;
  /** From flags and settings; the same object while nothing has changed. */
  readonly choice: () => PermissionChoice;
  readonly model: string;
  readonly cwd: string;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  readonly background: JobsAndServers;
  readonly toolsKnown: ReadonlySet<string>;
  readonly memory: SessionMemory;
  /** Absent if the session can have no agents. */
  readonly agents: AgentToolDeps | undefined;
  readonly mail: AgentMail | undefined;
}

/** Creates the session's tools and the place where its agent asks for compaction. */
export async function equipSession(parts: AgentParts, input: EquipInput): Promise<SessionEquipment> {
  const { workspace, options, deps, root, session } = parts;
  const { settings, model, cwd, shell, groups } = input;
  const isOn = () => resolveForModel(settings.current().settings, { model }).switches["compact.agent"].value;
  const compactionRequests = await openCompactionRequests(deps, { session, model, isOn });
  const skillsAndPlan = await openSkillsAndPlan(parts, input.choice);
  const { skillPlaces, planning, mode } = skillsAndPlan;
  const allowRules = openSessionAllowRules({
    workspace,
    flags: options.flags,
    choice: skillsAndPlan.choice,
    inSettings: () => settings.current().settings["permissions.allow"].value,
  });
  const box = await createToolbox({
    choice: allowRules.choice,
    deps,
    session,
    env: options.env,
    shell,
    groups,
    roots: [root, cwd],
    home: homedir(),
    sandbox: { use: input.background.sandbox, ownHome: workspace.home, temporary: input.background.temporary },
    guarded: pathsToGuard(workspace.home, settings.current().files),
    recall: createProjectRecall({
      locate: async () => {
        const project = await workspace.project();
        return project.kind === "located" ? project : undefined;
      },
      home: workspace.home,
      env: options.env,
    }),
    compactionRequests: compactionRequests,
    memory: input.memory.tool,
    agents: input.agents,
    skillPlaces,
    planState: () => mode.state(),
    ...keepKnownTools({ user: options.user, planning, jobs: input.background.jobs }, input.toolsKnown),
    teamwork: createTeamTools(parts, { mail: input.mail, known: input.toolsKnown, choice: allowRules.choice }),
    teamText: input.mail?.membership && describePlace(input.mail.membership),
    servers: input.background.servers,
    allowRules,
    web: options.net && { net: options.net, pages: new PageCache() },
  });
  input.background.reachThrough(box.network);
  const unannounced = { session, mode, skills: box.skills, cwd };
  return {
    box,
    compactionRequests: compactionRequests,
    skillsAndPlan,
    announceFirst: (turn) => announceFirst(unannounced, turn),
    allowRules,
  };
}

interface SessionEquipment {
  readonly box: Toolbox;
  readonly compactionRequests: CompactionRequests | undefined;
  readonly skillsAndPlan: SkillsAndPlan;
  /** Precedes a turn with what the model does not know yet. */
  readonly announceFirst: (turn: AsyncIterable<LoopEvent>) => AsyncGenerator<LoopEvent>;
  readonly allowRules: SessionAllowRules;
}

/** What optional tools are built on: each is absent if the agent has no such tool. */
interface OptionalToolDeps {
  readonly user: UserPort | undefined;
  readonly planning: PlanMode | undefined;
  readonly jobs: Jobs | undefined;
}

/**
 * A session keeps every tool that it has had, also when it runs without a user or is only compacted; a stand-in then
 * refuses the calls. Announcing that tools are gone, and that they are back with their definitions, would cost more
 * each time than a refused call.
 */
const keepKnownTools = ({ user, planning, jobs }: OptionalToolDeps, known: ReadonlySet<string>): OptionalToolDeps => ({
  user: user ?? (known.has("ask_user") ? noUser : undefined),
  planning: planning ?? (known.has("plan") ? unattendedPlanMode : undefined),
  jobs: jobs ?? (known.has("bash_output") ? foregroundOnlyJobs : undefined),
});

interface CompactionRequestsInput {
  readonly session: Session;
  /** The name used in requests. */
  readonly model: string;
  /** Whether the switch is on now. */
  readonly isOn: () => boolean;
}

/**
 * Lets the agent request a compaction; undefined if it can't. The tool's definition is part of the cached prefix, so a
 * session that began without the tool continues without it.
 */
export async function openCompactionRequests(
  deps: BlobsDep,
  { session, model, isOn }: CompactionRequestsInput,
): Promise<CompactionRequests | undefined> {
  if (!isOn()) return undefined;
  const sent = await readFrozenParts(deps, readFrozenState(session.fold)?.byModel[model]?.sent);
  const isDefined = sent === undefined || sent.tools.some(({ name }) => name === compactToolName);
  return isDefined ? createCompactionRequests(isOn) : undefined;
}

/** If the switch is turned off while a session runs, the tool stays defined, so that no byte changes, and refuses. */
export function createCompactionRequests(isOn: () => boolean): CompactionRequests {
  let pending: AgentCompactionRequest | undefined;
  return {
    request: (note) => {
      if (!isOn()) return { kind: "refused", why: "Asking for compaction has been turned off." };
      pending = { note };
      return { kind: "taken" };
    },
    take: () => {
      const taken = isOn() ? pending : undefined;
      pending = undefined;
      return taken;
    },
  };
}
