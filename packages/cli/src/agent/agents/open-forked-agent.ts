import { lastPlace } from "palimpsest/internal/cache/fork-breakpoints";
import { makeBaseline, type Baseline } from "palimpsest/internal/cache/baseline";
import { applyFixedPart } from "palimpsest/internal/context/conversation";
import { forkDirective, forkPlaceholder } from "palimpsest/internal/layers/7-agents/agent-texts";
import { runTurn } from "palimpsest/internal/loop/run-turn";
import type { AgentSpec } from "palimpsest/internal/ports/agent-host";
import { forkSession } from "palimpsest/internal/session/fork-session";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import type { AgentParts } from "../agent-options.ts";
import { noMemory } from "../memory/session-memory.ts";
import { SessionInstructions } from "../session/session-instructions.ts";
import { renderPrefix } from "../system-prompt/render-prefix.ts";
import { expandId, type Toolbox } from "../tools/toolbox.ts";
import { followProgress } from "./follow-progress.ts";
import {
  askable,
  type ContextInput,
  openAgentParts,
  type OpenedSubAgent,
  type ParentConversation,
  type Refused,
  startContext,
  subAgentDeps,
  type SubAgentShared,
} from "./sub-agent.ts";

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
  const { prefix } = parent;
  const parts = await openAgentParts(shared, { spec, parent, cwd: prefix.cwd, root: parent.root });
  if (parts.kind === "refused") return parts;
  const { agent, close } = parts;
  const begun = await beginFork({ agent, parent, spec });
  if (begun.kind === "refused") {
    await close();
    return begun;
  }
  const { context, box } = await startFork(shared, { agent, parent, spec, begun });
  const progress = followProgress(context, spec, shared.settings.current().settings.models.value);
  let isFirst = spec.mode === "new";
  return {
    kind: "open",
    parent: { ...parent, context, box, store: agent.deps, asking: askable(spec, parent) },
    conversation: {
      model: prefix.model,
      transcriptPath: agent.deps.transcripts.linkTo?.(agent.session.id),
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

interface ForkInput {
  readonly agent: AgentParts;
  readonly parent: ParentConversation;
  readonly spec: AgentSpec;
}

/** What a fork has of its parent: all of it at its start, its own copy after a resume. */
interface BegunFork {
  readonly kind: "begun";
  readonly baseline: Baseline;
  readonly shared: Pick<ContextInput, "written" | "common" | "files">;
}

async function beginFork({ agent, parent, spec }: ForkInput): Promise<BegunFork | Refused> {
  const { session } = agent;
  const { conversation, session: from } = parent.context;
  if (spec.mode === "resume") {
    const baseline = await readBaseline(agent);
    return baseline === undefined
      ? { kind: "refused", message: "What it began with can't be read." }
      : { kind: "begun", baseline, shared: {} };
  }
  const forked = await forkSession({ from, to: session, placeholder: forkPlaceholder });
  if (forked.kind === "failed") return { kind: "refused", message: forked.message };
  const common = lastPlace(session.fold.messages);
  const { baseline, written, files } = conversation;
  return { kind: "begun", baseline, shared: { written: written.copy(), common, files: files.copy() } };
}

async function startFork(
  shared: SubAgentShared,
  { agent, parent, spec, begun }: ForkInput & { readonly begun: BegunFork },
): Promise<Pick<ParentConversation, "context" | "box">> {
  const { session } = agent;
  const { prefix } = parent;
  const { baseline } = begun;
  const { countedFixed } = parent.context.conversation;
  applyFixedPart(session, { baseline, countedFixed });
  const expand = expandAsFork({ agent, parent, spec });
  const box: Toolbox = { ...parent.box, ...parent.box.forked({ agents: spec.agents, expand }) };
  const render = () => renderPrefix(agent, prefix);
  const opening = await render();
  const files = { deps: agent.deps, source: shared.source, mayRead: box.mayRead };
  const instructions = new SessionInstructions({ ...files, session, render, opening });
  const deps = {
    ...subAgentDeps(shared, {
      spec,
      agent,
      box,
      allowRules: parent.allowRules,
      cwd: prefix.cwd,
      model: prefix.model,
      picked: parent.picked,
      instructions,
      memory: noMemory,
      startedOn: opening.startedOn,
      declared: () => ({}),
    }),
    // What is new outside of the conversation would stand between the siblings' common prefix and their tasks.
    reminders: undefined,
  };
  const start = { baseline, countedFixed, moved: undefined, ...begun.shared };
  return { context: startContext(shared, { spec, agent, deps, box, prefix, instructions, ...start }), box };
}

/** Its own log has only what its parent showed of earlier results: the originals are in the parent's. */
function expandAsFork({ agent, parent, spec }: ForkInput): ReturnType<typeof expandId> {
  const own = expandId({ deps: agent.deps, session: agent.session, recall: undefined, agents: undefined });
  const parents = expandId({
    deps: parent.store,
    session: parent.context.session,
    recall: undefined,
    agents: spec.agents,
  });
  return async (id) => {
    const found = await parents(id);
    return found.kind === "missing" ? await own(id) : found;
  };
}

async function readBaseline({ deps, session }: AgentParts): Promise<Baseline | undefined> {
  const state = readFrozenState(session.fold);
  const parts = state && (await readFrozenParts(deps, state.byModel[state.last]?.sent));
  return parts && makeBaseline(parts);
}
