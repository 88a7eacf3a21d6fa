import type { Agents } from "palimpsest/internal/ports/agents";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import { oneLine } from "palimpsest/internal/text/to-printable";
import { agentsToldMax } from "../limits.ts";

/** The agents that run or were lost, and those that ended last. Absent if there are none. */
export const agentsPart = ({ agents }: { readonly agents: Pick<Agents, "list"> }): WorkingStatePart => ({
  name: "agents",
  stability: usualStability.agents,
  snapshot: async ({ budgets }) => {
    const runs = agents.list();
    const ended = runs.flatMap((run) => (run.state.kind === "ended" ? [{ run, ...run.state }] : []));
    const newest = ended.toSorted((left, right) => right.at - left.at).slice(0, agentsToldMax);
    const lines = [
      ...runs.flatMap((run) => (run.state.kind === "running" ? [`- ${name(run)} runs in the ${run.place}`] : [])),
      ...runs.flatMap((run) =>
        run.state.kind === "lost" ? [`- ${name(run)} was lost with an earlier run: a message makes it go on`] : [],
      ),
      ...newest.map(({ run, how }) => `- ${name(run)} has ended (${how}): recall ${run.id} gives its whole report`),
    ];
    if (lines.length === 0) return undefined;
    const piece = { title: "agents", intro: "The agents of this session as they are now:", text: lines.join("\n") };
    return { kind: "state", pieces: [piece], budget: budgets.other };
  },
});

const name = ({ name: own, type, id, description }: AgentRun): string =>
  `${own} (${type}, ${id}; ${oneLine(description)})`;
