import type { Blobs, WriteFailure } from "./blobs.ts";
import type { Transcripts } from "./transcripts.ts";

/** Where sessions are kept. None of it needs a file path. */
export interface Store {
  /** Must not reject. */
  open(): Promise<StoreOpened>;
}

export type StoreOpened = ({ readonly kind: "open" } & StorePorts) | WriteFailure;

export interface StorePorts {
  readonly transcripts: Transcripts;
  readonly blobs: Blobs;
}
