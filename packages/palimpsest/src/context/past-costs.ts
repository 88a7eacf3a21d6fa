import { CostLedger, type PaidRequest } from "../cache/cost-ledger.ts";
import type { Session } from "../session/session.ts";
import { type SessionId, tokens, type NanoUsd, nanoUsd, type EntryId } from "../schema/brand.ts";
import type { AssistantEntry, Entry, EditEntry } from "../schema/entry.ts";
import { z } from "zod";
import type { CompactionCall, CompactionTrigger } from "../schema/compaction-cause.ts";
import { type Edit, type PaidCall, paidCallsShape } from "../schema/edit.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Json, JsonObject } from "../schema/json.ts";

/** `inherited`: paid by the session that this one was forked or copied from. */
type PastRequest = PaidRequest & { readonly paidBy: "own" | "inherited" };

interface PastRequestsInput {
  /** Of every branch: what was left stays paid. */
  readonly entries: Iterable<Entry>;
  readonly session: SessionId;
}

/** What was paid for a session so far, as far as its log was read, to the billionth what was booked then: each request in the provider's words. */
export function pastRequests({ entries, session }: PastRequestsInput): readonly PastRequest[] {
  const byKey = new Map<string, PastRequest>();
  for (const entry of entries) {
    if (entry.kind !== "assistant" && entry.kind !== "edit") continue;
    const paidBy = entry.session === session ? "own" : "inherited";
    if (entry.kind === "edit") {
      const booked = {
        main: replyCallsIn(entry.edit),
        compact: compactionCallsIn(entry),
        notes: notesCallsIn(entry.edit),
      };
      const bookedFirst = (entry.edit.type === "setting" ? entry.edit.again : undefined) ?? entry.id;
      for (const source of ["main", "compact", "notes"] as const)
        for (const [at, { model, usage }] of booked[source].entries())
          byKey.set(`${source} ${bookedFirst} ${at}`, { paidBy, source, model, usage, headerTokens: tokens(0) });
      continue;
    }
    const paid = replyRequest(entry);
    // Of a reply in several entries the last one has the whole usage.
    if (paid !== undefined) byKey.set(`reply ${entry.messageId ?? ""}`, { ...paid, paidBy });
  }
  return [...byKey.values()];
}

function replyRequest({ messageId, model, askedModel, saidUsage, synthetic }: AssistantEntry): PaidRequest | undefined {
  if (messageId === undefined || saidUsage === undefined || synthetic) return undefined;
  return { source: "main", model: askedModel ?? model ?? "", usage: saidUsage, headerTokens: tokens(0) };
}

type CostsByPayer = Readonly<Record<"own" | "inherited", CostLedger>>;

/** What the log of a session says was paid: for itself, and before it was forked or copied. */
export function pastCosts(session: Session, models?: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ entries: session.fold.path.everyBranch, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}

const compactionSpentName = "compaction.spent";
const compactionSpentShape = z.object({ calls: paidCallsShape, trigger: z.string().optional() });

/** Books calls whose summary was never installed; those of a boundary stand in its metadata. */
export const compactionCostDraft = (calls: readonly CompactionCall[], trigger: CompactionTrigger): Draft => ({
  type: "setting",
  name: compactionSpentName,
  value: { calls, trigger },
});

/** Calls for summaries that were paid for and that this entry books. An undo takes no money back: undone or not, they count. */
export function compactionCallsIn({ edit }: EditEntry): readonly PaidCall[] {
  if (edit.type === "boundary") return edit.metadata.calls ?? [];
  return readCompactionSpent(edit)?.calls ?? [];
}

/** Whether a person wanted what this entry books. */
export const isRequestedByUser = ({ edit }: EditEntry): boolean =>
  (edit.type === "boundary" ? edit.metadata.trigger : readCompactionSpent(edit)?.trigger) === "manual";

