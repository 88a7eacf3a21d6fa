import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { EntryId, Tokens } from "../schema/brand.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import { planUndo, type Redo, type UndoPlan } from "../transcript/plan-undo.ts";
import type { ContextLedger } from "../tokens/token-ledger.ts";
import { type CountedLog, openCounted } from "./counted-log.ts";
import type { OpenLogOptions } from "./open-log.ts";
import type { Session } from "./session.ts";
import { formatCount } from "../schema/format-count.ts";
import { userTypedText } from "../transcript/user-text.ts";
import { readBack } from "./read-back.ts";

export interface UndoOptions {
  /** The newest edit in force, where none is named. */
  readonly target?: EntryId;
  /** `path`: later turns stay. `branch`: the conversation goes on from before the edit, and later turns stay on the old branch. */
  readonly mode: "path" | "branch";
  /** No request above this size can be sent, so no undo may lead there. */
  readonly blockingTokens: Tokens;
  /** On models that bind thinking to its prefix, thinking behind the edit can't be sent any more. */
  readonly thinking: "free" | "bound";
}

export type UndoOutcome =
  | {
      readonly kind: "undone";
      readonly edits: readonly EditEntry[];
      readonly said: readonly string[];
      readonly receipts: readonly Receipt[];
      /** The entries that took them back: undoing one of these brings its edit again. */
      readonly undos: readonly EntryId[];
    }
  | {
      readonly kind: "branched";
      readonly before: EditEntry;
      readonly at: EntryId | null;
      /** Undoing it leads back. */
      readonly branch: EntryId | undefined;
    }
  | { readonly kind: "refused"; readonly why: UndoRefusal; readonly text: string; readonly redo?: Redo }
  | WriteFailure;
type UndoRefusal = Extract<UndoPlan, { kind: "refused" }>["why"] | "too-large";

type UndoRefused = Extract<UndoOutcome, { kind: "refused" }>;

export async function undo(session: Session, options: UndoOptions): Promise<UndoOutcome> {
  const read: ReadUndone = (undone) => session.readUndone(undone);
  const { plan, deeper } = await planDeep({ fold: session.fold, read: session.read }, { target: options.target, read });
  if (deeper !== undefined) session.adoptLog({ ...deeper, fold: refoldAsLogged(deeper.fold) });
  if (plan.kind === "refused") return plan;
  const branched = plan.edits.find(isBranch);
  if (branched?.edit.from !== undefined) return branchTo(session, { edit: branched, at: branched.edit.from });
  const log = await read(editIds(plan));
  const refusal =
    options.mode === "path" && log !== undefined ? tooLarge(session.ledger, log.ledger, options) : undefined;
  if (refusal !== undefined) return refusal;
  if (log !== undefined && !beginsLater(log, session)) session.adoptLog({ ...log, fold: refoldAsLogged(log.fold) });
  return options.mode === "branch" ? branchBefore(session, plan.edits) : appendUndos(session, plan, options);
}

/** What speaks against an undo, found by reading only: another tool's log is copied only where nothing does. */
export async function undoRefusal(
  deps: BlobsDep,
  log: OpenLogOptions,
  options: UndoOptions,
): Promise<UndoRefused | undefined> {
  const read = (undone?: ReadonlySet<EntryId>): Promise<CountedLog> =>
    openCounted(deps, { ...log, ...(undone === undefined ? {} : { undone }) });
  const now = await read();
  const { plan } = await planDeep(now, { target: options.target, read });
  if (plan.kind === "refused") return plan;
  return options.mode === "path" ? tooLarge(now.ledger, (await read(editIds(plan))).ledger, options) : undefined;
}

const editIds = ({ edits }: ReadyPlan): ReadonlySet<EntryId> => new Set(edits.map((edit) => edit.id));

/** An undo that makes the view smaller is welcome whatever its size. */
function tooLarge(now: ContextLedger, undone: ContextLedger, { blockingTokens }: UndoOptions): UndoRefused | undefined {
  const size = undone.size.tokens;
  if (size < blockingTokens || size <= now.size.tokens) return undefined;
  const text = `the view would be about ${formatCount(size)} tokens; no request over ${formatCount(blockingTokens)} can be sent. Use --branch to go on from before the edit instead`;
  return { kind: "refused", why: "too-large", text };
}

type ReadyPlan = Extract<UndoPlan, { kind: "plan" }>;
type ReadUndone = (undone: ReadonlySet<EntryId>) => Promise<CountedLog | undefined>;

