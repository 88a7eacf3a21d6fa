/** A sentence of up to so many words resembles a text that has all of them. */
export const factWordsExact = 7;
/** Of a longer sentence this share of its words is enough. */
export const factShareMin = 0.85;
/** Evidence has to do with a sentence if it has this share of its words. */
export const evidenceShareMin = 1 / 3;
/** It says otherwise about the same if it has this share, unless it says that something is over. */
export const rivalShareMin = 1 / 2;
/** A sentence is only about what it names if it has so few other content words. */
export const driftWordsMax = 4;
/** A quotation of fewer words stands anywhere. */
export const evidenceWordsMin = 2;
/** A word that so many other memories have, and this share of them, says nothing about what a sentence is about. */
export const frameMemoriesMin = 3;
export const frameShareMin = 0.1;
/** A consolidation that would lose so much of the directory is not trusted with the rest. */
export const lostShareMax = 0.5;
/** What a finding quotes. */
export const findingCharsMax = 200;
