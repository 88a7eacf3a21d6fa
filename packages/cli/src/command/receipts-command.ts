import { openWorkspace } from "../host/workspace.ts";
import {
  readCompactionSpent,
  type NotesUpdate,
  listMemoryWork,
  listNotesUpdates,
} from "palimpsest/internal/context/past-costs";
import { addComputedReceipts, pastReceipts } from "palimpsest/internal/session/past-receipts";
import { nanoUsd } from "palimpsest/internal/schema/brand";
import type { Path } from "palimpsest/internal/transcript/path";
import {
  type BoundaryFacts,
  readBoundaryFacts,
  memoryWorkText,
  notesUpdatesText,
  type ListedBoundary,
  type ListedEdit,
  type ListedCost,
  editReceiptText,
  spendingText,
} from "../text/receipt-text.ts";
import { createCallsPricer, type CallsPricer } from "../text/cost-by-source-name.ts";
import { command } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { openNamedLog, openWithEdits, wrongFileFailure } from "../session/named-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const receiptsCommand = command({
  name: "receipts",
  summary: "show what every edit of a session did, why, and what it cost",
  operands: { session: sessionOperand },
  json: "path and edits: id, kind, at, state, by, cause, because and the figures behind it, count, tokens before and after, those of the whole context for a boundary, price, what made a summary, what it cost and which it follows, how to undo; spent: calls for summaries that were never installed; notes: updates of every branch, what they cost and why one failed; memory: the same of extractions and dreams (source)",
  run: async (context, { operands, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openWithEdits(log);
      const wrong = wrongFileFailure(log, opened);
      if (wrong !== undefined) return wrong;
      const { fold } = opened;
      const edits = await addComputedReceipts(log, { ...log, fold, edits: await pastReceipts(fold, log.source) });
      const facts = readBoundaryFacts(opened.fold.path.entries);
      const { reading } = await openWorkspace(context).settings();
      const priceOf = createCallsPricer(reading.settings.models.value);
      const listed = edits.map((edit): ListedEdit => ({ ...edit, boundary: withCost(facts.get(edit.id), priceOf) }));
      const spent = listSpendings(opened.fold.path, priceOf);
      const notes = listNotesUpdates(opened.fold.path.everyBranch);
      const memory = listMemoryWork(opened.fold.path.everyBranch);
      const session = log.session?.id ?? operands.session;
      if (format === "json") {
        await context.out.json({
          path: log.path,
          edits: listed.map((edit) => asJson(edit, session)),
          spent: spent.map((cost) => spendingJson(cost)),
          notes: notes.map((update) => notesUpdateJson(update, priceOf)),
          memory: memory.map((work) => notesUpdateJson(work, priceOf)),
        });
        return exitCode.fine;
      }
      const { style, columns = columnsDefault } = context.out;
      const textById = new Map([
        ...listed.map((edit) => [edit.id, editReceiptText(edit, { style, columns, session })] as const),
        ...spent.map((cost) => [cost.id, spendingText(cost, style)] as const),
      ]);
      const texts = opened.fold.path.entries.flatMap(({ id }) => (id === undefined ? [] : (textById.get(id) ?? [])));
      await context.out.write(texts.length === 0 ? "No edits.\n" : texts.join(""));
      const costNanos = priceOf(notes.flatMap(({ calls }) => calls));
      await context.out.write(notesUpdatesText(notes, { style, costNanos }));
      for (const source of ["extraction", "dream"] as const) {
        const works = memory.filter((work) => work.source === source);
        const nanos = priceOf(works.flatMap(({ calls }) => calls));
        await context.out.write(memoryWorkText(works, { style, costNanos: nanos }));
      }
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

const columnsDefault = 80;

/** The booked cost counts; today's prices are used only if nothing was booked. */
function withCost(facts: BoundaryFacts | undefined, priceOf: CallsPricer): ListedBoundary | undefined {
  if (facts === undefined) return undefined;
  const { calls, bookedNanos } = facts;
  return { ...facts, costNanos: bookedNanos === undefined ? priceOf(calls) : nanoUsd(bookedNanos) };
}

const listSpendings = ({ entries }: Path, priceOf: CallsPricer): readonly ListedCost[] =>
  entries.flatMap((entry) => {
    const spent = entry.kind === "edit" ? readCompactionSpent(entry.edit) : undefined;
    if (entry.id === undefined || spent === undefined) return [];
    const { calls, trigger } = spent;
    return [{ id: entry.id, at: entry.timestamp ?? "", trigger, calls, costNanos: priceOf(calls) }];
  });

const notesUpdateJson = ({ calls, failed, ...update }: NotesUpdate, priceOf: CallsPricer): object => {
  const costNanos = priceOf(calls);
  return { ...update, failed: failed ?? null, calls, costUsd: costNanos === undefined ? null : costNanos / 1e9 };
};

const spendingJson = ({ trigger, costNanos, ...spending }: ListedCost): object => ({
  ...spending,
  trigger: trigger ?? null,
  costUsd: costNanos === undefined ? null : costNanos / 1e9,
});

const asJson = (
  { receipt, undoes, cause, because, count, boundary, ...edit }: ListedEdit,
  session: string,
): object => ({
  ...edit,
  cause: cause ?? boundary?.trigger ?? null,
  because: because ?? null,
  figures: receipt?.figures ?? null,
  count: count ?? null,
  tokensBefore: receipt?.tokensBefore ?? null,
  tokensAfter: receipt?.tokensAfter ?? null,
  contextTokensBefore: boundary?.tokensBefore ?? null,
  contextTokensAfter: boundary?.tokensAfter ?? null,
  price: edit.by === "caller" ? null : (receipt?.price ?? null),
  compaction: boundary?.path === undefined ? null : compactionJson(boundary),
  entries: receipt?.entries ?? null,
  undo: undoes ? `palimpsest undo ${session} ${edit.id}` : null,
});

const compactionJson = (boundary: ListedBoundary): object => ({
  path: boundary.path,
  auditScore: boundary.auditScore ?? null,
  messagesSummarised: boundary.messagesSummarised ?? null,
  durationMs: boundary.durationMillis ?? null,
  instructions: boundary.instructions ?? null,
  reloaded: boundary.reloaded ?? null,
  changes: boundary.changes,
  calls: boundary.calls,
  costUsd: boundary.costNanos === undefined ? null : boundary.costNanos / 1e9,
  chain: boundary.chain ?? null,
});
