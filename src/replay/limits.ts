/** Counts up whenever an outcome may come out differently for the same recording: what was kept before is then not used. */
export const replayVersion = 4;

/** Charged for each compaction where the rework is reckoned with that its losses cause. */
export const reworkTokens = 40_000;

/** Files of other vendors are priced as this model. */
export const modelDefault = "claude-sonnet-4-5";

/** As long as the engine's own marker for a result that was saved to a file. */
export const namedMarker =
  "[Result cleared to save room. The whole text is in /home/user/.palimpsest/projects/project/session/tool-results/toolu_0123456789.txt: read that file to see it again.]";

/** As long as a path of the engine's own, for summaries that name it. */
export const transcriptPathStandIn =
  "/home/user/.palimpsest/projects/project/01234567-89ab-4cde-8f01-23456789abcd.jsonl";

/** The optima's: a result is stale so many rounds after it came. */
export const staleRoundsOfOptimum = 3;

/** Of every file, whatever its model had, so that sessions can be compared. */
export const windowTokensDefault = 200_000;
