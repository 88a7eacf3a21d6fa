import type { SessionId } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";
import type { NamedSource } from "./garbage-store.ts";

/**
 * How a store deletes a session:
 *
 *   stored ──detach──▶ detached ──purge──▶ gone
 *
 * `detach` is one step: a process that is killed leaves either a session that opens, or one that no list, search or open
 * finds any more. A detached session stays on record until it is purged, so that another process can finish the work.
 */
export interface SessionDeletion {
  /** Refuses a session that is open. A session that is detached already counts as `detached`. Must not reject. */
  detach(session: SessionId): Promise<DetachOutcome>;
  /** Sessions that were detached and not purged yet. */
  detached(): Promise<readonly SessionId[]>;
  /** Everything of a session, stored or detached, that takes space or may name a blob, except blobs and links to them. */
  places(session: SessionId): AsyncIterable<NamedSource>;
  /**
   * Removes what is left of detached sessions, and what indexes say about them. One that another process is at work on
   * stays on record. Must not reject.
   */
  purge(sessions: readonly SessionId[]): Promise<WriteFailure | undefined>;
}

export type DetachOutcome =
  | { readonly kind: "detached" }
  | { readonly kind: "missing" }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

export interface SessionDeletionDep {
  readonly deletion: SessionDeletion;
}
