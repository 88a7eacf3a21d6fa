import {
  cacheEditsExtension,
  type CacheEditsOptions,
  type DeletionsListed,
} from "./cache-edits/cache-edits-extension.ts";

/** What this server can do and no public API can. The rest of the simulator and the command line know it by this alone. */
export const extension = cacheEditsExtension;

export type ExtensionOptions = CacheEditsOptions;

/** How the command line lists it for a reply. */
export type ExtensionListed = DeletionsListed;
