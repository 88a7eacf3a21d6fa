import type { HookDeps } from "../context/deps.ts";
import type { AgentWorker, WorkerTurn } from "./agent-worker.ts";
import { stopHooksMax } from "./limits.ts";

/** Returns what hooks add to the agent's task. */
export async function fireAgentStart(
  { hooks, place }: HookDeps,
  { run, signal }: Pick<AgentWorker, "run" | "signal">,
): Promise<readonly string[]> {
  const payload = { name: "SubagentStart", agentId: run.id, agentType: run.type } as const;
  return (await hooks.fire({ ...place(), ...payload }, signal)).context;
}

interface AgentStop {
  readonly turn: WorkerTurn;
  readonly transcriptPath: string | undefined;
  /** How often hooks have made it go on already. */
  readonly stopsBlocked: number;
}

/** Why the agent goes on, as its next task; undefined if no hook wants that, or wants it too often. */
export async function fireAgentStop(
  { hooks, place }: HookDeps,
  { run, signal }: Pick<AgentWorker, "run" | "signal">,
  { turn, transcriptPath = "", stopsBlocked }: AgentStop,
): Promise<string | undefined> {
  const agent = { agentId: run.id, agentType: run.type, agentTranscriptPath: transcriptPath };
  const payload = { name: "SubagentStop", ...agent, again: stopsBlocked > 0, lastText: turn.text } as const;
  const { blocked, stopped } = await hooks.fire({ ...place(), ...payload }, signal);
  return stopped === undefined && stopsBlocked < stopHooksMax ? blocked?.reason : undefined;
}
