import { type ToolUseId, millis, tokens } from "palimpsest/internal/schema/brand";

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

/** Between two rounds of a recording without times: a usual answer, and far below any cache lifetime. */
export const untimedGapMillis = millis(10_000);

/** Of a recording without usage: what a lean agent's system prompt and tools come to. */
export const unrecordedHeaderTokens = tokens(10_000);

/**
 * Growth beyond this many times what the text explains came from elsewhere: tools that were added, an image that was
 * not logged. It is no measure of the text. Text that clients never log makes growth up to three times as large.
 */
export const explainedRatioMax = 4;
/** Less than this is explained by reminders whatever its ratio. */
export const unexplainedTokensMax = tokens(2_000);

/** A shorter line repeats by itself: braces, imports, headings. */
export const quotedLineCharsMin = 40;
/** A shorter name is a word of the language, not of one file. */
export const identifierCharsMin = 12;
/** One or two names may be guessed; three were read. */
export const strongIdentifiersMin = 3;

/** Counts up whenever a fidelity may come out differently for the same recording: what was kept before is then not used. */
export const fidelityVersion = 4;

/** Of a line that is a fact: what is behind it is output, and a view that shows the beginning lets one recognise the rest. */
export const lineCharsMax = 200;

/** Of one result: a failing run repeats itself, and the first lines say what failed. */
export const errorLinesMax = 3;

/** Of one message: what has more was pasted, and none of it was typed. */
export const detailsMax = 100;
export const decisionsMax = 20;

/** A shorter sentence decides nothing that could be looked up. */
export const decisionCharsMin = 8;

/** A shorter message is a phrase that any text may hold by chance: it is shown where it stands alone. */
export const phraseCharsMax = 40;

/** A name alone may be of many files; with its folder it seldom is. */
export const pathPartsMin = 2;

/** How far down a recall query a fact may stand and still count as found. */
export const recallHitsMax = 5;

/** Longer queries are no better: a search weighs single words. */
export const queryCharsMax = 300;

/** A recorded summary counts as made at a compaction that is at most so many rounds away: policies count tokens differently. */
export const samePointRoundsMax = 3;

/** Which compactions are looked at where nobody says: early ones, and one far down the chain. */
export const compactionsDefault: readonly number[] = [1, 2, 3, 10];
/** More are looked at by hand. */
export const compactionNumberMax = 1_000;
