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
 * What may change the view before a request, in the order in which it is asked: in a conversation, in a library's context
 * and in a replay alike.
 */
export const layers: readonly Layer[] = [
  truncateOldest,
  snipLowValue,
  clearBySize,
  clearByIdleness,
  clearByServer,
  // Before what has its price: while the cache is warm, this has none.
  clearInCache,
  clearByPrice,
  collapseOldest,
  compactWhenDue,
];
