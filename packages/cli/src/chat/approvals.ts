import type { LeaveAdded } from "../settings/add-leave.ts";
import type { PendingApproval } from "../settings/tool-servers.ts";
import type { ServerDecision } from "../tui/dialog/approve.ts";
import type { ChatFront } from "./front.ts";

/** Servers that a project defines run programs on this machine: a person approves of each definition, once. */
export interface Approvals {
  readonly pending: () => Promise<readonly PendingApproval[]>;
  /** As `pending` gives them. */
  readonly approve: (approvals: readonly string[]) => Promise<LeaveAdded>;
  /** For good: they are not asked about again. */
  readonly refuse: (approvals: readonly string[]) => Promise<LeaveAdded>;
}

/** What was kept of the answers. */
export interface Approved {
  /** By name. */
  readonly servers: readonly string[];
  readonly refused: readonly PendingApproval[];
  /** What could not be kept, and why. */
  readonly failures: readonly string[];
}

interface Asking {
  readonly front: ChatFront;
  readonly signal: AbortSignal;
}

export async function askForApproval(
  { pending, approve, refuse }: Approvals,
  { front, signal }: Asking,
): Promise<Approved> {
  const servers = front.approve === undefined ? [] : await pending();
  if (front.approve === undefined || servers.length === 0) return { servers: [], refused: [], failures: [] };
  const decisions = await front.approve({ servers, refusals: "kept" }, signal);
  const decided = (as: ServerDecision): readonly PendingApproval[] =>
    servers.filter((_, at) => !signal.aborted && decisions[at] === as);
  const refused = await keptBy(refuse, decided("never"));
  const allowed = await keptBy(approve, decided("allow"));
  return {
    servers: allowed.kept.map(({ name }) => name),
    refused: refused.kept,
    failures: [...refused.failures, ...allowed.failures],
  };
}

/** A server may be wanted later: where its refusal stands is told with it. */
export const refusedText = ({ name, approval }: PendingApproval): string =>
  `${name}: refused, and not asked about again while its definition stays as it is. To be asked again, take ${approval.slice(0, approvalCharsShown)}… out of refusedMcpServers in your settings.json.`;

/** Of a hash: enough to find it in a list. */
const approvalCharsShown = 8;

interface Kept {
  readonly kept: readonly PendingApproval[];
  readonly failures: readonly string[];
}

async function keptBy(keep: Approvals["approve"], decided: readonly PendingApproval[]): Promise<Kept> {
  if (decided.length === 0) return { kept: [], failures: [] };
  const added = await keep(decided.map(({ approval }) => approval));
  switch (added.kind) {
    case "added":
    case "known":
      return { kept: decided, failures: [] };
    case "refused":
      return { kept: [], failures: [added.why] };
    case "failed":
      return { kept: [], failures: [added.message] };
  }
}
