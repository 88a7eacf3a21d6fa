import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { EntryId, Tokens } from "../schema/brand.ts";
import type { EditEntry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import { planUndo, type Redo, type UndoPlan } from "../transcript/undo.ts";
import type { ContextLedger } from "../tokens/ledger.ts";
import { type CountedLog, openCounted } from "./counted.ts";
import type { OpenOptions } from "./open.ts";
import type { Session } from "./session.ts";
import { figure } from "../schema/figure.ts";

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

export type Undone =
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
export type UndoRefusal = Extract<UndoPlan, { kind: "refused" }>["why"] | "too-large";

type Refused = Extract<Undone, { kind: "refused" }>;

export async function undo(session: Session, options: UndoOptions): Promise<Undone> {
  const read: Read = (undone) => session.readUndone(undone);
  const { plan, deeper } = await planDeep({ fold: session.fold, read: session.read }, { target: options.target, read });
  if (deeper !== undefined) session.adoptLog({ ...deeper, fold: refolded(deeper.fold) });
  if (plan.kind === "refused") return plan;
  const branched = plan.edits.find(isBranch);
  if (branched?.edit.from !== undefined) return branchTo(session, { edit: branched, at: branched.edit.from });
  const log = await read(undoneBy(plan));
  const refusal =
    options.mode === "path" && log !== undefined ? tooLarge(session.ledger, log.ledger, options) : undefined;
  if (refusal !== undefined) return refusal;
  if (log !== undefined && !beginsLater(log, session)) session.adoptLog({ ...log, fold: refolded(log.fold) });
  return options.mode === "branch" ? branch(session, plan.edits) : appendUndos(session, plan, options);
}

/** What speaks against an undo, found by reading only: another tool's log is copied only where nothing does. */
export async function undoRefusal(
  deps: BlobsDep,
  log: OpenOptions,
  options: UndoOptions,
): Promise<Refused | undefined> {
  const read = (undone?: ReadonlySet<EntryId>): Promise<CountedLog> =>
    openCounted(deps, { ...log, ...(undone === undefined ? {} : { undone }) });
  const now = await read();
  const { plan } = await planDeep(now, { target: options.target, read });
  if (plan.kind === "refused") return plan;
  return options.mode === "path" ? tooLarge(now.ledger, (await read(undoneBy(plan))).ledger, options) : undefined;
}

const undoneBy = ({ edits }: Planned): ReadonlySet<EntryId> => new Set(edits.map((edit) => edit.id));

/** An undo that makes the view smaller is welcome whatever its size. */
function tooLarge(now: ContextLedger, undone: ContextLedger, { blockingTokens }: UndoOptions): Refused | undefined {
  const size = undone.size.tokens;
  if (size < blockingTokens || size <= now.size.tokens) return undefined;
  const text = `the view would be about ${figure(size)} tokens; no request over ${figure(blockingTokens)} can be sent. Use --branch to go on from before the edit instead`;
  return { kind: "refused", why: "too-large", text };
}

type Planned = Extract<UndoPlan, { kind: "plan" }>;
type Read = (undone: ReadonlySet<EntryId>) => Promise<CountedLog | undefined>;

interface Planning {
  readonly target: EntryId | undefined;
  readonly read: Read;
}

/** The named edit may lie before the boundary at which the log was opened: then the log is read further back. */
async function planDeep(
  log: Pick<CountedLog, "fold" | "read">,
  planning: Planning,
): Promise<{ plan: UndoPlan; deeper?: CountedLog }> {
  const plan = planUndo(log.fold.path.entries, planning.target);
  if (plan.kind !== "refused" || plan.why !== "not-on-path" || log.read.from === "beginning") return { plan };
  const deeper = await planning.read(new Set(log.fold.projection.boundaries.map((boundary) => boundary.id)));
  if (deeper === undefined) return { plan };
  return { deeper, ...(await planDeep({ ...deeper, fold: refolded(deeper.fold) }, planning)) };
}

/** A log that was read as if edits were undone, folded as the log really says. */
function refolded(fold: Session["fold"]): Session["fold"] {
  fold.refold();
  return fold;
}

/** With a boundary in force again less of the log is read than the view before it needs. */
const beginsLater = (log: CountedLog, { fold }: Session): boolean =>
  (log.fold.path.logged[0]?.start ?? 0) > (fold.path.logged[0]?.start ?? 0);

async function appendUndos(session: Session, plan: Planned, options: UndoOptions): Promise<Undone> {
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

async function branch(session: Session, edits: readonly EditEntry[]): Promise<Undone> {
  const edit = edits.at(-1);
  if (edit === undefined) return { kind: "refused", why: "nothing-to-undo", text: "no edit is in force" };
  return branchTo(session, { edit, at: edit.parent ?? edit.logicalParent ?? null });
}

/** The conversation goes on at another entry; the branch says which leaf it left, so that its undo leads back there. */
async function branchTo(session: Session, { edit, at }: { edit: EditEntry; at: EntryId | null }): Promise<Undone> {
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
