import { setFlagsFromString } from "node:v8";
import { heapGrowingPercent } from "./limits.ts";

/**
 * By default V8 starts a full collection for every 64 MB allocated outside its heap, even if those buffers are already free;
 * with 1.5 MB bodies that is every 20 requests. Counting them as heap ties collections to heap growth, and the heap may grow
 * to a multiple of what the last collection left. Call it only in a process that is nothing but a gateway.
 */
export function countBodiesAsHeap(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
}
