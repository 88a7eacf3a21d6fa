import type { WriteFailure } from "./blobs.ts";

/** Of each name there is one holder at a time, across processes. The lease of a session bears its id. */
export interface Leases {
  /** Must not reject. Takes over what a dead process left. */
  acquire(name: string): Promise<LeaseOutcome>;
  /** Who has it now. Changes nothing. */
  look(name: string): Promise<LeaseState>;
}

export interface Lease {
  /** Cheap enough for every append. `lost`: another process may hold it by now. */
  state(): Promise<"held" | "lost">;
  /** Frees the name, unless the lease was lost. A second release does nothing. */
  release(): Promise<void>;
}

export type LeaseOutcome =
  | { readonly kind: "acquired"; readonly lease: Lease }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

export type LeaseState =
  | { readonly kind: "free" }
  /** `holder`: a few words for people. */
  | { readonly kind: "held"; readonly holder: string }
  /** By a process that is gone. */
  | { readonly kind: "left" };

export interface LeasesDep {
  readonly leases: Leases;
}
