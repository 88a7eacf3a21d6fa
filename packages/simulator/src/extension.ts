import {
  deletionIds,
  deletionReport,
  withDeletions,
  type CacheEditsSupport,
  deletionsField,
  isPartOfPrefix,
  serverOffer,
  checkCacheEdits,
} from "./editing/with-deletions.ts";
import {
  deletionsLine,
  type DeletionsListed,
  deletionsListed,
  deletionsText,
  deletionsForTrace,
  releasesDeletion,
  findWithheld,
} from "./trace/deletions-line.ts";

export interface ExtensionOptions {
  /** `none` where it is absent. */
  readonly cacheEdits?: CacheEditsSupport;
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
  offer: ({ cacheEdits }: ExtensionOptions) => serverOffer(cacheEdits),
  field: deletionsField,
  rule: checkCacheEdits,
  /** Whether a beta is part of what the cache goes by. */
  isOfPrefix: isPartOfPrefix,
  /** How a request is shown with it. */
  show: withDeletions,
  /** Calls whose results a request asks to be left out. */
  askedIds: deletionIds,
  /** What a reply says of it. */
  report: deletionReport,
  trace: {
    /** Fields of a reply's line. */
    shape: deletionsLine,
    write: deletionsForTrace,
    withheld: findWithheld,
    releases: releasesDeletion,
    /** As the command line lists a reply. */
    listed: deletionsListed,
    text: deletionsText,
  },
} as const;
