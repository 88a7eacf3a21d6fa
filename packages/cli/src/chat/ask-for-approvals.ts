import type { SettingsAddOutcome } from "../settings/user-settings-file.ts";
import type { PendingApproval } from "../settings/defined-servers.ts";
import { importHopsMax } from "palimpsest/internal/memory/limits";
import type { AskedImport, ImportAnswer } from "palimpsest/internal/memory/load-instruction-file";
import type { ImportDecision } from "../tui/dialog/import-dialog.ts";
import type { ServerDecision, TrustDecision } from "../tui/dialog/trust-dialog.ts";
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
  const failures = describeFailure(await store(decided.map(({ approval }) => approval)));
  return { stored: failures.length === 0 ? decided : [], failures };
}

/** The settings of a project may have come with a clone: the user decides once whether they count. */
export interface TrustQuestions {
  /** Undefined if there is nothing to ask. */
  readonly pending: () => Promise<TrustRequest | undefined>;
  /** Stores the decision in the user's own settings. */
  readonly decide: (as: "trusted" | "refused") => Promise<SettingsAddOutcome>;
}

interface TrustAnswer {
  /** `unasked`: there was nothing to ask. */
  readonly decision: TrustDecision | "unasked";
  /** For the user, one line each. */
  readonly notices: readonly string[];
}

/** Asks before a session is opened. */
export async function askTrust(
  { pending, decide }: TrustQuestions,
  { ui, signal }: { readonly ui: Pick<TerminalUi, "trust">; readonly signal: AbortSignal },
): Promise<TrustAnswer> {
  const request = ui.trust === undefined ? undefined : await pending();
  if (ui.trust === undefined || request === undefined) return { decision: "unasked", notices: [] };
  const decision = await ui.trust(request, signal);
  if (signal.aborted || decision === "later") return { decision: "later", notices: [] };
  const stored = await decide(decision === "allow" ? "trusted" : "refused");
  const failures = describeFailure(stored);
  return { decision, notices: decision === "allow" || failures.length > 0 ? failures : [notTrustedText(request)] };
}

/** What could not be stored, and why. */
function describeFailure(stored: SettingsAddOutcome): readonly string[] {
  switch (stored.kind) {
    case "added":
    case "known":
      return [];
    case "refused":
      return [stored.why];
    case "failed":
      return [stored.message];
  }
}

/** Instructions may include files from outside of the project: the user decides about each. */
export interface ImportQuestions {
  readonly pending: () => Promise<readonly AskedImport[]>;
  /** Counts from now on in this chat. */
  readonly answer: (realPath: string, answer: ImportAnswer) => Promise<void> | void;
  /** Stores answers in the user's own settings. */
  readonly decide: (as: "allowed" | "refused", realPaths: readonly string[]) => Promise<SettingsAddOutcome>;
}

/**
 * Asks before a session is opened. A file that was allowed may include others, so it asks until there are none. Returns
 * messages for the user, one line each.
 */
export async function askImports(
  questions: ImportQuestions,
  { ui, signal }: { readonly ui: Pick<TerminalUi, "imports">; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const notices: string[] = [];
  if (ui.imports === undefined) return notices;
  for (let hop = 0; hop <= importHopsMax; hop += 1) {
    const imports = await questions.pending();
    if (imports.length === 0) return notices;
    const decisions = await ui.imports(imports, signal);
    if (signal.aborted) return notices;
    const decided = imports.map(({ realPath }, at) => ({ realPath, decision: decisions[at] ?? "leave-out" }));
    notices.push(...(await storeImports(questions, decided)));
  }
  return notices;
}

interface DecidedImport {
  readonly realPath: string;
  readonly decision: ImportDecision;
}

async function storeImports(
  { answer, decide }: ImportQuestions,
  decided: readonly DecidedImport[],
): Promise<readonly string[]> {
  for (const { realPath, decision } of decided)
    await answer(realPath, decision === "once" || decision === "always" ? "allowed" : "left-out");
  const pathsFor = (wanted: ImportDecision): readonly string[] =>
    decided.filter(({ decision }) => decision === wanted).map(({ realPath }) => realPath);
  const [always, never] = [pathsFor("always"), pathsFor("never")];
  return [
    ...(always.length === 0 ? [] : describeFailure(await decide("allowed", always))),
    ...(never.length === 0 ? [] : describeFailure(await decide("refused", never))),
    ...never.map(importRefusalText),
  ];
}

const importRefusalText = (realPath: string): string =>
  `${realPath}: left out, and not asked about again. To be asked again, take it out of refusedImports in your settings.json.`;

/** Trust may be wanted later, so the text says where the answer is stored. */
const notTrustedText = ({ root }: TrustRequest): string =>
  `${root}: not trusted, and not asked about again. To be asked again, take it out of refusedProjects in your settings.json.`;
