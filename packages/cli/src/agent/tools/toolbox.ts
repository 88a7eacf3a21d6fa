import { basename, dirname, join } from "node:path";
import type { ProjectStore } from "../../host/project-store.ts";
import { readTodosFromLog } from "../session/read-todos-from-log.ts";
import { findInvokedSkills } from "../session/announce-skills.ts";
import { createMask, type ProjectRecall } from "../../host/project-recall.ts";
import { SessionSearch } from "palimpsest/internal/session/search-session";
import type { Session } from "palimpsest/internal/session/session";
import { sessionTitle } from "palimpsest/internal/session/session-title";
import { type CompactionRequests, refusedCompactionRequests } from "palimpsest/internal/ports/compaction-requests";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import { type PlanMode, forkPlanMode } from "palimpsest/internal/ports/plan-mode";
import { type Jobs, forkJobs } from "palimpsest/internal/ports/jobs";
import type { RunningGroups, SessionFiles } from "palimpsest/internal/ports/session-files";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { AllowRuleDep, PermissionDep, ReadFile, Tool } from "palimpsest/internal/ports/tool";
import type { WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { type Agents, forkAgents } from "palimpsest/internal/ports/agents";
import { agentId, type SessionId } from "palimpsest/internal/schema/brand";
import { realRoots, resolveRealPath } from "../../tool/resolve-real-path.ts";
import { findDiscoveredTools } from "../../tool/mcp/known-server.ts";
import { type ToolServers, toolServersPart } from "../../tool/mcp/tool-servers.ts";
import { createMayPass, createMayRead, createPermit } from "../../tool/permission/create-permit.ts";
import { parseRules, type Rules } from "../../tool/permission/rule.ts";
import type { SessionNetworkDeps } from "../../tool/sandbox/network/command-network.ts";
import { isHostNamed, SessionHosts } from "../../tool/sandbox/network/session-hosts.ts";
import { sessionSandbox } from "../../tool/sandbox/session-sandbox.ts";
import type { TemporaryFolder } from "../../tool/sandbox/temporary-folder.ts";
import type { Environment } from "../../tool/shell/shell-environment.ts";
import type { Shell } from "../../tool/shell/bash-tool.ts";
import { findSkills, type SkillLocation } from "../../tool/skill/find-skills.ts";
import { type Skills, skillsPart } from "../../tool/skill/skill-tool.ts";
import { type Todo, todosPart } from "../../tool/todo-tool.ts";
import { builtinTools, type ToolsetDeps } from "../../tool/builtin-tools.ts";
import { filesPart, type FilesPartDeps } from "../../tool/working-state/files-part.ts";
import { agentsPart } from "../../tool/working-state/agents-part.ts";
import { placePart } from "../../tool/working-state/place-part.ts";
import { forkMessages } from "../../tool/send-message-tool.ts";
import { forkTasksText, refuseTasks } from "../../tool/task-tool.ts";
import { forkTeam, teamPart } from "../../tool/team-tool.ts";
import { forkRefusal, type MemoryToolDeps, refuseMemory } from "../../tool/memory-tool.ts";
import type { AgentToolDeps } from "../../tool/agent-tool.ts";
import { planPart, type PlanState } from "../../tool/plan-tool.ts";
import type { Web } from "../../tool/web/web-fetch-tool.ts";
import { findAncestors } from "../session/copy-session.ts";
import { recallById } from "./recall-by-id.ts";
import { type PermissionChoice, memoizeByInput } from "./permission-choice.ts";

interface ToolboxInput {
  /**
   * Called at each tool call, so that a rule counts as soon as it is written; the same object while nothing has
   * changed.
   */
  readonly choice: () => PermissionChoice;
  readonly deps: ProjectStore;
  readonly session: Session;
  readonly roots: readonly string[];
  readonly home: string;
  readonly env: Environment;
  readonly shell: Shell;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
  /** Confines the commands. Absent: they run as this process does. */
  readonly sandbox?: SandboxInput | undefined;
  /** Files and folders that hold settings, by their given names: no rule allows changing them. */
  readonly guarded?: readonly string[];
  /** Searches the whole project. Absent: only this session can be searched. */
  readonly recall?: ProjectRecall | undefined;
  /** Absent if the agent can't ask for compaction. */
  readonly compactionRequests?: CompactionRequests | undefined;
  /** Absent if the agent has no memory. */
  readonly memory?: SessionMemoryTool | undefined;
  /** Empty or absent: the agent has no tool for skills. */
  readonly skillPlaces?: readonly SkillLocation[];
  /** Absent if the user can't review plans. */
  readonly planning?: PlanMode | undefined;
  readonly planState?: () => PlanState;
  /** Absent if nothing may run in the background. */
  readonly jobs?: Jobs | undefined;
  /** Absent if none may be started. */
  readonly servers?: ToolServers | undefined;
  /** Absent if the network must not be reached. */
  readonly web?: Web | undefined;
  /** Absent if no agent may be started. */
  readonly agents?: AgentToolDeps | undefined;
  /** Absent if there is no user to ask. */
  readonly user?: UserPort | undefined;
  /** Keeps what the user allows for good. Absent: nothing is kept. */
  readonly allowRules?: AllowRuleDep | undefined;
  /** Each is absent if the agent has no such tool. */
  readonly teamwork?: TeamTools | undefined;
  /** What the model is told of the session's place in a team. Absent: it is in none. */
  readonly teamText?: string | undefined;
}

/** The tools for other agents. */
export type TeamTools = Pick<ToolsetDeps, "messages" | "teamTasks" | "team">;

interface SessionMemoryTool extends MemoryToolDeps {
  /** Folders that no other tool may write. They need not exist yet. */
  readonly closed: readonly string[];
}

interface SandboxInput {
  readonly use: () => SandboxUse;
  /** The home folder of this engine. */
  readonly ownHome: string;
  readonly temporary: TemporaryFolder;
}

/** Tools with the state that their calls change. */
interface Toolset {
  readonly tools: readonly Tool[];
  /** The shell's directory, if it has changed. */
  readonly cwd: () => string | undefined;
  readonly todos: () => readonly Todo[];
  /**
   * What the tools know and a summary would not: files, task list, place. Read when a part is asked for, not before.
   */
  readonly workingState: (input: WorkingStateInput) => readonly WorkingStatePart[];
  /** For a fork: the same definitions and a copy of the state. Absent changes: it starts no agents. */
  readonly forked: (changes?: ForkChanges) => Toolset;
}

/** What a fork with a transcript of its own does differently. */
interface ForkChanges {
  readonly agents: Agents;
  /** Finds what an id stands for. */
  readonly expand: StatelessDeps["expand"];
}

export interface Toolbox extends PermissionDep, Toolset {
  /** How programs in the sandbox reach hosts. Absent: they reach none. */
  readonly network: SessionNetworkDeps | undefined;
  /** By the current rules. */
  readonly mayRead: (path: string) => boolean;
  /** Absent if there is no tool for them. */
  readonly skills: Skills | undefined;
  /** Reloads the tools' state from the session, after a change of branch or an undo. */
  readonly readAgain: () => Promise<void>;
}

interface WorkingStateInput extends Omit<FilesPartDeps, "mayRead"> {
  /** The agent's directory until its shell changes it. */
  readonly cwd: string;
}

/** The built-in tools of one session, with their permissions. */
export async function createToolbox({
  choice,
  deps,
  session,
  home,
  env,
  shell,
  groups,
  ...input
}: ToolboxInput): Promise<Toolbox> {
  const roots = await realRoots(input.roots);
  const { skillPlaces = [], recall } = input;
  const readRoots = [...(await readablePlaces(deps, session)), ...(await realRoots(userSkillFolders(skillPlaces)))];
  const places = { roots, home, readRoots, ...(await findClosedPlaces(input)) };
  const guardedNow = () => realPaths(input.guarded ?? []);
  const sandboxNow = () => (input.sandbox?.use().kind === "held" ? "on" : "off");
  const policy = memoizeByInput(choice, (now) => createPolicy(now, { ...places, guardedNow, sandboxNow }));
  const search = new SessionSearch(deps, { session: session.id, maskText: createMask() });
  const fixed: StatelessDeps = {
    isShown: (shownBy) => isShownWhole(session, shownBy),
    mayRead: (path) => policy().mayRead(path),
    mayPass: (name, value) => policy().mayPass(name, value),
    ...places,
    env,
    shell,
    groups,
    sandbox:
      input.sandbox &&
      sessionSandbox({ ...input.sandbox, ...places, guarded: input.guarded ?? [], env, rules: () => policy().rules }),
    expand: expandId({ deps, session, recall, agents: input.agents?.agents }),
    search: (options) => search.search(options),
    searchProject: recall && ((options) => recall.search(options)),
    web: input.web,
    servers: input.servers,
  };
  const skills = skillPlaces.length === 0 ? undefined : { find: () => findSkills(skillPlaces), mayRead: fixed.mayRead };
  const state: ToolState = {
    shellState: { cwd: undefined },
    todos: { list: await readTodosFromLog(deps, session.fold) },
    memory: input.memory,
    compactionRequests: input.compactionRequests,
    planning: input.planning,
    jobs: input.jobs,
    user: input.user,
    network: createNetwork(input, policy),
    agents: input.agents,
    teamwork: input.teamwork ?? {},
  };
  const partsOf = describeState({ ...input, session, skills, mayRead: fixed.mayRead });
  return {
    ...createToolset({ ...fixed, skills }, { state, partsOf }),
    network: state.network,
    mayRead: fixed.mayRead,
    skills,
    permit: (request) => policy().permit(request),
    readAgain: async () => {
      state.todos.list = await readTodosFromLog(deps, session.fold);
    },
  };
}

interface DescribedState extends Pick<ToolboxInput, "session" | "planState" | "teamText" | "servers"> {
  readonly skills: Skills | undefined;
  readonly mayRead: (path: string) => boolean;
}

const describeState =
  ({ session, skills, mayRead, planState, teamText, servers }: DescribedState): PartsOf =>
  ({ todos, shellState, agents }) =>
  ({ cwd, ...files }) => [
    filesPart({ ...files, mayRead }),
    todosPart({ todos }),
    placePart({ cwd: () => shellState.cwd ?? cwd, title: () => sessionTitle(session)?.text }),
    ...(skills === undefined ? [] : [skillsPart({ skills, invoked: () => findInvokedSkills(session.fold) })]),
    ...(planState === undefined ? [] : [planPart({ planState })]),
    ...(teamText === undefined ? [] : [teamPart(teamText)]),
    ...(agents === undefined ? [] : [agentsPart(agents)]),
    ...(servers === undefined
      ? []
      : [toolServersPart({ servers, discovered: () => findDiscoveredTools(session.fold) })]),
  ];

interface ExpandInput {
  readonly deps: Parameters<typeof recallById>[0]["deps"];
  readonly session: Parameters<typeof recallById>[0]["session"];
  readonly recall: ProjectRecall | undefined;
  /** The id of an agent stands for its whole report. */
  readonly agents: Pick<Agents, "report"> | undefined;
}

export const expandId =
  ({ deps, session, recall, agents }: ExpandInput): StatelessDeps["expand"] =>
  async (id) => {
    const report = /^agent-[\da-f]+$/.test(id) ? await agents?.report(agentId(id)) : undefined;
    return report === undefined
      ? await recallById({ deps, session, id, recall })
      : { kind: "found", text: report, media: [] };
  };

/** What the rules and the mode of a choice say. */
function createPolicy(
  { mode, memory, ...ruleTexts }: PermissionChoice,
  places: Omit<Parameters<typeof createPermit>[0], "mode" | "rules" | "memory">,
) {
  const { rules } = parseRules(ruleTexts);
  return {
    rules,
    mayRead: createMayRead({ rules, ...places }),
    mayPass: createMayPass(rules),
    permit: createPermit({ mode, memory, rules, ...places }),
  };
}

interface NetworkPolicy extends PermissionDep {
  readonly rules: Rules;
}

/** Hosts are decided by the rules that count when a command connects. */
function createNetwork(
  { web, user = noUser, allowRules = noAllowRules }: Pick<ToolboxInput, "web" | "user" | "allowRules">,
  policy: () => NetworkPolicy,
): SessionNetworkDeps | undefined {
  const permit: PermissionDep["permit"] = (request) => policy().permit(request);
  const isNamed = (host: string): boolean => isHostNamed(policy().rules, host);
  return web && { net: web.net, hosts: new SessionHosts({ ...allowRules, permit, isNamed, user }) };
}

const noAllowRules: AllowRuleDep = { allowAlways: async () => ({ kind: "wrong", why: "nothing is kept here" }) };

/** The user's own skills are outside of the project, and name files next to them. */
const userSkillFolders = (places: readonly SkillLocation[]): readonly string[] =>
  places.flatMap(({ folder, within }) => (within === undefined ? [folder] : []));

/** Also if this session has no memory: what is written there would pass for the user's in the next one, or in another project. */
const findClosedPlaces = async ({ memory, sandbox }: Pick<ToolboxInput, "memory" | "sandbox">) => ({
  closed: await realPaths(memory?.closed ?? []),
  projects: await realPaths(sandbox === undefined ? [] : [join(sandbox.ownHome, "projects")]),
});

/** Both the target of a path and the path itself: a link may be replaced as well as followed. */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(
    paths.map(async (path) => {
      const [target, folder] = [await resolveRealPath(path, "/"), await resolveRealPath(dirname(path), "/")];
      return [
        ...(target.kind === "real" ? [target.path] : []),
        ...(folder.kind === "real" ? [join(folder.path, basename(path))] : []),
      ];
    }),
  );
  return [...new Set(resolved.flat())];
}

