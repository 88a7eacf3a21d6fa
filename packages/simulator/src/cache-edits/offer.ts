import { cacheEditsBeta } from "palimpsest/internal/schema/wire/cache-edits";
import type { Offer } from "../models-list.ts";
import type { BetaField } from "../validate/beta-field.ts";

/** Whether results can be deleted in the cache by reference, which no public API lets a client do. */
export type CacheEditsOffered = "offered" | "none";

export const offerOf = (offered: CacheEditsOffered = "none"): Offer =>
  offered === "offered"
    ? { betas: [cacheEditsBeta], capabilities: { cache_edits: { supported: true } } }
    : { betas: [], capabilities: {} };

/** What is deleted in the cache by reference leaves the prefix as it is, and so does asking for it. */
export const isOfPrefix = (beta: string): boolean => beta !== cacheEditsBeta;

/** Where it is not offered, the beta itself is not known. */
export const deletionsField: BetaField = {
  path: "cache_edits",
  value: (request) => request.cache_edits,
  betas: [cacheEditsBeta],
};
