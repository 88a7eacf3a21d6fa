import { setFlagsFromString } from "node:v8";
import { heapGrowingPercent } from "./limits.ts";

/**
 * By default V8 starts a full collection for every 64 MB allocated outside its heap, even if those buffers are already free:
 * bodies fill that within some tens of requests. Counting them as heap ties collections to heap growth. Call it only in a process that is nothing but a gateway.
 */
export function tuneHeap(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
}