/** What an edit books beside any boundary. */
export const readCompactionSpent = (edit: Edit): z.infer<typeof compactionSpentShape> | undefined =>
  edit.type === "setting" && edit.name === compactionSpentName
    ? compactionSpentShape.safeParse(edit.value).data
    : undefined;

/** Writes them down where there are any. Must not reject: a disk that refuses loses no more than the note of what was paid. */
export async function bookCalls(
  session: Pick<Session, "append">,
  { calls, trigger }: { readonly calls: readonly CompactionCall[]; readonly trigger: CompactionTrigger },
): Promise<void> {
  if (calls.length > 0) await session.append(compactionCostDraft(calls, trigger)).catch(() => undefined);
}

/** As the cost ledger books them. */
export const callsCost = ({ costs }: { readonly costs: CostLedger }, calls: readonly PaidCall[]): NanoUsd =>
  nanoUsd(calls.reduce((sum, { model, usage }) => sum + costs.priceOf({ model, usage }), 0));

const notesSpentName = "notes.spent";
const notesFailureShape = z.object({ why: z.string(), message: z.string() });
const notesFailedShape = z.object({ failed: notesFailureShape });
const notesSpentShape = z.object({ calls: paidCallsShape });

/** Why an extraction came to nothing. `message`: one line. */
export type NotesFailure = z.infer<typeof notesFailureShape>;

interface NotesCost {
  readonly model: string;
  /** Of each request of an extraction. */
  readonly usage: readonly JsonObject[];
  readonly failed?: NotesFailure | undefined;
}

/** Books what an extraction cost, and that it failed: a fork's requests are in no other line of the log, and nobody is shown the failure. */
export const notesCostDraft = ({ model, usage, failed }: NotesCost): Draft => ({
  type: "setting",
  name: notesSpentName,
  value: {
    calls: usage.map((one) => ({ path: "fork", model, usage: one })),
    ...(failed === undefined ? {} : { failed }),
  },
});

/** Of the newest extraction; undefined where it went well, or there was none. `settings`: of the path. */
export function lastNotesFailure(settings: ReadonlyMap<string, Json>): NotesFailure | undefined {
  return notesFailedShape.safeParse(settings.get(notesSpentName)).data?.failed;
}

/** Calls for notes that this edit books. */
export function notesCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== notesSpentName) return [];
  return notesSpentShape.safeParse(edit.value).data?.calls ?? [];
}

/** One that something was paid for, or that failed. */
export interface Extraction {
  readonly id: EntryId;
  /** When it was over, as the log says it. */
  readonly at: string;
  readonly calls: readonly PaidCall[];
  readonly failed: NotesFailure | undefined;
}

/** Each once, although a retry may have booked it again. `entries`: of every branch, since money does not come back. */
export function listExtractions(entries: Iterable<Entry>): readonly Extraction[] {
  const byFirst = new Map<EntryId, Extraction>();
  for (const entry of entries) {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== notesSpentName) continue;
    const { again: id = entry.id, value } = entry.edit;
    const failed = notesFailedShape.safeParse(value).data?.failed;
    if (!byFirst.has(id)) byFirst.set(id, { id, at: entry.timestamp ?? "", calls: notesCallsIn(entry.edit), failed });
  }
  return [...byFirst.values()];
}

const replySpentName = "reply.spent";
const replySpentShape = z.object({ calls: paidCallsShape });

interface ReplyCost {
  /** Who was asked. */
  readonly model: string;
  readonly usage: JsonObject;
}

/** Books a request of whose reply nothing stands in the log: it broke off before its first block was whole, or had none. */
export const replyCostDraft = ({ model, usage }: ReplyCost): Draft => ({
  type: "setting",
  name: replySpentName,
  value: { calls: [{ path: "main", model, usage }] },
});

/** Stands where a reply broke off that was left for good: the path goes on here. */
export const abandonedReplyDraft: Draft = { type: "setting", name: "reply.left", value: true };

/** Requests of the conversation itself that this edit books. */
export function replyCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== replySpentName) return [];
  return replySpentShape.safeParse(edit.value).data?.calls ?? [];
}
