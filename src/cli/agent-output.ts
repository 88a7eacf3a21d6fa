import type { CostSummary } from "../cache/costs.ts";
import type { Agent } from "../agent/open-agent.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { CommandContext } from "./command.ts";

export const outputFormats = ["text", "json", "stream-json"] as const;
export type OutputFormat = (typeof outputFormats)[number];

export interface AgentOutput {
  event(event: LoopEvent): Promise<void>;
  /** 0: the turn was answered. */
  end(): Promise<0 | 1>;
}

/** What a turn prints: its last words, one object about it, or every event as a line. */
export function agentOutput(
  context: CommandContext,
  { agent, format }: { agent: Agent; format: OutputFormat },
): AgentOutput {
  const { out, err } = context;
  let words = "";
  let requests = 0;
  let retries = 0;
  let end: Extract<LoopEvent, { kind: "turn-end" }> | undefined;
  return {
    event: async (event) => {
      if (event.kind === "request-start") requests = event.number;
      if (event.kind === "retry-start") retries += 1;
      if (event.kind === "reply-start") words = "";
      if (event.kind === "text-delta") words += event.text;
      if (event.kind === "turn-end") end = event;
      if (format === "stream-json") await out.json(lineOf(event, agent.session.id));
      else if (event.kind === "warning") await err.write(`warning: ${event.message}\n`);
      else if (event.kind === "retry-start") await err.write(`trying again (${event.attempt}): ${event.message}\n`);
    },
    end: async () => {
      const reason = end?.reason ?? "failed";
      const report = {
        type: "result",
        reason,
        result: words,
        session_id: agent.session.id,
        model: agent.model,
        num_requests: requests,
        num_retries: retries,
        total_cost_usd: usd(agent.conversation.costs.session),
        inherited_cost_usd: usd(agent.inheritedCosts),
        costs: agent.conversation.costs.session,
        ...(end?.message === undefined ? {} : { message: end.message }),
      };
      if (format === "text") await out.write(words === "" ? "" : `${words}\n`);
      else await out.json(report);
      if (reason === "answered") return 0;
      await err.write(
        `the turn ended without an answer (${reason})${end?.message === undefined ? "" : `: ${end.message}`}\n`,
      );
      return 1;
    },
  };
}

/** `type` and `session_id` are what scripts for other agents look for; the loop's own words for the same are left out. */
function lineOf(event: LoopEvent, session: string): object {
  if (event.kind === "turn-start") return { type: event.kind, session_id: session, model: event.model };
  const { kind, ...fields } = event;
  return { type: kind, session_id: session, ...fields };
}

const usd = ({ totalNanos }: CostSummary): number => totalNanos / 1e9;
