import type { WriteFailure } from "../../ports/blobs.ts";

/** A write that a test wants refused. `keptBytes` of it are written all the same, as a full disk does. */
export interface Fault {
  readonly why: WriteFailure["why"];
  readonly keptBytes?: number;
}

/** Asked before each write of the store, counted from 0; undefined lets the write pass. */
export type FaultAt = (write: number) => Fault | undefined;

/** The nth write (from 0) is refused and every other one passes. */
export const faultOnce =
  (nth: number, fault: Fault): FaultAt =>
  (write) =>
    write === nth ? fault : undefined;

export const faultFailure = (fault: Fault): WriteFailure => ({
  kind: "failed",
  why: fault.why,
  message: `The write was refused (${fault.why}): an injected fault.`,
});
