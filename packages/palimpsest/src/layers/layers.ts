import { clearByIdleness } from "./2-clear/clear-by-idleness.ts";
import { clearByPrice } from "./2-clear/clear-by-price.ts";
import { clearByServer } from "./2-clear/clear-by-server.ts";
import { clearBySize } from "./2-clear/clear-by-size.ts";
import { clearInCache } from "./2-clear/clear-in-cache.ts";
import { collapseOldest } from "./2-clear/collapse-oldest.ts";
import { snipLowValue } from "./2-clear/snip-low-value.ts";
import { truncateOldest } from "./2-clear/truncate-oldest.ts";
import { compactWhenDue } from "./4-compact/compact-when-due.ts";
import type { Layer } from "./layer.ts";

/**
 * All layers that may change the view before a request, in the order in which they are asked. Conversations, library
 * contexts and replays use the same list.
 */
export const layers: readonly Layer[] = [
  truncateOldest,
  snipLowValue,
  clearBySize,
  clearByIdleness,
  clearByServer,
  // Before `clearByPrice`: while the cache is warm, deleting in it costs nothing.
  clearInCache,
  clearByPrice,
  collapseOldest,
  compactWhenDue,
];
