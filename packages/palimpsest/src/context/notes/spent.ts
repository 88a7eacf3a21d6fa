import { z } from "zod";
import type { EntryId } from "../../schema/brand.ts";
import { type Edit, type PaidCall, paidCallsShape } from "../../schema/edit.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Json, JsonObject } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";

const spentName = "notes.spent";
const failureShape = z.object({ why: z.string(), message: z.string() });
const failedShape = z.object({ failed: failureShape });
const spentShape = z.object({ calls: paidCallsShape });

/** Why an extraction came to nothing. `message`: one line. */
export type NotesFailure = z.infer<typeof failureShape>;

export interface NotesSpent {
  readonly model: string;
  /** Of each request of an extraction. */
  readonly usage: readonly JsonObject[];
  readonly failed?: NotesFailure | undefined;
}

/** Books what an extraction cost, and that it failed: a fork's requests are in no other line of the log, and nobody is shown the failure. */
export const notesSpentDraft = ({ model, usage, failed }: NotesSpent): Draft => ({
  type: "setting",
  name: spentName,
  value: {
    calls: usage.map((one) => ({ path: "fork", model, usage: one })),
    ...(failed === undefined ? {} : { failed }),
  },
});

/** Of the newest extraction; undefined where it went well, or there was none. `settings`: of the path. */
export function lastNotesFailure(settings: ReadonlyMap<string, Json>): NotesFailure | undefined {
  return failedShape.safeParse(settings.get(spentName)).data?.failed;
}

/** Calls for notes that this edit books. */
export function notesCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== spentName) return [];
  return spentShape.safeParse(edit.value).data?.calls ?? [];
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
export function extractionsIn(entries: Iterable<Entry>): readonly Extraction[] {
  const byFirst = new Map<EntryId, Extraction>();
  for (const entry of entries) {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== spentName) continue;
    const { again: id = entry.id, value } = entry.edit;
    const failed = failedShape.safeParse(value).data?.failed;
    if (!byFirst.has(id)) byFirst.set(id, { id, at: entry.timestamp ?? "", calls: notesCallsIn(entry.edit), failed });
  }
  return [...byFirst.values()];
}
