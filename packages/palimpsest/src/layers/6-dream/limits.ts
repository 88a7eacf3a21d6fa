import { bytes, millis } from "../../schema/brand.ts";

/** Sessions are listed at most this often: the list reads every transcript's ends. */
export const dreamScanEveryMs = millis(10 * 60_000);
/** Replies of one dream. One that reads ten memories and rewrites five needs about eight. */
export const dreamRoundsMax = 30;
/** Replies of a dream that answers in text: calls of tools are refused, and it is given one more chance to answer. */
export const dreamTextRoundsMax = 2;
/** When a dream is stopped. Nothing waits for it, but it keeps others from dreaming. */
export const dreamMillisMax = millis(15 * 60_000);
/** Tries for each request: tomorrow's dream is another try. */
export const dreamTriesMax = 3;
/** Questions to the transcripts of earlier sessions, and passages for each: narrow ones, since whole transcripts fit nowhere. */
export const dreamQueriesMax = 20;
export const dreamHitsMax = 50;
/** Quotes that are looked up in the transcripts after a dream, to see whether a reason holds. */
export const dreamEvidenceLookupsMax = 20;
/** Memories whose lines are listed at the start: as many as an index has. */
export const manifestMemoriesMax = 200;
/** Texts of memories that a dream without tools is shown, the oldest first, since those need a look most. */
export const shownMemoriesBytesMax = bytes(120_000);
/** What the transcripts answered to a dream without tools. */
export const shownHitsCharsMax = 40_000;
/** The newest lines of the daily logs. */
export const logLinesMax = 60;
export const logLineCharsMax = 300;
/** Commits of one dream while others write at the same time. */
export const dreamCommitTriesMax = 5;
/** Replies of a dream that its task shows. */
export const dreamTurnsKept = 30;
export const dreamTurnCharsMax = 200;

/** What one dream sends besides what it shares with the conversation, and answers, for an estimate of its price. */
export const usualDream = { directiveTokens: 4_000, outputTokens: 3_000, requests: 6 };
