import type { SpendEntry, SpendSums } from "../cache/background-budget.ts";
import type { Millis } from "../schema/brand.ts";

/**
 * What the sessions of a project have paid lately, from all processes, so that background work knows its budget. It is no
 * bill: the transcripts have that. An entry older than a week may be dropped.
 */
export interface SpendLog {
  /** Must not reject: a disk that refuses loses an entry, never a turn. */
  add(entry: SpendEntry): Promise<void>;
  /** The sums of the entries from this time on. Must not reject: what can't be read does not count. */
  since(at: Millis): Promise<SpendSums>;
}
