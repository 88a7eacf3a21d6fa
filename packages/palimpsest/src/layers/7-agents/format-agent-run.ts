import type { AgentEnd, AgentUsage } from "../../schema/agent-run.ts";
import { formatCount, plural } from "../../text/format-count.ts";
import { formatDollars } from "../../text/format-dollars.ts";

/** `3 requests, 5 calls, 12,345 tokens, $0.02`; without the money if there is none. */
export function formatAgentUsage({ requests, calls, tokens, nanos }: AgentUsage): string {
  const counted = [
    [requests, "request"],
    [calls, "call"],
    [tokens, "token"],
  ] as const;
  const counts = counted.map(([count, noun]) => `${formatCount(count)} ${plural(count, noun)}`);
  return [...counts, ...(nanos > 0 ? [formatDollars(nanos / 1e9)] : [])].join(", ");
}

/** How an agent ended, for users, behind its name. */
export const describeAgentEnd = (how: AgentEnd): string => textByEnd[how];

const textByEnd: Readonly<Record<AgentEnd, string>> = {
  answered: "has reported",
  failed: "has failed",
  limit: "was ended at a limit",
  stopped: "was stopped",
};
