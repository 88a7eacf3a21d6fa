import { auditChanges, type AuditFinding, type ChangeAudit } from "../../memory/audit/audit-changes.ts";
import type { AcceptedRemoval, RemovalReason } from "../../memory/audit/removal-reasons.ts";
import type { RefusedWrite } from "../../memory/directory/apply-writes.ts";
import { DraftDirectory } from "../../memory/directory/draft-directory.ts";
import { readMemories } from "../../memory/directory/read-memories.ts";
import type { DriftFinding } from "../../memory/directory/show-memory.ts";
import { ruleScanner } from "../../memory/redact-secrets.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Fork } from "../../ports/fork.ts";
import type {
  MemoriesDep,
  MemoryChange,
  MemoryCommitOutcome,
  MemoryRevision,
  MemoryText,
} from "../../ports/memories.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { dreamCommitTriesMax, dreamEvidenceLookupsMax, dreamHitsMax, dreamQueriesMax } from "./limits.ts";
import { askDream, type DreamToolNames } from "./run-ask.ts";
import { ForkRecall, type SearchTranscripts } from "../../memory/fork-recall.ts";

export interface DreamDeps extends ClockDep, MemoriesDep {
  readonly fork: Fork;
  /** Absent: no transcript can be searched. */
  readonly search?: SearchTranscripts | undefined;
  /** By path: what memories name and the working tree lacks. Absent: nothing is known to be missing. */
  readonly drift?:
    | ((memories: readonly MemoryText[]) => Promise<ReadonlyMap<string, readonly DriftFinding[]>>)
    | undefined;
  /** Refuses texts with secrets; by default the engine's own rules. */
  readonly scanner?: SecretScanner | undefined;
}

export interface DreamInput {
  /** `dry-run`: nothing is written; the receipt says what would be. */
  readonly mode: "commit" | "dry-run";
  readonly tools: DreamToolNames;
  /** The user's own prompt. */
  readonly template?: string | undefined;
  /** Called with each event of the fork. Must not throw. */
  readonly onEvent?: ((event: LoopEvent) => void) | undefined;
  /** Called when the draft has changed, with the paths that differ from the directory. */
  readonly onDraft?: ((paths: readonly string[]) => void) | undefined;
}

/** What a dream wanted, what became of it and why. */
export interface DreamReceipt {
  /** What was committed or, in a dry run, would be. */
  readonly made: readonly DreamChange[];
  /** What it wanted to change and was not allowed to. */
  readonly dropped: readonly DreamChange[];
  /** Why; what is dropped and named by none of them is a conflict. */
  readonly findings: readonly AuditFinding[];
  /** Sentences that are gone, each with a reason that holds. */
  readonly removals: readonly AcceptedRemoval[];
  /** Files that somebody else changed meanwhile: theirs stay. */
  readonly conflicts: readonly string[];
  /** Writes that the directory did not take: wrong paths, secrets. */
  readonly refused: readonly RefusedWrite[];
  /** Questions that were put to the transcripts. */
  readonly queries: number;
}

export interface DreamChange {
  readonly path: string;
  /** Undefined: there was no such file. */
  readonly before: string | undefined;
  /** Undefined: the file is deleted. */
  readonly after: string | undefined;
}

export type DreamOutcome =
  /** `revision`: undefined if nothing was changed, or in a dry run. */
  | {
      readonly kind: "dreamt";
      readonly receipt: DreamReceipt;
      readonly revision: MemoryRevision | undefined;
      readonly usage: readonly JsonObject[];
    }
  /** The audit let nothing through. */
  | { readonly kind: "refused"; readonly receipt: DreamReceipt; readonly usage: readonly JsonObject[] }
  /** `message`: one line for the user. Nothing was changed. */
  | { readonly kind: "failed"; readonly message: string; readonly usage: readonly JsonObject[] }
  | { readonly kind: "killed"; readonly usage: readonly JsonObject[] };

/**
 * One dream: a fork writes to a draft, the audit decides what of it may stand, and that is committed as one change set.
 * Until then nothing is written. Must not reject unless its ports do.
 */
export async function runDream(deps: DreamDeps, input: DreamInput, signal: AbortSignal): Promise<DreamOutcome> {
  const base = await readMemories(deps.memories);
  if (!base.some(({ role }) => role === "memory"))
    return { kind: "dreamt", receipt: emptyReceipt, revision: undefined, usage: [] };
  const draft = new DraftDirectory({ base, scanner: deps.scanner ?? ruleScanner, now: deps.now });
  const transcripts = new ForkRecall(deps.search, { queriesMax: dreamQueriesMax, hitsMax: dreamHitsMax });
  const asked = await askDream({
    fork: deps.fork,
    base,
    driftByPath: await findDrift(deps, base),
    draft,
    transcripts,
    canSearch: deps.search !== undefined,
    tools: input.tools,
    now: deps.now(),
    template: input.template,
    onEvent: input.onEvent ?? (() => undefined),
    onWrite: () => input.onDraft?.(draft.changes.map(({ path }) => path)),
    signal,
  });
  if (asked.kind !== "asked") return asked;
  await lookUpEvidence(asked.reasons, { base, transcripts });
  const { reasons, refused, usage } = asked;
  if (signal.aborted) return { kind: "killed", usage };
  const { mode } = input;
  return settleDraft(deps, { wanted: draft.changes, base, reasons, refused, usage, transcripts, mode, signal });
}

