import { CostLedger, costSources, type PaidRequest } from "../cache/cost-ledger.ts";
import type { Session } from "../session/session.ts";
import { type AgentId, type SessionId, tokens, type NanoUsd, nanoUsd, type EntryId } from "../schema/brand.ts";
import type { AssistantEntry, Entry, EditEntry } from "../schema/entry.ts";
import { z } from "zod";
import type { CompactionCall, CompactionTrigger } from "../schema/compaction-cause.ts";
import { type Edit, type PaidCall, paidCallsShape } from "../schema/edit.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Json, JsonObject } from "../schema/json.ts";

/** `inherited`: paid by the session that this one was forked or copied from. */
type PastRequest = PaidRequest & { readonly paidBy: "own" | "inherited" };

interface PastRequestsInput {
  /** Entries of every branch: an abandoned branch was paid for too. */
  readonly entries: Iterable<Entry>;
  readonly session: SessionId;
}

/**
 * The requests that a session has paid for, as far as its log was read, with the usage as the provider reported it. Their
 * prices add up exactly to what was booked at the time.
 */
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
        recall: recallCallsIn(entry.edit),
        extraction: backgroundCallsIn(entry.edit, "extraction"),
        dream: backgroundCallsIn(entry.edit, "dream"),
        agents: readAgentSpent(entry.edit)?.calls ?? progressCallsIn(entry.edit),
      };
      const agent = readAgentSpent(entry.edit)?.name;
      const firstId = (entry.edit.type === "setting" ? entry.edit.again : undefined) ?? entry.id;
      for (const source of costSources)
        for (const [at, { model, usage }] of booked[source].entries())
          byKey.set(`${source} ${firstId} ${at}`, { paidBy, source, model, usage, headerTokens: tokens(0), agent });
      continue;
    }
    const paid = replyRequest(entry);
    // If a reply has several entries, the last one has the whole usage.
    if (paid !== undefined) byKey.set(`reply ${entry.messageId ?? ""}`, { ...paid, paidBy });
  }
  return [...byKey.values()];
}

function replyRequest({ messageId, model, askedModel, saidUsage, synthetic }: AssistantEntry): PaidRequest | undefined {
  if (messageId === undefined || saidUsage === undefined || synthetic) return undefined;
  return { source: "main", model: askedModel ?? model ?? "", usage: saidUsage, headerTokens: tokens(0) };
}

type CostsByPayer = Readonly<Record<"own" | "inherited", CostLedger>>;

/** The costs in a session's log: its own, and those from before it was forked or copied. */
export function pastCosts(session: Session, models?: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ entries: session.fold.path.everyBranch, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}

const compactionSpentName = "compaction.spent";
const compactionSpentShape = z.object({ calls: paidCallsShape, trigger: z.string().optional() });

/** Books calls whose summary was never used; the calls of a boundary are in its metadata. */
export const compactionCostDraft = (calls: readonly CompactionCall[], trigger: CompactionTrigger): Draft => ({
  type: "setting",
  name: compactionSpentName,
  value: { calls, trigger },
});

/** The paid calls for summaries that this entry books. They count even if the entry was undone. */
export function compactionCallsIn({ edit }: EditEntry): readonly PaidCall[] {
  if (edit.type === "boundary") return edit.metadata.calls ?? [];
  return readCompactionSpent(edit)?.calls ?? [];
}

/** Did the user request what this entry books? */
export const isRequestedByUser = ({ edit }: EditEntry): boolean =>
  (edit.type === "boundary" ? edit.metadata.trigger : readCompactionSpent(edit)?.trigger) === "manual";

/** What a setting books, apart from any boundary. */
export const readCompactionSpent = (edit: Edit): z.infer<typeof compactionSpentShape> | undefined =>
  edit.type === "setting" && edit.name === compactionSpentName
    ? compactionSpentShape.safeParse(edit.value).data
    : undefined;

/** Records the calls, if there are any. Must not reject: if the disk fails, only the record of the cost is lost. */
export async function bookCalls(
  session: Pick<Session, "append">,
  { calls, trigger }: { readonly calls: readonly CompactionCall[]; readonly trigger: CompactionTrigger },
): Promise<void> {
  if (calls.length > 0) await session.append(compactionCostDraft(calls, trigger)).catch(() => undefined);
}

/** Priced as in the cost ledger. */
export const callsCost = ({ costs }: { readonly costs: CostLedger }, calls: readonly PaidCall[]): NanoUsd =>
  nanoUsd(calls.reduce((sum, { model, usage }) => sum + costs.priceOf({ model, usage }), 0));

const notesSpentName = "notes.spent";
const notesFailureShape = z.object({ why: z.string(), message: z.string() });
const notesFailedShape = z.object({ failed: notesFailureShape });
const notesSpentShape = z.object({ calls: paidCallsShape });

/** Why an update of the notes failed. `message`: one line. */
export type NotesFailure = z.infer<typeof notesFailureShape>;

interface NotesCost {
  readonly model: string;
  /** The usage of each request of the update. */
  readonly usage: readonly JsonObject[];
  readonly failed?: NotesFailure | undefined;
}

/**
 * Books the cost of an update of the notes, and its failure: a fork's requests are nowhere else in the log, and the failure is not
 * shown to the user.
 */
export const notesCostDraft = ({ model, usage, failed }: NotesCost): Draft => ({
  type: "setting",
  name: notesSpentName,
  value: {
    calls: usage.map((requestUsage) => ({ path: "fork", model, usage: requestUsage })),
    ...(failed === undefined ? {} : { failed }),
  },
});

