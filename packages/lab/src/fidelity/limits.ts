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
