import { askedIds, deletionReport, withDeletions } from "./cache-edits/deletions.ts";
import { type CacheEditsOffered, deletionsField, isOfPrefix, offerOf } from "./cache-edits/offer.ts";
import { checkCacheEdits } from "./cache-edits/rule.ts";
import {
  deletionsLine,
  type DeletionsListed,
  deletionsListed,
  deletionsText,
  deletionsTold,
  releases,
  withheldBy,
} from "./cache-edits/trace.ts";

export interface ExtensionOptions {
  /** `none` where it is absent. */
  readonly cacheEdits?: CacheEditsOffered;
}

export type ExtensionListed = DeletionsListed;

/**
 * What this server can do and no public API has, told by what it does to a request, its reply and its trace. The rest of
 * the simulator knows no more of it.
 */
export const extension = {
  /** What an option of it has to be. */
  optionWants: { cacheEdits: [(value: unknown) => value === "offered" || value === "none", "offered or none"] },
  /** What the server declares of it. */
  offer: ({ cacheEdits }: ExtensionOptions) => offerOf(cacheEdits),
  field: deletionsField,
  rule: checkCacheEdits,
  /** Whether a beta is part of what the cache goes by. */
  isOfPrefix,
  /** How a request is shown with it. */
  show: withDeletions,
  /** Calls whose results a request asks to be left out. */
  askedIds,
  /** What a reply says of it. */
  report: deletionReport,
  trace: {
    /** Fields of a reply's line. */
    shape: deletionsLine,
    write: deletionsTold,
    withheld: withheldBy,
    releases,
    /** As the command line lists a reply. */
    listed: deletionsListed,
    text: deletionsText,
  },
} as const;
