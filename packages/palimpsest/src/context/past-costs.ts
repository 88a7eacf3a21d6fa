import { CostLedger } from "../cache/costs.ts";
import type { Session } from "../session/session.ts";
import type { PaidRequest } from "../cache/costs.ts";
import { type SessionId, tokens } from "../schema/brand.ts";
import type { AssistantEntry, Entry } from "../schema/entry.ts";
import { callsIn } from "./compact/spent.ts";
import { notesCallsIn } from "./notes/spent.ts";
import { replyCallsIn } from "./reply/reply-spent.ts";

/** `inherited`: paid by the session that this one was forked or copied from. */
export type PastRequest = PaidRequest & { readonly paidBy: "own" | "inherited" };

export interface PastInput {
  /** Of every branch: what was left stays paid. */
  readonly entries: Iterable<Entry>;
  readonly session: SessionId;
}

/** What was paid for a session so far, as far as its log was read, to the billionth what was booked then: each request in the provider's words. */
export function pastRequests({ entries, session }: PastInput): readonly PastRequest[] {
  const byKey = new Map<string, PastRequest>();
  for (const entry of entries) {
    if (entry.kind !== "assistant" && entry.kind !== "edit") continue;
    const paidBy = entry.session === session ? "own" : "inherited";
    if (entry.kind === "edit") {
      const booked = { main: replyCallsIn(entry.edit), compact: callsIn(entry), notes: notesCallsIn(entry.edit) };
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
export function costsSoFar(session: Session, models?: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ entries: session.fold.path.everyBranch, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}
