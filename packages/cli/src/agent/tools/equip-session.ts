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
import { PageCache } from "../../tool/web/page-cache.ts";
import type { AgentOptions, AgentParts } from "../agent-options.ts";
import { type SessionAllowRules, openSessionAllowRules } from "./session-allow-rules.ts";
import type { JobsAndServers } from "./jobs-and-servers.ts";
import { type Toolbox, createToolbox } from "./toolbox.ts";
import { announceFirst, openSkillsAndPlan, type SkillsAndPlan } from "../session/skills-and-plan.ts";
import { narrowOnly, type ToolChoice, resolveToolChoice, memoizeByInput } from "./tool-choice.ts";
import { type Jobs, foregroundOnlyJobs } from "palimpsest/internal/ports/jobs";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import { type PlanMode, unattendedPlanMode } from "palimpsest/internal/ports/plan-mode";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";

interface EquipInput {
  readonly settings: FollowedSettings;
  readonly model: string;
  readonly cwd: string;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  readonly beside: JobsAndServers;
  readonly toolsHad: ReadonlySet<string>;
}

/** Creates the session's tools and the place where its agent asks for compaction. */
export async function equipSession(parts: AgentParts, input: EquipInput): Promise<SessionEquipment> {
  const { engine, options, deps, root, session } = parts;
  const { settings, model, cwd, shell, groups } = input;
  const isOn = () => resolveForModel(settings.current().settings, { model }).switches["compact.agent"].value;
  const asks = await openCompactionRequests(deps, { session, model, isOn });
  const own = await openSkillsAndPlan(parts, followToolChoice(options, settings));
  const { skillPlaces, planning, mode } = own;
  const leaves = openSessionAllowRules({
    engine,
    flags: options.flags,
    choice: own.choice,
    inSettings: () => settings.current().settings["permissions.allow"].value,
  });
  const box = await createToolbox({
    choice: leaves.choice,
    deps,
    session,
    env: options.env,
    shell,
    groups,
    roots: [root, cwd],
    home: homedir(),
    sandbox: { use: input.beside.sandbox, ownHome: engine.home, temporary: input.beside.temporary },
    guarded: pathsToGuard(engine.home, settings.current().files),
    compactionAsks: asks,
    skillPlaces,
    planState: () => mode.state(),
    ...keepKnownTools({ person: options.person, planning, jobs: input.beside.jobs }, input.toolsHad),
    servers: input.beside.servers,
    leaves,
    web: options.net && { net: options.net, pages: new PageCache() },
  });
  input.beside.reachThrough(box.network);
  const telling = { session, mode, skills: box.skills, cwd };
  return { box, asks, skillsAndPlan: own, announceFirst: (turn) => announceFirst(telling, turn), allowRules: leaves };
}

interface SessionEquipment {
  readonly box: Toolbox;
  readonly asks: CompactionRequests | undefined;
  readonly skillsAndPlan: SkillsAndPlan;
  /** Precedes a turn with what the model does not know yet. */
  readonly announceFirst: (turn: AsyncIterable<LoopEvent>) => AsyncGenerator<LoopEvent>;
  readonly allowRules: SessionAllowRules;
}

function followToolChoice({ tools, carriedMode }: AgentOptions, settings: FollowedSettings): () => ToolChoice {
  const wishes = { ...tools, mode: carriedMode ?? tools.mode };
  const current = () => settings.current().settings;
  const narrowed = narrowOnly(resolveToolChoice(wishes, current()));
  return memoizeByInput(current, (now) => narrowed(resolveToolChoice(wishes, now)));
}

/** What optional tools are built on: each is absent if the agent has no such tool. */
interface OptionalToolDeps {
  readonly person: UserPort | undefined;
  readonly planning: PlanMode | undefined;
  readonly jobs: Jobs | undefined;
}

/**
 * A session keeps every tool that it has had, also when it runs without a user or is only compacted; a stand-in then
 * refuses the calls. Announcing that tools are gone, and that they are back with their definitions, would cost more
 * each time than a refused call.
 */
const keepKnownTools = ({ person, planning, jobs }: OptionalToolDeps, had: ReadonlySet<string>): OptionalToolDeps => ({
  person: person ?? (had.has("ask_user") ? noUser : undefined),
  planning: planning ?? (had.has("plan") ? unattendedPlanMode : undefined),
  jobs: jobs ?? (had.has("bash_output") ? foregroundOnlyJobs : undefined),
});

interface CompactionRequestsInput {
  readonly session: Session;
  /** The name used in requests. */
  readonly model: string;
  /** Whether the switch is on now. */
  readonly isOn: () => boolean;
}

/**
 * How a session's agent asks for compaction; undefined if it can't. The tool is one more definition in front of
 * everything, so a session whose requests to the model were sent without it continues without it.
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
  let wish: AgentCompactionRequest | undefined;
  return {
    request: (note) => {
      if (!isOn()) return { kind: "refused", why: "Asking for compaction has been turned off." };
      wish = { note };
      return { kind: "taken" };
    },
    take: () => {
      const taken = isOn() ? wish : undefined;
      wish = undefined;
      return taken;
    },
  };
}
