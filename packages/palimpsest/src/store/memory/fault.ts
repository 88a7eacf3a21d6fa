import type { WriteFailure } from "../../ports/blobs.ts";

/** A write failure that a test injects. The first `keptBytes` are written all the same, as on a full disk. */
export interface Fault {
  readonly why: WriteFailure["why"];
  readonly keptBytes?: number;
}

/** Called before each write of the store, counted from 0; undefined lets the write succeed. */
export type FaultAt = (write: number) => Fault | undefined;

/** The nth write (from 0) fails and every other one succeeds. */
export const faultOnce =
  (nth: number, fault: Fault): FaultAt =>
  (write) =>
    write === nth ? fault : undefined;

export const faultFailure = (fault: Fault): WriteFailure => ({
  kind: "failed",
  why: fault.why,
  message: `The write was refused (${fault.why}): an injected fault.`,
});