/** The failure of the newest update; undefined if it succeeded or there was none. `settings`: those of the path. */
export function lastNotesFailure(settings: ReadonlyMap<string, Json>): NotesFailure | undefined {
  return notesFailedShape.safeParse(settings.get(notesSpentName)).data?.failed;
}

/** The calls for notes that this edit books. */
export function notesCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== notesSpentName) return [];
  return notesSpentShape.safeParse(edit.value).data?.calls ?? [];
}

/** An update of the notes that cost something or failed. */
export interface NotesUpdate {
  readonly id: EntryId;
  /** When it ended, according to the log. */
  readonly at: string;
  readonly calls: readonly PaidCall[];
  readonly failed: NotesFailure | undefined;
}

/** Lists each update once, although a retry may have booked it again. `entries`: of every branch, since all were paid. */
export function listNotesUpdates(entries: Iterable<Entry>): readonly NotesUpdate[] {
  const byFirst = new Map<EntryId, NotesUpdate>();
  for (const entry of entries) {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== notesSpentName) continue;
    const { again: id = entry.id, value } = entry.edit;
    const failed = notesFailedShape.safeParse(value).data?.failed;
    if (!byFirst.has(id)) byFirst.set(id, { id, at: entry.timestamp ?? "", calls: notesCallsIn(entry.edit), failed });
  }
  return [...byFirst.values()];
}

const recallSpentName = "recall.spent";
const recallSpentShape = z.object({ calls: paidCallsShape });

/** Books requests that chose memories for a message. */
export const recallCostDraft = (calls: readonly ReplyCost[]): Draft => ({
  type: "setting",
  name: recallSpentName,
  value: { calls: calls.map(({ model, usage }) => ({ path: "stream", model, usage })) },
});

function recallCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== recallSpentName) return [];
  return recallSpentShape.safeParse(edit.value).data?.calls ?? [];
}

const memorySpentName = "memory.spent";
const memorySpentShape = z.object({ source: z.enum(["extraction", "dream"]), calls: paidCallsShape });

interface BackgroundCost extends NotesCost {
  readonly source: z.infer<typeof memorySpentShape>["source"];
}

/** Books the requests of a fork that kept memories, and its failure: neither is anywhere else in the log. */
export const backgroundCostDraft = ({ source, model, usage, failed }: BackgroundCost): Draft => ({
  type: "setting",
  name: memorySpentName,
  value: {
    source,
    calls: usage.map((requestUsage) => ({ path: "fork", model, usage: requestUsage })),
    ...(failed === undefined ? {} : { failed }),
  },
});

/** An extraction or a dream that cost something or failed. */
export interface MemoryWork extends NotesUpdate {
  readonly source: BackgroundCost["source"];
}

/** Lists each once, although a retry may have booked it again. `entries`: of every branch, since all were paid. */
export function listMemoryWork(entries: Iterable<Entry>): readonly MemoryWork[] {
  const byFirst = new Map<EntryId, MemoryWork>();
  for (const entry of entries) {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== memorySpentName) continue;
    const { again: id = entry.id, value } = entry.edit;
    const spent = memorySpentShape.safeParse(value).data;
    if (spent === undefined || byFirst.has(id)) continue;
    const failed = notesFailedShape.safeParse(value).data?.failed;
    byFirst.set(id, { ...spent, id, at: entry.timestamp ?? "", failed });
  }
  return [...byFirst.values()];
}

function backgroundCallsIn(edit: Edit, source: BackgroundCost["source"]): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== memorySpentName) return [];
  const spent = memorySpentShape.safeParse(edit.value).data;
  return spent?.source === source ? spent.calls : [];
}

const agentSpentName = "agents.spent";
const agentSpentShape = z.object({ agent: z.string(), name: z.string(), calls: paidCallsShape });

interface AgentCost {
  readonly agent: AgentId;
  readonly name: string;
  readonly calls: readonly ReplyCost[];
}

/** Books what an agent has paid since it was booked last: its own transcript may be deleted or lie elsewhere. */
export const agentCostDraft = ({ agent, name, calls }: AgentCost): Draft => ({
  type: "setting",
  name: agentSpentName,
  value: { agent, name, calls: calls.map(({ model, usage }) => ({ path: "stream", model, usage })) },
});

const readAgentSpent = (edit: Edit): z.infer<typeof agentSpentShape> | undefined =>
  edit.type === "setting" && edit.name === agentSpentName ? agentSpentShape.safeParse(edit.value).data : undefined;

const progressSpentName = "progress.spent";
const progressSpentShape = z.object({ calls: paidCallsShape });

/** Books the requests for one progress line of an agent, in the agent's own log. */
export const progressCostDraft = (calls: readonly PaidCall[]): Draft => ({
  type: "setting",
  name: progressSpentName,
  value: { calls },
});

function progressCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== progressSpentName) return [];
  return progressSpentShape.safeParse(edit.value).data?.calls ?? [];
}

const replySpentName = "reply.spent";
const replySpentShape = z.object({ calls: paidCallsShape });

export interface ReplyCost {
  readonly model: string;
  readonly usage: JsonObject;
}

/** Books a request whose reply left nothing in the log: it broke off before its first complete block, or had no block. */
export const replyCostDraft = ({ model, usage }: ReplyCost): Draft => ({
  type: "setting",
  name: replySpentName,
  value: { calls: [{ path: "main", model, usage }] },
});

/** Marks where a broken reply was abandoned: the path continues here. */
export const abandonedReplyDraft: Draft = { type: "setting", name: "reply.left", value: true };

/** The requests of the conversation itself that this edit books. */
export function replyCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== replySpentName) return [];
  return replySpentShape.safeParse(edit.value).data?.calls ?? [];
}
