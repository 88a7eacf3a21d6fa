import { type AgentRequest, forkRefusalText, mainName } from "../../schema/agent-run.ts";
import type { NanoUsd } from "../../schema/brand.ts";
import { isAgentName } from "../../schema/agent-address.ts";
import { agentDepthMax, agentsRunningMax } from "./limits.ts";

/** What is known when a conversation asks for an agent. */
export interface AgentPlanInput {
  readonly request: AgentRequest;
  /** Of the conversation that asks: 0 for the main one. */
  readonly depth: number;
  /** What the conversation that asks is. */
  readonly asker: "conversation" | "fork";
  /** Agents of the whole session that run now. */
  readonly running: number;
  /** Names that agents of the session have or had. */
  readonly names: ReadonlySet<string>;
  /** Definitions that exist. */
  readonly types: readonly string[];
  readonly money: { readonly spentNanos: NanoUsd; readonly maxNanos: NanoUsd | undefined };
}

/** `message`: for the model that asks; it says what to do instead. */
export type AgentPlan =
  /** `type`: as its definition is called. */
  | { readonly kind: "start"; readonly name: string; readonly type: string }
  | { readonly kind: "refused"; readonly message: string };

/** The type of an agent that begins with the conversation so far. */
export const forkType = "fork";

/** May this agent start, and what is it called? */
export function planAgent({ request, depth, asker, running, names, types, money }: AgentPlanInput): AgentPlan {
  if (asker === "fork") return refuse(forkRefusalText);
  if (depth >= agentDepthMax)
    return refuse(
      `Agents can be started ${agentDepthMax} levels deep, and this is the last one. Do this part yourself.`,
    );
  const type = findType(request.type, types);
  if (type === undefined)
    return refuse(
      `There is no agent type ${JSON.stringify(request.type)}. There are: ${[...types, forkType].join(", ")}.`,
    );
  if (running >= agentsRunningMax)
    return refuse(`${agentsRunningMax} agents run already, and no more can. Wait until one has ended, or stop one.`);
  const { spentNanos, maxNanos } = money;
  if (maxNanos !== undefined && spentNanos >= maxNanos)
    return refuse(
      "The agents of this session have spent what the user allows them (setting agentDollarsMax). Go on without them.",
    );
  if (request.prompt.trim() === "") return refuse("The task of an agent can't be empty.");
  const { name } = request;
  if (name === undefined) return { kind: "start", type, name: findFreeName(type, names) };
  if (!isAgentName(name) || name === mainName)
    return refuse(
      `${JSON.stringify(name)} can't be the name of an agent: letters, digits, dashes, dots and underscores.`,
    );
  if (names.has(name))
    return refuse(`There is an agent called ${name} already. Send it a message, or choose another name.`);
  return { kind: "start", type, name };
}

/** Models write types as they know them from elsewhere: case does not matter, and Claude Code's names are understood. */
function findType(written: string, types: readonly string[]): string | undefined {
  const known = [...types, forkType];
  const same = (name: string): string | undefined =>
    known.find((type) => type === name) ?? known.find((type) => type.toLowerCase() === name.toLowerCase());
  return same(written) ?? same(typeByClaudeName[written.toLowerCase()] ?? written);
}

const typeByClaudeName: Readonly<Record<string, string>> = { "general-purpose": "general" };

const refuse = (message: string): AgentPlan => ({ kind: "refused", message });

/** After the type, with a number if there is one already. */
export function findFreeName(type: string, names: ReadonlySet<string>): string {
  let name = type;
  for (let serial = 2; names.has(name); serial += 1) name = `${type}-${serial}`;
  return name;
}
