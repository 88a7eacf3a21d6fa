/** Up to so many words a fact must stand with all of them: one other word makes another fact of a short sentence. */
export const factWordsExact = 7;
/** Of a longer sentence this share of its words must stand. */
export const factShareMin = 0.85;
/** Evidence has to do with a sentence if it has this share of its words. */
export const evidenceShareMin = 1 / 3;
/** A quotation of fewer words stands anywhere. */
export const evidenceWordsMin = 2;
/** A word that so many other memories have, and this share of them, says nothing about what a sentence is about. */
export const frameMemoriesMin = 3;
export const frameShareMin = 0.1;
/** A consolidation that would lose so much of the directory is not trusted with the rest. */
export const lostShareMax = 0.5;
/** What a finding quotes. */
export const findingCharsMax = 200;
