import { millis } from "../../schema/brand.ts";

/** Of one section: what a reader takes in at a glance. Over it the next extraction is told to condense it. */
export const sectionTokensMax = 2_000;

/** Of all sections together: what a summary may cost. Over it the next extraction is asked to shorten hard. */
export const notesTokensMax = 12_000;

/** Notes over so many times their budget are cut before they are shown: asking did not help. */
export const notesOverTimesMax = 2;

/** Behind the notes stays at least so much verbatim: the step that is being worked on. */
export const keptTokensMin = 10_000;

/** And so many messages with text: results alone don't say what was wanted. */
export const keptTextsMin = 5;

/** Expanding stops here: more would leave too little room below the threshold. */
export const keptTokensMax = 40_000;

/** A compaction waits so long for an extraction in flight: about what is left of one that began a moment ago. */
export const waitMillisMax = millis(15_000);

/** One that has run so long already is not waited for: it hangs, or will not end in time. */
export const staleMillis = millis(60_000);

/** Then an extraction is stopped: a slow model writes every section anew in less. */
export const takeMillisMax = millis(3 * 60_000);

/** All edits come in one reply. The other two are for edits that did not fit the file. */
export const takeRoundsMax = 3;

/** Of each request: the next extraction is another try, and nobody waits for this one. */
export const takeTriesMax = 2;

/** After so many failures in a row no more notes are taken: each costs a reading of the whole context. */
export const failuresMax = 3;
