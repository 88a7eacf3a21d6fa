import { z } from "zod";
import type { AgentDefinition } from "palimpsest/internal/layers/7-agents/agent-definition";
import { forkType } from "palimpsest/internal/layers/7-agents/plan";
import { describeAgentEnd, formatAgentUsage } from "palimpsest/internal/layers/7-agents/format-agent-run";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { defineTool, toolError } from "./define-tool.ts";
import { clipText } from "palimpsest/internal/layers/clip-text";
import { agentDescriptionCharsMax, agentTypeCharsMax, agentTypesShownMax } from "./limits.ts";

export interface AgentToolDeps {
  readonly agents: Agents;
  /** The types that the model is told of: part of the cached prefix, so they stay as they were when the session began. */
  readonly types: readonly Pick<AgentDefinition, "name" | "description">[];
  /** `foreground`: nothing outlasts the turn, so background agents are waited for. */
  readonly places: "both" | "foreground";
}

export const agentToolName = "agent";

const input = z.strictObject({
  type: z.string().trim().min(1).describe("One of the types above."),
  description: z.string().trim().min(1).max(agentDescriptionCharsMax).describe("The task in three to six words."),
  prompt: z
    .string()
    .trim()
    .min(1)
    .describe("The whole task: only a fork knows this conversation. Name paths, facts and what to report."),
  name: z.string().trim().min(1).optional().describe("For messages; by default the type."),
  background: z.boolean().optional().describe("true: don't wait; its report comes by itself."),
  worktree: z.boolean().optional().describe("true: it works in a git worktree of its own."),
  model: z.string().trim().min(1).optional().describe("By default its type's."),
});

/** Adjacent calls run in parallel: forks of one reply share its cached prefix. */
export const agentTool = ({ agents, types, places }: AgentToolDeps): Tool =>
  defineTool({
    name: agentToolName,
    description: describeTool(types),
    input,
    effect: "read",
    offload: "never",
    plan: async ({ type, description, prompt, name, background = false, worktree = false, model }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: worktree ? "worktree" : "agent" }],
      run: async (signal) => {
        const place = background && places === "both" ? "background" : "foreground";
        const request = {
          type,
          description,
          prompt,
          name,
          model,
          place,
          worktree: worktree ? "own" : "shared",
        } as const;
        const started = await agents.start(request);
        if (started.kind === "refused") return toolError(started.message);
        if (place === "background") return startedOutcome(started.run);
        const ended = await agents.wait(started.run.id, signal);
        return ended === undefined ? toolError(`${started.run.name} is not known any more.`) : endedOutcome(ended);
      },
    }),
  });

const describeTool = (types: AgentToolDeps["types"]): string =>
  [
    "Have a part of the work done by another agent, with a context of its own: only its report comes back. Good for searches through much text, and for parts that do not depend on each other (several calls in one reply run together). Not worth it for a file or two.",
    "Types:",
    ...types
      .slice(0, agentTypesShownMax)
      .map(({ name, description }) => `- ${name}: ${clipText(description, agentTypeCharsMax)}`),
    `- ${forkType}: a copy of you, with this whole conversation and its cache. It can't start agents.`,
  ].join("\n");

const startedOutcome = ({ id, name, type }: AgentRun): ToolOutcome => ({
  content: `Agent ${name} (${type}, ${id}) works in the background. Its report comes by itself when it ends: don't wait or ask for it. send_message reaches it by its name.`,
  summary: `${name} works in the background`,
});

function endedOutcome({ name, state, usage }: AgentRun): ToolOutcome {
  if (state.kind !== "ended") return toolError(`${name} was interrupted.`);
  const summary = `${name} ${describeAgentEnd(state.how)}: ${formatAgentUsage(usage)}`;
  return { content: state.report, summary, ...(state.how === "failed" ? { isError: true } : {}) };
}
