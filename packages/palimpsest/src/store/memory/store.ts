import type { Store, StorePorts } from "../../ports/store.ts";
import { millis } from "../../schema/brand.ts";
import { memoryBlobs } from "./memory-blobs.ts";
import { memoryLeases, memoryTranscripts } from "./memory-transcripts.ts";

/** Keeps sessions only as long as the store object exists: for tests and temporary sessions. */
export function memoryStore(): Store {
  const deps = { now: () => millis(Date.now()) };
  const leases = memoryLeases(deps);
  const transcripts = memoryTranscripts({ deps, leases });
  const ports: StorePorts = { transcripts, blobs: memoryBlobs(), sessions: transcripts, leases };
  return { open: () => Promise.resolve({ kind: "open", ...ports }) };
}
