/** One beta for each of the two ways to compaction. */
export const compactionBetas = { threshold: "compact-2026-01-12", onDemand: "compact-2026-09-04" } as const;

export const asksForCompactions = (betas: ReadonlySet<string>): boolean =>
  betas.has(compactionBetas.threshold) || betas.has(compactionBetas.onDemand);
