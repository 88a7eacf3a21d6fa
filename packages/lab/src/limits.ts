import { type ToolUseId, millis, tokens } from "palimpsest/internal/schema/brand";

// Replays.

/** Increased whenever the outcome for the same recording may change; stored outcomes of other versions are ignored. */
export const replayVersion = 9;

/** Charged for each compaction in `costWithRework`: the rework that the loss of information causes. */
export const reworkTokens = 40_000;

/** Recordings of other vendors' models are priced as this model. */
export const modelDefault = "claude-sonnet-4-5";

/** As long as the engine's real paths, for texts that contain one: summaries, the prompt for notes, markers and previews of results. */
export const transcriptPathStandIn =
  "/home/user/.palimpsest/projects/project/01234567-89ab-4cde-8f01-23456789abcd.jsonl";
export const notesPathStandIn = "/home/user/.palimpsest/projects/project/01234567-89ab-4cde-8f01-23456789abcd/notes.md";
export const resultPathStandIn = (toolUse: ToolUseId): string =>
  `/home/user/.palimpsest/projects/one/blobs/${toolUse}.txt`;

/** Its size is the marker size in plans and optima: as long as the engine's marker for a result that was saved to a file. */
export const markerStandIn =
  "[Result cleared to save room. The whole text is in /home/user/.palimpsest/projects/project/session/tool-results/toolu_0123456789.txt: read that file to see it again.]";

/**
 * Assumed, because a recording has no notes: the extractive summary at the same points (218 in 18 sessions) has a median of
 * 3,000 tokens, of which 650 are new each time; an edit also quotes the text that it replaces.
 */
export const notesTokensStandIn = { file: 3_000, edit: 1_000 };

/** In the optima, a result is stale this many rounds after it arrived. */
export const staleRoundsOfOptimum = 3;

/** The window for every recording, whatever its model had, so that sessions can be compared. */
export const windowTokensDefault = 200_000;

// Recordings.

/** The time between two rounds of a recording without times: as long as a usual reply, and far below any cache lifetime. */
export const untimedGapMillis = millis(10_000);

/** Assumed for a recording without usage: the size of a lean agent's system prompt and tools. */
export const unrecordedHeaderTokens = tokens(10_000);

/**
 * If the context grew by more than this many times what the text explains, the cause is something else: tools that were
 * added, an image that was not logged. Such growth does not measure the text. Text that clients never log makes growth up
 * to three times as large.
 */
export const explainedRatioMax = 4;
/** Reminders explain any growth below this, whatever its ratio. */
export const unexplainedTokensMax = tokens(2_000);

/** A request that is smaller than this share of the previous one has lost something; counts of a switched model differ by less. */
export const uncutRatioMin = 0.9;

/** Shorter lines repeat without being quoted: braces, imports, headings. */
export const quotedLineCharsMin = 40;
/** A shorter name is a common word and not specific to a file. */
export const identifierCharsMin = 12;
/** A model may guess one or two names; three prove that it read them. */
export const strongIdentifiersMin = 3;

// Fidelity.

/** Increased whenever the fidelity for the same recording may change; stored outcomes of other versions are ignored. */
export const fidelityVersion = 4;

/** The length of a line as a fact: the rest is output, and a view that shows the beginning is enough to recognise the line. */
export const lineCharsMax = 200;

/** Per result: a failing run repeats itself, and its first lines show what failed. */
export const errorLinesMax = 3;

/** Per message: a message with more was pasted, and none of it counts as typed. */
export const detailsMax = 100;
export const decisionsMax = 20;

/** A shorter sentence contains no decision that could be looked up. */
export const decisionCharsMin = 8;

/** A shorter message may occur in any text by chance, so it counts as shown only if it stands alone. */
export const phraseCharsMax = 40;

/** Many files may share a name; few share the name and the folder. */
export const pathPartsMin = 2;

/** A fact counts as found if it is among this many hits of a recall query. */
export const recallHitsMax = 5;

/** Longer queries are no better, because a search weighs single words. */
export const queryCharsMax = 300;

/** A recorded summary belongs to a compaction that is at most this many rounds away: policies count tokens differently. */
export const samePointRoundsMax = 3;

/** The compactions that are measured by default: early ones, and one far down the chain. */
export const compactionsDefault: readonly number[] = [1, 2, 3, 10];
/** Far more than any session has. */
export const compactionNumberMax = 1_000;

// Memory.

/**
 * Assumed for one extraction: its directive with the list of memories; requests, because sometimes a memory must be read
 * first; what it writes if there is something to remember, and if there is nothing.
 */
export const extractionStandIn = {
  directiveTokens: 2_000,
  requests: 1.2,
  outputTokens: { found: 400, nothing: 20 },
};

/** A message is covered soon if an extraction runs within so many rounds after its turn. */
export const soonRoundsMax = 10;
