import {
  deletionIds,
  deletionReport,
  withDeletions,
  type CacheEditsSupport,
  deletionsField,
  isPartOfPrefix,
  serverOffer,
  checkCacheEdits,
} from "./with-deletions.ts";
import {
  deletionsLine,
  deletionsListed,
  deletionsText,
  deletionsForTrace,
  releasesDeletion,
  findWithheld,
} from "./deletions-line.ts";

export interface CacheEditsOptions {
  /** `none` if it is absent. */
  readonly cacheEdits?: CacheEditsSupport;
}

/** Results deleted in the cache by reference: what that does to a request, its reply and its trace. */
export const cacheEditsExtension = {
  /** The option of the command line that offers it. */
  flag: {
    name: "cache-edits",
    summary: "let clients delete results in the prompt cache by reference, which no public API does",
    options: (isGiven: boolean): CacheEditsOptions => ({ cacheEdits: isGiven ? "offered" : "none" }),
  },
  /** The check of each of its options. */
  optionWants: { cacheEdits: [(value: unknown) => value === "offered" || value === "none", "offered or none"] },
  /** What the server declares about it. */
  offer: ({ cacheEdits }: CacheEditsOptions) => serverOffer(cacheEdits),
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
    /** Why a cache entry is not read: it was written without results that the request no longer leaves out. */
    missReason: "deletion_missing",
    /** How the command line lists it for a reply. */
    listed: deletionsListed,
    text: deletionsText,
  },
} as const;
