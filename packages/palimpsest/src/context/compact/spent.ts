import { z } from "zod";
import type { CostLedger } from "../../cache/costs.ts";
import { type NanoUsd, nanoUsd } from "../../schema/brand.ts";
import type { CompactionCall, CompactionTrigger } from "../../schema/compaction.ts";
import { type Edit, type PaidCall, paidCallsShape } from "../../schema/edit.ts";
import type { EditEntry } from "../../schema/entry.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Session } from "../../session/session.ts";

const spentName = "compaction.spent";
const spentShape = z.object({ calls: paidCallsShape, trigger: z.string().optional() });

/** Books calls whose summary was never installed; those of a boundary stand in its metadata. */
export const spentDraft = (calls: readonly CompactionCall[], trigger: CompactionTrigger): Draft => ({
  type: "setting",
  name: spentName,
  value: { calls, trigger },
});

/** Calls for summaries that were paid for and that this entry books. An undo takes no money back: undone or not, they count. */
export function callsIn({ edit }: EditEntry): readonly PaidCall[] {
  if (edit.type === "boundary") return edit.metadata.calls ?? [];
  return spentIn(edit)?.calls ?? [];
}

/** Whether a person wanted what this entry books. */
export const isAskedFor = ({ edit }: EditEntry): boolean =>
  (edit.type === "boundary" ? edit.metadata.trigger : spentIn(edit)?.trigger) === "manual";

/** What an edit books beside any boundary. */
export const spentIn = (edit: Edit): z.infer<typeof spentShape> | undefined =>
  edit.type === "setting" && edit.name === spentName ? spentShape.safeParse(edit.value).data : undefined;

export interface Booking {
  readonly calls: readonly CompactionCall[];
  readonly trigger: CompactionTrigger;
}

/** Writes them down where there are any. Must not reject: a disk that refuses loses no more than the note of what was paid. */
export async function bookCalls(session: Pick<Session, "append">, { calls, trigger }: Booking): Promise<void> {
  if (calls.length > 0) await session.append(spentDraft(calls, trigger)).catch(() => undefined);
}

/** As the cost ledger books them. */
export const callsCost = ({ costs }: { readonly costs: CostLedger }, calls: readonly PaidCall[]): NanoUsd =>
  nanoUsd(calls.reduce((sum, { model, usage }) => sum + costs.priceOf({ model, usage }), 0));
