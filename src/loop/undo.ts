import type { WriteFailure } from "../ports/blobs.ts";
import type { EntryId, Tokens } from "../schema/brand.ts";
import type { EditEntry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import { planUndo, type UndoPlan } from "../transcript/undo.ts";
import { estimateShown } from "../tokens/estimate.ts";
import type { Session } from "./session.ts";

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
  | { readonly kind: "undone"; readonly edits: readonly EditEntry[]; readonly said: readonly string[]; readonly receipts: readonly Receipt[] }
  | { readonly kind: "branched"; readonly before: EditEntry; readonly at: EntryId | null }
  | { readonly kind: "refused"; readonly why: UndoRefusal; readonly text: string }
  | WriteFailure;
export type UndoRefusal = Extract<UndoPlan, { kind: "refused" }>["why"] | "too-large";

export async function undo(session: Session, options: UndoOptions): Promise<Undone> {
  const plan = await planDeep(session, options.target);
  if (plan.kind === "refused") return plan;
  const undone = new Set(plan.edits.map((edit) => edit.id));
  const log = await session.readUndone(undone);
  if (options.mode === "branch") {
    if (log !== undefined) session.adoptLog({ ...log, fold: refolded(log.fold) });
    return branch(session, plan.edits);
  }
  const size = log === undefined ? 0 : estimateShown(log.fold.shown().values());
  if (size > options.blockingTokens) {
    const text = `the view would be about ${size} tokens; no request over ${options.blockingTokens} can be sent. Use --branch to go on from before the edit instead`;
    return { kind: "refused", why: "too-large", text };
  }
  if (log !== undefined) session.adoptLog({ ...log, fold: refolded(log.fold) });
  return appendUndos(session, plan, options);
}

/** The named edit may lie before the boundary at which the log was opened: then the log is read further back. */
async function planDeep(session: Session, target: EntryId | undefined): Promise<UndoPlan> {
  const plan = planUndo(session.fold.path.entries, target);
  if (plan.kind !== "refused" || plan.why !== "not-on-path" || target === undefined) return plan;
  if (session.read.from === "beginning") return plan;
  const boundaries = new Set(session.fold.projection.boundaries.map((boundary) => boundary.id));
  const deeper = await session.readUndone(boundaries);
  if (deeper === undefined) return plan;
  session.adoptLog({ ...deeper, fold: refolded(deeper.fold) });
  return planDeep(session, target);
}

/** A log that was read as if edits were undone, folded as the log really says. */
function refolded(fold: Session["fold"]): Session["fold"] {
  fold.refold();
  return fold;
}

async function appendUndos(session: Session, plan: Extract<UndoPlan, { kind: "plan" }>, options: UndoOptions): Promise<Undone> {
  const receipts: Receipt[] = [];
  for (const edit of plan.edits) {
    const draft = { type: "undo", edit: edit.id, ...(options.thinking === "bound" ? { dropsThinking: true } : {}) };
    const edited = await session.edit({ drafts: [draft], cause: "asked", nature: "undone" });
    if (edited.kind === "failed") return edited;
    receipts.push(edited.receipt);
  }
  return { kind: "undone", edits: plan.edits, said: plan.said, receipts };
}

async function branch(session: Session, edits: readonly EditEntry[]): Promise<Undone> {
  const edit = edits.at(-1);
  if (edit === undefined) return { kind: "refused", why: "nothing-to-undo", text: "no edit is in force" };
  const at = edit.parent ?? edit.logicalParent ?? null;
  const appended = await session.append({ type: "branch", before: edit.id, parentUuid: at });
  return appended.kind === "failed" ? appended : { kind: "branched", before: edit, at };
}
