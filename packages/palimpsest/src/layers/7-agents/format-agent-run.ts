import type { AgentEnd, AgentUsage, AgentWorktree } from "../../schema/agent-run.ts";
import { formatCount, plural } from "../../text/format-count.ts";
import { formatDollars } from "../../text/format-dollars.ts";

/** `3 requests, 5 calls (2 denied), 12,345 tokens, $0.02`; without what is zero of denied calls and money. */
export function formatAgentUsage({ requests, calls, denied, tokens, nanos }: AgentUsage): string {
  const counted = [
    [requests, "request", ""],
    [calls, "call", denied === 0 ? "" : ` (${formatCount(denied)} denied)`],
    [tokens, "token", ""],
  ] as const;
  const counts = counted.map(([count, noun, note]) => `${formatCount(count)} ${plural(count, noun)}${note}`);
  return [...counts, ...(nanos > 0 ? [formatDollars(nanos / 1e9)] : [])].join(", ");
}

/** Where an agent works, or what became of its worktree, behind its name or a comma. */
export function describeWorktree({ path, branch, state }: AgentWorktree): string {
  switch (state) {
    case "in-use":
      return `works in ${path} (branch ${branch})`;
    case "kept":
      return `its changes are in ${path} (branch ${branch})`;
    case "removed":
      return "it changed nothing in its worktree";
  }
}

/** How an agent ended, for users, behind its name. */
export const describeAgentEnd = (how: AgentEnd): string => textByEnd[how];

const textByEnd: Readonly<Record<AgentEnd, string>> = {
  answered: "has reported",
  failed: "has failed",
  limit: "was ended at a limit",
  stopped: "was stopped",
};
