import type { Workspace } from "../../host/workspace.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { findAgent, findAgents, type ListedAgent } from "../../team/find-agents.ts";

/** The agent that the user names, or what to say if there is none. */
export async function requireAgent({ home }: Pick<Workspace, "home">, name: string): Promise<ListedAgent | Failure> {
  const found = findAgent(await findAgents(home), name);
  switch (found.kind) {
    case "found":
      return found.agent;
    case "ambiguous":
      return failure({
        code: exitCode.usage,
        message: `${name} may be one of several agents`,
        hint: `Say which: ${found.candidates.join(", ")}.`,
      });
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `there is no agent ${name}`,
        hint: "`palimpsest agents list` shows the agents there are.",
      });
  }
}
