import { millis } from "../../schema/brand.ts";

/**
 * The most for one section: what a reader takes in at a glance. Above it the next update is told to condense it.
 */
export const sectionTokensMax = 2_000;

/** The most for all sections: what a summary may cost. Above it the next update is asked to shorten hard. */
export const notesTokensMax = 12_000;

/** Notes over so many times their budget are cut before they are shown: asking did not help. */
export const notesOverTimesMax = 2;

/** At least so much stays verbatim behind the notes: the step that is being worked on. */
export const keptTokensMin = 10_000;

/** And at least so many messages with text: results alone don't say what was wanted. */
export const keptTextsMin = 5;

/** The most that stays verbatim: more would leave too little room below the threshold. */
export const keptTokensMax = 40_000;

/** How long a compaction waits for a running update: about as long as one that has just begun needs. */
export const waitMillisMax = millis(15_000);

/** An update that has run this long is not waited for: it hangs, or will not end in time. */
export const staleMillis = millis(60_000);

/** When an update is stopped. A slow model rewrites every section in less time. */
export const takeMillisMax = millis(3 * 60_000);

/** All edits come in one reply. The other two are for edits that did not fit the file. */
export const takeRoundsMax = 3;

/** Tries for each request. The next update is another try, and nothing waits for this one. */
export const takeTriesMax = 2;

/** After so many failures in a row no more notes are taken: each costs reading the whole context. */
export const failuresMax = 3;