/**
 * Previews and shortened notes name files in these folders for the model to read: the session's own and those of its
 * ancestors. The folder is created by its first file. Empty in a store without files.
 */
async function readablePlaces(deps: ProjectStore, session: Session): Promise<readonly string[]> {
  const ids = [session.id, ...(await findAncestors(deps, session))];
  return (await Promise.all(ids.map((id) => readablePlacesOfSession(deps, id)))).flat();
}

/** Empty if a link in it leads somewhere else. */
async function readablePlacesOfSession({ readablePlacesFor }: SessionFiles, id: SessionId): Promise<readonly string[]> {
  if (readablePlacesFor === undefined) return [];
  const { folder, paths } = readablePlacesFor(id);
  const store = await resolveRealPath(folder, "/");
  if (store.kind !== "real") return [];
  const places = await Promise.all(
    paths.map(async (path) => {
      const place = await resolveRealPath(join(folder, path), "/");
      return place.kind === "real" && place.path === join(store.path, path) ? [place.path] : [];
    }),
  );
  return places.flat();
}

interface ToolState extends Pick<
  ToolsetDeps,
  "shellState" | "todos" | "memory" | "compactionRequests" | "planning" | "user" | "jobs" | "network" | "agents"
> {
  readonly teamwork: TeamTools;
}
type StatelessDeps = Omit<ToolsetDeps, keyof ToolState | keyof TeamTools>;

