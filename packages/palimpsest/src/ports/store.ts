import type { Blobs, WriteFailure } from "./blobs.ts";
import type { Leases } from "./leases.ts";
import type { SessionList } from "./session-list.ts";
import type { Transcripts } from "./transcripts.ts";

/** Where sessions are kept. None of it needs a file path. */
export interface Store {
  /** Must not reject. */
  open(): Promise<StoreOpened>;
}

export type StoreOpened = ({ readonly kind: "open" } & StorePorts) | WriteFailure;

/** A conversation needs the first two; whoever offers the others as well is found by those who need them. */
export interface StorePorts {
  readonly transcripts: Transcripts;
  readonly blobs: Blobs;
  readonly sessions?: SessionList;
  readonly leases?: Leases;
}
