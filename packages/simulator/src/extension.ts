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
  /** `none` if it is absent. */
  readonly cacheEdits?: CacheEditsSupport;
}

export type ExtensionListed = DeletionsListed;

/**
 * Features of this server that no public API has, described by what they do to a request, its reply and its trace. The
 * rest of the simulator knows nothing else about them.
 */
export const extension = {
  /** The check of each of its options. */
  optionWants: { cacheEdits: [(value: unknown) => value === "offered" || value === "none", "offered or none"] },
  /** What the server declares about it. */
  offer: ({ cacheEdits }: ExtensionOptions) => serverOffer(cacheEdits),
  field: deletionsField,
  rule: checkCacheEdits,
  /** Whether a beta is part of the cache key. */
  isOfPrefix: isPartOfPrefix,
  /** How a request is shown to the model with it. */
  show: withDeletions,
  /** Ids of the calls whose results a request asks to leave out. */
  askedIds: deletionIds,
  /** What a reply reports about it. */
  report: deletionReport,
  trace: {
    /** Fields in the trace line of a reply. */
    shape: deletionsLine,
    write: deletionsForTrace,
    withheld: findWithheld,
    releases: releasesDeletion,
    /** How the command line lists it for a reply. */
    listed: deletionsListed,
    text: deletionsText,
  },
} as const;
