import type { EntryId } from "../schema/brand.ts";
import type { DamageKind } from "../transcript/lines.ts";

/** What is wrong with the entries that could be read: the bytes are whole, their relations are not. */
type StructureKind =
  | "duplicate-uuid"
  | "missing-parent"
  | "parent-cycle"
  | "unanswered-call"
  | "orphan-result"
  | "malformed-edit";

export interface Finding {
  readonly kind: DamageKind | StructureKind;
  readonly start: number;
  readonly end: number;
  readonly detail: string;
  readonly uuid?: EntryId;
}
