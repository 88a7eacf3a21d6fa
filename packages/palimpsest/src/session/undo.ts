import type { BlobsDep, WriteFailure } from "../ports/blobs.ts";
import type { EntryId, Tokens } from "../schema/brand.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import type { Receipt } from "../schema/receipt.ts";
import type { Draft } from "../transcript/draft.ts";
import { findUndoneEdits, isUndo, planUndo, type Redo, type UndoPlan } from "../transcript/plan-undo.ts";
import type { ContextLedger } from "../tokens/token-ledger.ts";
import { type CountedLog, openCounted } from "./counted-log.ts";
import type { OpenLogOptions } from "./open-log.ts";
import type { AppendEntriesOutcome, Session } from "./session.ts";
import { formatCount } from "../text/format-count.ts";
import { userTypedText } from "../transcript/user-text.ts";

export interface UndoOptions {
  /** By default the newest edit in force. */
  readonly target?: EntryId | undefined;
  /**
   * `path`: later turns stay. `branch`: the conversation continues from before the edit, and later turns stay on the old
   * branch.
   */
  readonly mode: "path" | "branch";
  /** No request above this size can be sent, so an undo that leads there is refused. */
  readonly blockingTokens: Tokens;
  /** `bound`: the model binds thinking to its prefix, so thinking after the edit can't be sent any more. */
  readonly thinking: "free" | "bound";
}

export type UndoOutcome =
  | {
      readonly kind: "undone";
      readonly edits: readonly EditEntry[];
      readonly said: readonly string[];
      readonly receipts: readonly Receipt[];
      /** The entries that undid them: undoing one of these restores its edit. */
      readonly undos: readonly EntryId[];
      /** If what was undone is an undo: the edit that is in force again. */
      readonly redone?: EditEntry | undefined;
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
  const branch = plan.edits.find(isBranch);
  if (branch?.edit.from !== undefined) return branchTo(session, { edit: branch, at: branch.edit.from });
  const log = await read(editIds(plan));
  const refusal =
    options.mode === "path" && log !== undefined ? tooLarge(session.ledger, log.ledger, options) : undefined;
  if (refusal !== undefined) return refusal;
  if (log !== undefined && !beginsLater(log, session)) session.adoptLog({ ...log, fold: refoldAsLogged(log.fold) });
  return options.mode === "branch" ? branchBefore(session, plan.edits) : appendUndos(session, plan, options);
}

/** Why an undo would be refused, found without writing: another tool's log is copied only if the undo is possible. */
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

/** An undo that makes the view smaller is allowed whatever the size. */
function tooLarge(now: ContextLedger, undone: ContextLedger, { blockingTokens }: UndoOptions): UndoRefused | undefined {
  const size = undone.size.tokens;
  if (size < blockingTokens || size <= now.size.tokens) return undefined;
  const text = `the view would be about ${formatCount(size)} tokens; no request over ${formatCount(blockingTokens)} can be sent. Use --branch to go on from before the edit instead`;
  return { kind: "refused", why: "too-large", text };
}

type ReadyPlan = Extract<UndoPlan, { kind: "plan" }>;
type ReadUndone = (undone: ReadonlySet<EntryId>) => Promise<CountedLog | undefined>;

/** If the target lies before the boundary at which the log was opened, the log is read further back. */
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

/** Refolds a log that was read as if edits were undone, so that it shows what the log really says. */
function refoldAsLogged(fold: Session["fold"]): Session["fold"] {
  fold.refold();
  return fold;
}

/** If a boundary is in force again, less of the log is read than the view before it needs. */
const beginsLater = (log: CountedLog, { fold }: Session): boolean =>
  (log.fold.path.logged[0]?.start ?? 0) > (fold.path.logged[0]?.start ?? 0);

async function appendUndos(session: Session, plan: ReadyPlan, options: UndoOptions): Promise<UndoOutcome> {
  const receipts: Receipt[] = [];
  const undos: EntryId[] = [];
  const redone = findRedone(session.fold.path.entries, plan);
  const nature = redone === undefined ? "undone" : redone.edit.type === "boundary" ? "summarised" : "reduced";
  for (const edit of plan.edits) {
    const draft = { type: "undo", edit: edit.id, ...(options.thinking === "bound" ? { dropsThinking: true } : {}) };
    const edited = await session.edit({ drafts: [draft], cause: "asked", nature });
    if (edited.kind === "failed") return edited;
    receipts.push(edited.receipt);
    undos.push(...edited.entries);
  }
  return { kind: "undone", edits: plan.edits, said: plan.said, receipts, undos, redone };
}

/** The edit that counts again once the plan is carried out: the undo of its undo. Undefined if something is only undone. */
function findRedone(path: readonly Entry[], { edits }: ReadyPlan): EditEntry | undefined {
  // What covers the edit in question is undone before it.
  let found = edits.at(-1);
  let undos = 0;
  while (found !== undefined && isUndo(found)) {
    const target = found.edit.edit;
    found = path.find((entry): entry is EditEntry => entry.kind === "edit" && entry.id === target);
    undos += 1;
  }
  return undos % 2 === 1 ? found : undefined;
}

async function branchBefore(session: Session, edits: readonly EditEntry[]): Promise<UndoOutcome> {
  const edit = edits.at(-1);
  if (edit === undefined) return { kind: "refused", why: "nothing-to-undo", text: "no edit is in force" };
  return branchTo(session, { edit, at: edit.parent ?? edit.logicalParent ?? null });
}