async function findDrift(
  { drift }: DreamDeps,
  memories: readonly MemoryText[],
): Promise<ReadonlyMap<string, readonly DriftFinding[]>> {
  return (await drift?.(memories)) ?? new Map<string, readonly DriftFinding[]>();
}

/** What is quoted need not be among what the fork asked for. */
async function lookUpEvidence(
  reasons: readonly RemovalReason[],
  { base, transcripts }: Pick<DraftState, "base" | "transcripts">,
): Promise<void> {
  const known = [...base, ...transcripts.passages].map(({ text }) => text);
  const quotes = new Set(reasons.map(({ evidence }) => evidence.trim()).filter((quote) => quote !== ""));
  const unknown = [...quotes].filter((quote) => !known.some((text) => text.includes(quote)));
  for (const quote of unknown.slice(0, dreamEvidenceLookupsMax)) await transcripts.find(quote);
}

interface DraftState extends Pick<DreamInput, "mode"> {
  /** The directory that the draft was begun on. */
  readonly base: readonly MemoryText[];
  readonly wanted: readonly MemoryChange[];
  readonly reasons: readonly RemovalReason[];
  readonly refused: readonly RefusedWrite[];
  readonly transcripts: ForkRecall;
  readonly usage: readonly JsonObject[];
  readonly signal: AbortSignal;
}

/**
 * Audits the changes against the directory as it is now and commits what is left. A file that somebody else has changed
 * since the draft was begun is theirs: the change to it is dropped, and the rest is audited again.
 */
async function settleDraft(deps: DreamDeps, state: DraftState): Promise<DreamOutcome> {
  const { usage } = state;
  let changes = state.wanted;
  for (let attempt = 0; attempt < dreamCommitTriesMax; attempt += 1) {
    const current = await readMemories(deps.memories);
    const byPath = new Map(current.map((memory) => [memory.path, memory]));
    changes = changes.filter(({ path, expected }) => (byPath.get(path)?.hash ?? "absent") === expected);
    const audit = auditChanges({
      base: current,
      changes,
      reasons: state.reasons,
      passages: state.transcripts.passages,
      driftByPath: await findDrift(deps, current),
      now: deps.now(),
    });
    const receipt = createReceipt(state, { audit, changes });
    if (audit.verdict === "refused") return { kind: "refused", receipt, usage };
    if (audit.kept.length === 0 || state.mode === "dry-run")
      return { kind: "dreamt", receipt, revision: undefined, usage };
    if (state.signal.aborted) return { kind: "killed", usage };
    const outcome = await commitKept(deps, audit.kept);
    if (outcome.kind === "committed") return { kind: "dreamt", receipt, revision: outcome.revision, usage };
    if (outcome.kind === "unchanged") return { kind: "dreamt", receipt, revision: undefined, usage };
    if (outcome.kind !== "conflict") return { kind: "failed", message: describeRefusal(outcome), usage };
    const lost = new Set(outcome.paths);
    changes = changes.filter(({ path }) => !lost.has(path));
  }
  return { kind: "failed", message: "Others kept changing the memories meanwhile.", usage };
}

/** One revision, which one revert takes back. It belongs to no session: forgetting one must not forget what came from others. */
function commitKept({ memories, now }: DreamDeps, changes: readonly MemoryChange[]): Promise<MemoryCommitOutcome> {
  const deleted = changes.filter(({ text }) => text === undefined).length;
  return memories.commit({
    author: "dream",
    provenance: { at: now(), trust: "trusted" },
    message: `dream: ${changes.length - deleted} written, ${deleted} deleted`,
    changes,
    onConflict: "refuse-all",
  });
}

function describeRefusal(
  outcome: Exclude<MemoryCommitOutcome, { kind: "committed" | "unchanged" | "conflict" }>,
): string {
  switch (outcome.kind) {
    case "busy":
      return `The memories are being written by ${outcome.holder}.`;
    case "refused":
      return `It looks like a secret: ${outcome.secrets.map(({ kind, path }) => `${kind} in ${path}`).join(", ")}.`;
    case "invalid":
    case "failed":
      return outcome.message;
  }
}

interface AuditedChanges {
  readonly audit: ChangeAudit;
  /** Those that were audited: without conflicts. */
  readonly changes: readonly MemoryChange[];
}

function createReceipt(state: DraftState, { audit, changes }: AuditedChanges): DreamReceipt {
  const textByPath = new Map(state.base.map(({ path, text }) => [path, text]));
  const describe = ({ path, text }: MemoryChange): DreamChange => ({
    path,
    before: textByPath.get(path),
    after: text,
  });
  const kept = new Set(audit.kept.map(({ path }) => path));
  const audited = new Set(changes.map(({ path }) => path));
  return {
    made: audit.kept.map(describe),
    dropped: state.wanted.filter(({ path }) => !kept.has(path)).map(describe),
    findings: audit.findings,
    removals: audit.removals,
    conflicts: state.wanted.filter(({ path }) => !audited.has(path)).map(({ path }) => path),
    refused: state.refused,
    queries: state.transcripts.queries,
  };
}

const emptyReceipt: DreamReceipt = {
  made: [],
  dropped: [],
  findings: [],
  removals: [],
  conflicts: [],
  refused: [],
  queries: 0,
};