/** The named edit may lie before the boundary at which the log was opened: then the log is read further back. */
async function planDeep(
  log: Pick<CountedLog, "fold" | "read">,
  planning: { readonly target: EntryId | undefined; readonly read: ReadUndone },
): Promise<{ plan: UndoPlan; deeper?: CountedLog }> {
  const plan = planUndo(log.fold.path.entries, planning.target);
  if (plan.kind !== "refused" || plan.why !== "not-on-path" || log.read.from === "beginning") return { plan };
  const deeper = await planning.read(new Set(log.fold.projection.boundaries.map((boundary) => boundary.id)));
  if (deeper === undefined) return { plan };
  return { deeper, ...(await planDeep({ ...deeper, fold: refoldAsLogged(deeper.fold) }, planning)) };
}

/** A log that was read as if edits were undone, folded as the log really says. */
function refoldAsLogged(fold: Session["fold"]): Session["fold"] {
  fold.refold();
  return fold;
}

/** With a boundary in force again less of the log is read than the view before it needs. */
const beginsLater = (log: CountedLog, { fold }: Session): boolean =>
  (log.fold.path.logged[0]?.start ?? 0) > (fold.path.logged[0]?.start ?? 0);

async function appendUndos(session: Session, plan: ReadyPlan, options: UndoOptions): Promise<UndoOutcome> {
  const receipts: Receipt[] = [];
  const undos: EntryId[] = [];
  for (const edit of plan.edits) {
    const draft = { type: "undo", edit: edit.id, ...(options.thinking === "bound" ? { dropsThinking: true } : {}) };
    const edited = await session.edit({ drafts: [draft], cause: "asked", nature: "undone" });
    if (edited.kind === "failed") return edited;
    receipts.push(edited.receipt);
    undos.push(...edited.entries);
  }
  return { kind: "undone", edits: plan.edits, said: plan.said, receipts, undos };
}

async function branchBefore(session: Session, edits: readonly EditEntry[]): Promise<UndoOutcome> {
  const edit = edits.at(-1);
  if (edit === undefined) return { kind: "refused", why: "nothing-to-undo", text: "no edit is in force" };
  return branchTo(session, { edit, at: edit.parent ?? edit.logicalParent ?? null });
}

/** The conversation goes on at another entry; the branch says which leaf it left, so that its undo leads back there. */
async function branchTo(session: Session, { edit, at }: { edit: EditEntry; at: EntryId | null }): Promise<UndoOutcome> {
  const from = session.fold.path.leaf?.id;
  const appended = await session.append({
    type: "branch",
    before: edit.id,
    parentUuid: at,
    ...(from === undefined ? {} : { from }),
  });
  if (appended.kind === "failed") return appended;
  return { kind: "branched", before: edit, at, branch: appended.entries[0] };
}

const isBranch = (entry: EditEntry): entry is EditEntry & { edit: { type: "branch" } } => entry.edit.type === "branch";

/** A message that a person began a turn with: where a conversation can be gone on with otherwise. */
export interface RewindPoint {
  readonly id: EntryId;
  readonly text: string;
  /** When, as the log says it. */
  readonly at: string | undefined;
  /** `covered`: a boundary stands behind it, and the view does not show it. */
  readonly state: "in-view" | "covered";
}

/** Of the path, as far as it was read, newest first. */
export function listRewindPoints({ fold: { path, projection } }: Session): readonly RewindPoint[] {
  const shown = new Set(projection.items.map(({ entry }) => entry));
  return path.entries.toReversed().flatMap((entry) => {
    const text = userTypedText(entry);
    const { id, timestamp } = entry;
    if (text === undefined || id === undefined) return [];
    return [{ id, text, at: timestamp, state: shown.has(id) ? "in-view" : "covered" } as const];
  });
}

export type RewindOutcome =
  | {
      readonly kind: "rewound";
      /** What the person said then. */
      readonly text: string;
      /** Undoing it leads back. */
      readonly branch: EntryId | undefined;
      /** Entries of the path that are on the branch that was left. */
      readonly left: number;
    }
  /** No message of a person on the path has this id. */
  | { readonly kind: "not-said" }
  | WriteFailure;

/**
 * The conversation goes on from before a message. Nothing is deleted: what was said since stays on the branch that was
 * left, where recall finds it and an undo leads back to. Settings are the session's and come along.
 */
export async function rewind(session: Session, message: EntryId): Promise<RewindOutcome> {
  if (!session.fold.path.has(message)) await readBack(session);
  const { path } = session.fold;
  const entries = path.entries;
  const at = entries.findIndex(({ id }) => id === message);
  const entry = entries[at];
  const text = entry === undefined ? undefined : userTypedText(entry);
  if (entry === undefined || text === undefined) return { kind: "not-said" };
  const from = path.leaf?.id;
  const appended = await session.appendInstead(parentId(entry), {
    type: "branch",
    before: message,
    ...(from === undefined ? {} : { from }),
  });
  if (appended.kind === "failed") return appended;
  return { kind: "rewound", text, branch: appended.entries.at(-1), left: entries.length - at };
}

const parentId = ({ parent, logicalParent }: Entry): EntryId | null => parent ?? logicalParent ?? null;
