import { basename, dirname, join } from "node:path";
import type { EngineDeps } from "../host/engine.ts";
import { recordedTodos } from "./recorded-todos.ts";
import { invokedSkills } from "./skills/invoked.ts";
import { SessionSearch } from "palimpsest/internal/session/search-session";
import type { Session } from "palimpsest/internal/session/session";
import { sessionTitle } from "palimpsest/internal/session/session-title";
import { type CompactionAsks, refusingAsks } from "palimpsest/internal/ports/compaction-asks";
import { nobody, type Person } from "palimpsest/internal/ports/person";
import { type Planning, refusingPlanning } from "palimpsest/internal/ports/planning";
import { type Jobs, refusingJobs } from "palimpsest/internal/ports/jobs";
import type { RunningGroups } from "palimpsest/internal/ports/running-groups";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import type { LeaveDep, PermissionDep, ReadFile, Tool } from "palimpsest/internal/ports/tools";
import type { WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { realRoots, resolveReal } from "../tool/confine.ts";
import { discoveredTools } from "../tool/mcp/discovered.ts";
import type { ToolServers } from "../tool/mcp/servers.ts";
import { mayPassFor, mayReadFor, permitFor } from "../tool/permission.ts";
import { parseRules, type Rules } from "../tool/permission/rule.ts";
import type { SessionNetworkDeps } from "../tool/sandbox/network/command-network.ts";
import { namesHost, SessionHosts } from "../tool/sandbox/network/hosts.ts";
import { sessionSandbox } from "../tool/sandbox/session-sandbox.ts";
import type { TemporaryFolder } from "../tool/sandbox/temporary-folder.ts";
import type { Environment } from "../tool/shell/environment.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { findSkills, type SkillPlace } from "../tool/skill/find.ts";
import type { Skills } from "../tool/skill/skill.ts";
import type { Todo } from "../tool/todo.ts";
import { builtinTools, type ToolsetDeps } from "../tool/toolset.ts";
import { filesPart, type FilesPartDeps } from "../tool/working-state/files.ts";
import { placePart } from "../tool/working-state/place.ts";
import { planPart, type PlanState } from "../tool/working-state/plan.ts";
import { skillsPart } from "../tool/working-state/skills.ts";
import { todosPart } from "../tool/working-state/todos.ts";
import { toolServersPart } from "../tool/working-state/tool-servers.ts";
import type { Web } from "../tool/web/fetch.ts";
import { ancestorsOf } from "./ancestors.ts";
import { recalled } from "./recalled.ts";
import { type ToolChoice, whileSame } from "./tool-choice.ts";

export interface ToolboxInput {
  /** Asked for at each call, so that a rule counts from when it is written; the same object while nothing has changed. */
  readonly choice: () => ToolChoice;
  readonly deps: EngineDeps;
  readonly session: Session;
  readonly roots: readonly string[];
  readonly home: string;
  readonly env: Environment;
  readonly shell: Shell;
  /** Absent in a store without files. */
  readonly groups?: RunningGroups | undefined;
  /** Holds the commands. Absent: they run as this process does. */
  readonly sandbox?: SandboxInput | undefined;
  /** Files and folders that hold settings, as they are named: no rule is a leave to change them. */
  readonly guarded?: readonly string[];
  /** Absent where the agent can't ask for compaction. */
  readonly compactionAsks?: CompactionAsks | undefined;
  /** None, or absent: the agent has no tool for skills. */
  readonly skillPlaces?: readonly SkillPlace[];
  /** Absent where nobody can look at a plan. */
  readonly planning?: Planning | undefined;
  readonly planState?: () => PlanState;
  /** Absent where nothing may run in the background. */
  readonly jobs?: Jobs | undefined;
  /** Absent where none may be started. */
  readonly servers?: ToolServers | undefined;
  /** Absent where the net is not to be reached. */
  readonly web?: Web | undefined;
  /** Absent where there is nobody to ask. */
  readonly person?: Person | undefined;
  /** Keeps what the user allows for good. Absent: nothing is kept. */
  readonly leaves?: LeaveDep | undefined;
}

export interface SandboxInput {
  readonly use: () => SandboxUse;
  /** Of this engine. */
  readonly ownHome: string;
  readonly temporary: TemporaryFolder;
}

/** Tools with the state that their calls change. */
export interface Toolset {
  readonly tools: readonly Tool[];
  /** Where the shell stands, if it went elsewhere. */
  readonly cwd: () => string | undefined;
  /** A fork's own: the same definitions, and a copy of the state. */
  readonly forked: () => Toolset;
}

export interface Toolbox extends PermissionDep, Toolset {
  /** What the tools know and a summary would not: files, task list, place. As they are when a part is asked, not now. */
  readonly workingState: (input: WorkingStateInput) => readonly WorkingStatePart[];
  readonly todos: () => readonly Todo[];
  /** How programs in the sandbox reach hosts. Absent: they reach none. */
  readonly network: SessionNetworkDeps | undefined;
  /** By the rules in force now. */
  readonly mayRead: (path: string) => boolean;
  /** Absent where there is no tool for them. */
  readonly skills: Skills | undefined;
  /** What the tools keep is as the session has it now: another branch, or an edit taken back, may tell it otherwise. */
  readonly readAgain: () => Promise<void>;
}

export interface WorkingStateInput extends Omit<FilesPartDeps, "mayRead"> {
  /** Where the agent stands as long as its shell went nowhere else. */
  readonly cwd: string;
}

/** The built-in tools of one session, with what they may do. */
export async function toolbox({
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
  const { skillPlaces = [], planState } = input;
  const readRoots = [...(await namedPlaces(deps, session)), ...(await realRoots(ownFolders(skillPlaces)))];
  const places = { roots, home, readRoots };
  const guardedNow = () => realPaths(input.guarded ?? []);
  const sandboxNow = () => (input.sandbox?.use().kind === "held" ? "on" : "off");
  const policy = whileSame(choice, (now) => policyOf(now, { ...places, guardedNow, sandboxNow }));
  const searching = new SessionSearch(deps, session.id);
  const fixed: Stateless = {
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
    expand: (id) => recalled({ deps, session, id }),
    search: (options) => searching.search(options),
    web: input.web,
    servers: input.servers,
  };
  const skills = skillPlaces.length === 0 ? undefined : { find: () => findSkills(skillPlaces), mayRead: fixed.mayRead };
  const state: ToolState = {
    standing: { cwd: undefined },
    todos: { list: await recordedTodos(deps, session.fold) },
    compactionAsks: input.compactionAsks,
    planning: input.planning,
    jobs: input.jobs,
    person: input.person,
    network: networkFor(input, policy),
  };
  return {
    ...toolset({ ...fixed, skills }, state),
    network: state.network,
    todos: () => state.todos.list,
    mayRead: fixed.mayRead,
    skills,
    permit: (request) => policy().permit(request),
    readAgain: async () => {
      state.todos.list = await recordedTodos(deps, session.fold);
    },
    workingState: ({ cwd, ...files }) => [
      filesPart({ ...files, mayRead: fixed.mayRead }),
      todosPart(state),
      placePart({ cwd: () => state.standing.cwd ?? cwd, title: () => sessionTitle(session)?.text }),
      ...(skills === undefined ? [] : [skillsPart({ skills, invoked: () => invokedSkills(session.fold) })]),
      ...(planState === undefined ? [] : [planPart({ planState })]),
      ...(input.servers === undefined
        ? []
        : [toolServersPart({ servers: input.servers, discovered: () => discoveredTools(session.fold) })]),
    ],
  };
}

/** What the rules and the mode of a choice say. */
function policyOf({ mode, ...written }: ToolChoice, places: Omit<Parameters<typeof permitFor>[0], "mode" | "rules">) {
  const { rules } = parseRules(written);
  return {
    rules,
    mayRead: mayReadFor({ rules, ...places }),
    mayPass: mayPassFor(rules),
    permit: permitFor({ mode, rules, ...places }),
  };
}

interface NetworkPolicy extends PermissionDep {
  readonly rules: Rules;
}

/** Hosts are decided by the rules in force when a command connects. */
function networkFor(
  { web, person = nobody, leaves = keepsNothing }: Pick<ToolboxInput, "web" | "person" | "leaves">,
  policy: () => NetworkPolicy,
): SessionNetworkDeps | undefined {
  const permit: PermissionDep["permit"] = (request) => policy().permit(request);
  const isNamed = (host: string): boolean => namesHost(policy().rules, host);
  return web && { net: web.net, hosts: new SessionHosts({ ...leaves, permit, isNamed, person }) };
}

const keepsNothing: LeaveDep = { allowAlways: async () => ({ kind: "wrong", why: "nothing is kept here" }) };

/** A person's own skills lie outside of the project, and name files beside them. */
const ownFolders = (places: readonly SkillPlace[]): readonly string[] =>
  places.flatMap(({ folder, within }) => (within === undefined ? [folder] : []));

/** Both where a path leads and where it stands: a link may be replaced as well as followed. */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const [itself, folder] = [await resolveReal(path, "/"), await resolveReal(dirname(path), "/")];
      return [
        ...(itself.kind === "real" ? [itself.path] : []),
        ...(folder.kind === "real" ? [join(folder.path, basename(path))] : []),
      ];
    }),
  );
  return [...new Set(found.flat())];
}