/** Describes what the tools with this state know. */
type PartsOf = (state: ToolState) => Toolset["workingState"];

const createToolset = (
  fixed: StatelessDeps,
  { state, partsOf }: { readonly state: ToolState; readonly partsOf: PartsOf },
): Toolset => ({
  tools: builtinTools({ ...fixed, ...state, ...state.teamwork }),
  cwd: () => state.shellState.cwd,
  todos: () => state.todos.list,
  workingState: partsOf(state),
  forked: (changes) =>
    createToolset(changes === undefined ? fixed : { ...fixed, expand: changes.expand }, {
      state: forkState(state, changes),
      partsOf,
    }),
});

const forkState = (
  { shellState, todos, memory, compactionRequests, planning, user, jobs, network, agents, teamwork }: ToolState,
  changes: ForkChanges | undefined,
): ToolState => ({
  shellState: { ...shellState },
  todos: { ...todos },
  memory: memory && refuseMemory(forkRefusal),
  compactionRequests: compactionRequests && refusedCompactionRequests,
  planning: planning && forkPlanMode,
  jobs: jobs && forkJobs,
  user: user && noUser,
  network: network && { ...network, hosts: network.hosts.withoutUser() },
  agents: agents && { ...agents, agents: changes?.agents ?? forkAgents },
  teamwork: forkTeamwork(teamwork),
});

/** The same definitions; a fork acts for nobody. */
const forkTeamwork = ({ messages, teamTasks, team }: TeamTools): TeamTools => ({
  messages: messages && forkMessages,
  teamTasks: teamTasks && refuseTasks(forkTasksText, teamTasks.self),
  team: team && forkTeam,
});

/** Whether it is shown as it was: not offloaded, cleared or covered by a boundary. */
const isShownWhole = ({ fold: { messages, projection } }: Session, shownBy: ReadFile["shownBy"]): boolean =>
  projection.items.some(({ entry }) => entry === shownBy) ||
  messages.some(({ content }) =>
    content.some(
      (block) =>
        block.type === "tool_result" && block.tool_use_id === shownBy && !projection.decisions.has(block.tool_use_id),
    ),
  );
