import type { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import type { HookDeps } from "palimpsest/internal/context/deps";
import { SessionAgents } from "palimpsest/internal/loop/session-agents";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { nanoUsd, sessionId } from "palimpsest/internal/schema/brand";
import type { Draft } from "palimpsest/internal/transcript/draft";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import { formatCount } from "palimpsest/internal/text/format-count";
import { resolveForModel } from "palimpsest/internal/settings/resolved-settings";
import { type AgentToolDeps, agentToolName } from "../../tool/agent-tool.ts";
import type { AgentParts } from "../agent-options.ts";
import { endLeftGroups } from "../tools/jobs-and-servers.ts";
import { agentWorktrees, type EndedWorktree } from "./agent-worktrees.ts";
import { type FoundDefinitions, findDefinitions } from "./find-definitions.ts";
import type { ParentConversation, SubAgentShared } from "./sub-agent.ts";
import { SubAgentHost } from "./sub-agent-host.ts";

interface OpenAgentsInput extends Omit<SubAgentShared, "parts" | "worktrees" | "types"> {
  readonly model: string;
  /** A real path. */
  readonly cwd: string;
  readonly costs: CostLedger;
  /** Called when an agent has ended. Must not throw. */
  readonly onEnded: (run: AgentRun) => void;
}

/** The agents of a session, and what its tools need of them. */
export interface OpenedAgents {
  /** Undefined if the session can have none. */
  readonly agents: Agents | undefined;
  readonly tool: AgentToolDeps | undefined;
  /** As they were when the session was opened. */
  readonly found: FoundDefinitions | undefined;
  /** For the user, when a session begins. */
  readonly warnings: readonly string[];
  /** What was found out since; each is returned once. */
  readonly takeWarnings: () => readonly string[];
  /** For the model: reports of agents that have ended, each once. */
  readonly news: () => readonly Draft[];
  /** To be called once, before the first turn: agents are started from this conversation. */
  readonly begin: (main: BegunConversation) => void;
}

type BegunConversation = Omit<ParentConversation, "limits" | "root" | "store" | "asking"> & HookDeps;

const noAgents: OpenedAgents = {
  agents: undefined,
  tool: undefined,
  found: undefined,
  warnings: [],
  takeWarnings: () => [],
  news: () => [],
  begin: () => undefined,
};

/**
 * The tool's definition is part of the cached prefix, so a session that began
 * without the tool continues without it.
 */
export async function openAgents(parts: AgentParts, input: OpenAgentsInput): Promise<OpenedAgents> {
  const { deps, session, options, root, workspace } = parts;
  const { settings, costs } = input;
  const { switches } = resolveForModel(settings.current().settings, { model: input.model });
  if (!switches.agents.value || deps.agentsOf === undefined || !(await hasTool(parts, input.model))) return noAgents;
  const found = await findDefinitions({
    root,
    home: workspace.home,
    env: options.env,
    trust: settings.current().trust,
  });
  const repository = agentWorktrees({ deps, cwd: input.cwd, env: options.env });
  const late: string[] = [];
  // Git takes its time: no session waits for it.
  const settled = repository.endLeftovers().then((ended) => void late.push(...describeKept(ended)));
  const worktrees: SubAgentShared["worktrees"] = { open: (agent) => settled.then(() => repository.open(agent)) };
  let main: (BegunConversation & ParentConversation) | undefined;
  const begun = () => {
    if (main === undefined) throw new TypeError("agents were asked for before the conversation began");
    return main;
  };
  const { definitions } = found;
  const host = new SubAgentHost({
    ...input,
    parts,
    worktrees,
    definitions,
    types: definitions,
    main: begun,
  });
  const agents = new SessionAgents(
    {
      now: deps.now,
      uuid: deps.uuid,
      wait: (time, signal) => begun().context.deps.wait(time, signal),
      hooks: { fire: (event, signal) => begun().hooks.fire(event, signal) },
      place: () => begun().place(),
      host,
      moneyMax: () => {
        const { value: dollars } = settings.current().settings.agentDollarsMax;
        return dollars === undefined ? undefined : nanoUsd(Math.round(dollars * 1e9));
      },
      onChange: (run) => {
        if (run.state.kind === "ended") input.onEnded(run);
      },
    },
    { session, costs },
  );
  await agents.bookLost();
  const commands = await endCommandsOfLost(parts, agents.main.list());
  return {
    agents: agents.main,
    found,
    tool: { agents: agents.main, types: definitions, places: options.turns === "one" ? "foreground" : "both" },
    warnings: [...problemTexts(found), ...lostTexts(agents.main.list()), ...commands],
    takeWarnings: () => late.splice(0),
    news: () => agents.main.takeNews(),
    begin: (conversation) => {
      main = { ...conversation, limits: [], root, store: deps, asking: options.user };
    },
  };
}

const describeKept = (ended: readonly EndedWorktree[]): readonly string[] =>
  ended.flatMap(({ state, path, why = "it has changes" }) =>
    state === "kept" ? [`An agent's worktree was kept (${why}): ${path}`] : [],
  );

function lostTexts(runs: readonly AgentRun[]): readonly string[] {
  const names = runs.filter(({ state }) => state.kind === "lost").map(({ name }) => name);
  if (names.length === 0) return [];
  const were = names.length === 1 ? "An agent was" : `${formatCount(names.length)} agents were`;
  return [
    `${were} lost when the session ended (${names.join(", ")}): no report came. /agents in the chat shows what was done; a message continues an agent.`,
  ];
}

/** Their transcripts stay closed until somebody sends them a message; their commands must not run until then. */
async function endCommandsOfLost({ deps, session }: AgentParts, runs: readonly AgentRun[]): Promise<readonly string[]> {
  const store = deps.agentsOf?.(session.id);
  const lost = runs.filter(({ state }) => state.kind === "lost");
  const ended = await Promise.all(
    lost.map(async ({ id, name }) => {
      const groups = await endLeftGroups(store?.runningGroupsFor?.(sessionId(id)));
      return groups.length === 0 ? [] : [name];
    }),
  );
  const names = ended.flat().join(", ");
  return names === "" ? [] : [`Commands that agents of an earlier run had left running were ended (${names}).`];
}

const problemTexts = ({ problems }: FoundDefinitions): readonly string[] =>
  problems.flatMap(({ severity, path, what }) => (severity === "notice" ? [] : [`${path}: ${what}`]));

async function hasTool({ deps, session }: AgentParts, model: string): Promise<boolean> {
  const sent = await readFrozenParts(deps, readFrozenState(session.fold)?.byModel[model]?.sent);
  return sent === undefined || sent.tools.some(({ name }) => name === agentToolName);
}