/**
 * Previews and notes that were cut name files here for the model to read: the session's own, and those it was forked
 * from. The first of them makes the folder. Nowhere in a store without files.
 */
async function namedPlaces(deps: EngineDeps, session: Session): Promise<readonly string[]> {
  const ids = [session.id, ...(await ancestorsOf(deps, session))];
  return (await Promise.all(ids.map((id) => namedPlacesOf(deps, id)))).flat();
}

/** None where a link leads from it to somewhere else. */
async function namedPlacesOf({ readablePlacesFor }: SessionFiles, id: SessionId): Promise<readonly string[]> {
  if (readablePlacesFor === undefined) return [];
  const { folder, paths } = readablePlacesFor(id);
  const store = await resolveReal(folder, "/");
  if (store.kind !== "real") return [];
  const places = await Promise.all(
    paths.map(async (path) => {
      const place = await resolveReal(join(folder, path), "/");
      return place.kind === "real" && place.path === join(store.path, path) ? [place.path] : [];
    }),
  );
  return places.flat();
}

type ToolState = Pick<
  ToolsetDeps,
  "standing" | "todos" | "compactionAsks" | "planning" | "person" | "jobs" | "network"
>;
type Stateless = Omit<ToolsetDeps, keyof ToolState>;

const toolset = (
  fixed: Stateless,
  { standing, todos, compactionAsks, planning, person, jobs, network }: ToolState,
): Toolset => ({
  tools: builtinTools({ ...fixed, standing, todos, compactionAsks, planning, person, jobs, network }),
  cwd: () => standing.cwd,
  forked: () =>
    toolset(fixed, {
      standing: { ...standing },
      todos: { ...todos },
      compactionAsks: compactionAsks && refusingAsks,
      planning: planning && refusingPlanning,
      jobs: jobs && refusingJobs,
      person: person && nobody,
      network: network && { ...network, hosts: network.hosts.withoutUser() },
    }),
});

/** As it was given: not offloaded, cleared or covered by a boundary. */
const isShownWhole = ({ fold: { messages, projection } }: Session, shownBy: ReadFile["shownBy"]): boolean =>
  projection.items.some(({ entry }) => entry === shownBy) ||
  messages.some(({ content }) =>
    content.some(
      (block) =>
        block.type === "tool_result" && block.tool_use_id === shownBy && !projection.decisions.has(block.tool_use_id),
    ),
  );
