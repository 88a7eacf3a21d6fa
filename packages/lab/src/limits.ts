import type { ToolUseId } from "palimpsest/internal/schema/brand";

/** Counts up whenever an outcome may come out differently for the same recording: what was kept before is then not used. */
export const replayVersion = 7;

/** Charged for each compaction where the rework is reckoned with that its losses cause. */
export const reworkTokens = 40_000;

/** Files of other vendors are priced as this model. */
export const modelDefault = "claude-sonnet-4-5";

/** As long as paths of the engine's own, for what names one: summaries, the prompt for notes, markers and previews of results. */
export const transcriptPathStandIn =
  "/home/user/.palimpsest/projects/project/01234567-89ab-4cde-8f01-23456789abcd.jsonl";
export const notesPathStandIn = "/home/user/.palimpsest/projects/project/01234567-89ab-4cde-8f01-23456789abcd/notes.md";
export const resultPathStandIn = (toolUse: ToolUseId): string =>
  `/home/user/.palimpsest/projects/one/blobs/${toolUse}.txt`;

/** The marker whose size plans and optima reckon with: as long as the engine's own for a result that was saved to a file. */
export const markerStandIn =
  "[Result cleared to save room. The whole text is in /home/user/.palimpsest/projects/project/session/tool-results/toolu_0123456789.txt: read that file to see it again.]";

/**
 * Assumed, since a recording has no notes: what the extractive summary has to say at the same moments (218 in 18 sessions)
 * has 3,000 tokens in the middle, and 650 of them are new each time; an edit also quotes what it replaces.
 */
export const notesTokensStandIn = { file: 3_000, edit: 1_000 };

/** The optima's: a result is stale so many rounds after it came. */
export const staleRoundsOfOptimum = 3;

/** Of every file, whatever its model had, so that sessions can be compared. */
export const windowTokensDefault = 200_000;
