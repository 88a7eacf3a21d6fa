import type { SettingsAddOutcome } from "../settings/user-settings-file.ts";
import type { PendingApproval } from "../settings/defined-servers.ts";
import type { ServerDecision } from "../tui/dialog/trust-dialog.ts";
import type { TerminalUi } from "./terminal-ui.ts";
import type { TrustRequest } from "../agent/pending-trust.ts";

/** Servers that a project defines run programs on this machine: the user approves each definition, once. */
export interface Approvals {
  readonly pending: () => Promise<readonly PendingApproval[]>;
  /** Takes the approvals that `pending` returned. */
  readonly approve: (approvals: readonly string[]) => Promise<SettingsAddOutcome>;
  /** For good: the user is not asked about them again. */
  readonly refuse: (approvals: readonly string[]) => Promise<SettingsAddOutcome>;
}

/** What was stored of the answers. */
interface ApprovalOutcome {
  /** Names of the approved servers. */
  readonly servers: readonly string[];
  readonly refused: readonly PendingApproval[];
  /** What could not be stored, and why. */
  readonly failures: readonly string[];
}

export async function askForApprovals(
  { pending, approve, refuse }: Approvals,
  { ui, signal }: { readonly ui: TerminalUi; readonly signal: AbortSignal },
): Promise<ApprovalOutcome> {
  const servers = ui.approve === undefined ? [] : await pending();
  if (ui.approve === undefined || servers.length === 0) return { servers: [], refused: [], failures: [] };
  const decisions = await ui.approve({ servers, refusals: "kept" }, signal);
  const decidedAs = (decision: ServerDecision): readonly PendingApproval[] =>
    servers.filter((_, at) => !signal.aborted && decisions[at] === decision);
  const refused = await storeDecisions(refuse, decidedAs("never"));
  const approved = await storeDecisions(approve, decidedAs("allow"));
  return {
    servers: approved.stored.map(({ name }) => name),
    refused: refused.stored,
    failures: [...refused.failures, ...approved.failures],
  };
}

/** The server may be wanted later, so the text says where its refusal is stored. */
export const serverRefusalText = ({ name, approval }: PendingApproval): string =>
  `${name}: refused, and not asked about again while its definition stays as it is. To be asked again, take ${approval.slice(0, approvalCharsShown)}… out of refusedMcpServers in your settings.json.`;

/** Characters of a hash: enough to find it in a list. */
const approvalCharsShown = 8;

interface StoredDecisions {
  readonly stored: readonly PendingApproval[];
  readonly failures: readonly string[];
}

async function storeDecisions(
  store: Approvals["approve"],
  decided: readonly PendingApproval[],
): Promise<StoredDecisions> {
  if (decided.length === 0) return { stored: [], failures: [] };
  const added = await store(decided.map(({ approval }) => approval));
  switch (added.kind) {
    case "added":
    case "known":
      return { stored: decided, failures: [] };
    case "refused":
      return { stored: [], failures: [added.why] };
    case "failed":
      return { stored: [], failures: [added.message] };
  }
}

/** The settings of a project may have come with a clone: the user decides once whether they count. */
export interface TrustQuestions {
  /** Undefined if there is nothing to ask. */
  readonly pending: () => Promise<TrustRequest | undefined>;
  /** Stores the decision in the user's own settings. */
  readonly decide: (as: "trusted" | "refused") => Promise<SettingsAddOutcome>;
}

/** Asks before a session is opened. Returns messages for the user, one line each. */
export async function askTrust(
  { pending, decide }: TrustQuestions,
  { ui, signal }: { readonly ui: Pick<TerminalUi, "trust">; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const request = ui.trust === undefined ? undefined : await pending();
  if (ui.trust === undefined || request === undefined) return [];
  const decision = await ui.trust(request, signal);
  if (signal.aborted || decision === "later") return [];
  const stored = await decide(decision === "allow" ? "trusted" : "refused");
  switch (stored.kind) {
    case "added":
    case "known":
      return decision === "allow" ? [] : [notTrustedText(request)];
    case "refused":
      return [stored.why];
    case "failed":
      return [stored.message];
  }
}

/** Trust may be wanted later, so the text says where the answer is stored. */
const notTrustedText = ({ root }: TrustRequest): string =>
  `${root}: not trusted, and not asked about again. To be asked again, take it out of refusedProjects in your settings.json.`;