/** Continues the conversation at another entry. The branch records which leaf it left, so that its undo leads back there. */
async function branchTo(session: Session, { edit, at }: { edit: EditEntry; at: EntryId | null }): Promise<UndoOutcome> {
  const appended = await branchBehind(session, { behind: at, before: edit.id, asked: "left" });
  if (appended.kind === "failed") return appended;
  return { kind: "branched", before: edit, at, branch: appended.entries.at(-1) };
}

const isBranch = (entry: EditEntry): entry is EditEntry & { edit: { type: "branch" } } => entry.edit.type === "branch";

/** A message with which the user began a turn. The conversation can be continued from before it. */
export interface RewindPoint {
  readonly id: EntryId;
  readonly text: string;
  /** Timestamp in the log. */
  readonly at: string | undefined;
  /** `covered`: a later boundary covers it, and the view does not show it. */
  readonly state: "in-view" | "covered";
}

/** The rewind points of the path, as far as it was read, newest first. */
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
      /** The user's message. */
      readonly text: string;
      /** Undoing it leads back. */
      readonly branch: EntryId | undefined;
      /** Number of entries that are now only on the old branch. */
      readonly left: number;
    }
  /** No user message on the path has this id. */
  | { readonly kind: "not-said" }
  | WriteFailure;

/**
 * Continues the conversation from before a message. Nothing is deleted: everything since stays on the old branch, where
 * recall finds it and an undo leads back to it. Settings belong to the session and stay in force.
 */
export async function rewind(session: Session, message: EntryId): Promise<RewindOutcome> {
  if (!session.fold.path.has(message)) await loadWholePath(session);
  const { path } = session.fold;
  const entries = path.entries;
  const at = entries.findIndex(({ id }) => id === message);
  const entry = entries[at];
  const text = entry === undefined ? undefined : userTypedText(entry);
  if (entry === undefined || text === undefined) return { kind: "not-said" };
  const appended = await branchBehind(session, { behind: parentId(entry), before: message, asked: "left" });
  if (appended.kind === "failed") return appended;
  return { kind: "rewound", text, branch: appended.entries.at(-1), left: entries.length - at };
}

/**
 * The conversation continues behind an entry, on the path or on another branch; null: from its very beginning. `asked`: what
 * becomes of the user's own undos and pins on the part that is left, if they are about what stays.
 */
export async function branchBehind(
  session: Session,
  {
    behind,
    before,
    asked,
  }: { readonly behind: EntryId | null; readonly before: EntryId | undefined; readonly asked: "left" | "repeated" },
): Promise<AppendEntriesOutcome> {
  // Settings since then belong to the session and are repeated, so they must be known.
  if (behind === null || !session.fold.path.has(behind)) await loadWholePath(session);
  const { path } = session.fold;
  const from = path.leaf?.id;
  const repeated = asked === "repeated" ? repeatAsked(entriesLeft(path, behind)) : [];
  return await session.appendInstead(behind, ...repeated, {
    type: "branch",
    ...(before === undefined ? {} : { before }),
    ...(from === undefined ? {} : { from }),
  });
}

/** What is on the path but not before that entry. */
function entriesLeft(path: Session["fold"]["path"], behind: EntryId | null): readonly Entry[] {
  let shared = behind;
  while (shared !== null && !path.has(shared)) {
    const entry = path.find(shared)?.entry;
    shared = entry === undefined ? null : parentId(entry);
  }
  return path.entries.slice(path.findLastIndex(({ entry }) => entry.id === shared) + 1);
}

/** The undos and pins among these entries that are in force and not about one of these entries. */
function repeatAsked(left: readonly Entry[]): readonly Draft[] {
  const undone = findUndoneEdits(left);
  const ids = new Set(left.map(({ id }) => id));
  return left.flatMap((entry): readonly Draft[] => {
    if (entry.kind !== "edit" || undone.has(entry.id)) return [];
    const { edit } = entry;
    if (edit.type === "undo" && !ids.has(edit.edit)) {
      const { type, dropsThinking } = edit;
      return [{ type, edit: edit.edit, ...(dropsThinking === undefined ? {} : { dropsThinking }) }];
    }
    const isPin = edit.type === "pin" || edit.type === "unpin";
    return isPin && !ids.has(edit.entry) ? [{ type: edit.type, entry: edit.entry }] : [];
  });
}

const parentId = ({ parent, logicalParent }: Entry): EntryId | null => parent ?? logicalParent ?? null;

type ReadSession = Pick<Session, "fold" | "read" | "readWhole">;

/** Is the entry on the path? Also looks before the boundary that the fold begins with. */
export async function isOnPath(session: ReadSession, entry: EntryId): Promise<boolean> {
  if (session.fold.path.has(entry)) return true;
  return session.read.from === "boundary" && (await session.readWhole())?.fold.path.has(entry) === true;
}

/** From now on the session holds its whole path in memory, until a boundary or a change of branch. */
async function loadWholePath(session: ReadSession & Pick<Session, "adoptLog">): Promise<void> {
  const whole = session.read.from === "boundary" ? await session.readWhole() : undefined;
  if (whole !== undefined) session.adoptLog(whole);
}
