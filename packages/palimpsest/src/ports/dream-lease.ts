import type { Millis } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";

/**
 * Says when the memories of a project were last consolidated, and lets one process at a time do it.
 *
 *   free ──acquire──▶ running ──succeed──▶ free, last = when it was acquired
 *   running ──fail──▶ free, last = as before
 *   running ──its process dies──▶ crashed: like free, last = as before
 *   running for too long, its process alive ──▶ left alone, and reported as overdue
 */
export interface DreamLeases {
  /** When the last dream that succeeded began. Undefined if there was none. Usually one stat. Must not reject. */
  lastAt(): Promise<Millis | undefined>;
  /** Takes over the lease of a dead process. Must not reject. */
  acquire(): Promise<DreamLeaseOutcome>;
}

/** The first of the two calls counts; a later one does nothing. Neither must reject. */
export interface DreamLease {
  /** As `lastAt` when the lease was taken: another process may have dreamt since one asked. */
  readonly lastAt: Millis | undefined;
  succeed(): Promise<void>;
  fail(): Promise<void>;
}

export type DreamLeaseOutcome =
  | { readonly kind: "acquired"; readonly lease: DreamLease }
  /** `holder`: a few words for the user. `overdue`: no dream takes so long; it is left alone all the same. */
  | {
      readonly kind: "busy";
      readonly holder: string;
      readonly since: Millis | undefined;
      readonly state: "running" | "overdue";
    }
  | WriteFailure;

export interface DreamLeasesDep {
  readonly dreams: DreamLeases;
}
