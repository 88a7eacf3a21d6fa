import type { Store, StorePorts } from "../../ports/store.ts";
import { millis } from "../../schema/brand.ts";
import { memoryBlobs } from "./blobs.ts";
import { memoryTranscripts } from "./transcripts.ts";

/** Sessions that last as long as the store: for tests, and for what nobody wants kept. */
export function memoryStore(): Store {
  const ports: StorePorts = {
    transcripts: memoryTranscripts({ deps: { now: () => millis(Date.now()) } }),
    blobs: memoryBlobs(),
  };
  return { open: () => Promise.resolve({ kind: "open", ...ports }) };
}
