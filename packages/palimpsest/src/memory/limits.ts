import { bytes } from "../schema/brand.ts";

/** A larger file is data, not instructions, and is not read. */
export const instructionFileBytesMax = bytes(4 * 2 ** 20);
/** A longer file is reported, since every request carries it. */
export const instructionCharsLong = 40_000;
/** For all files together. What exceeds it is left out and reported. */
export const instructionCharsMax = 200_000;
export const instructionFilesMax = 100;
/** The longest chain of imports. */
export const importHopsMax = 4;
/** The most imports of one file that are looked up on disk. */
export const importsPerFileMax = 100;
/** Files listed below one folder, for rules and for patterns in the settings. A folder with more is no folder of rules. */
export const listedFilesMax = 5_000;
export const listedDepthMax = 16;
/** Files and addresses that the settings name. Addresses are asked all at once. */
export const namedInstructionsMax = 50;
/** Front matter of a rule holds a few patterns. */
export const ruleFrontCharsMax = 10_000;
export const rulePatternsMax = 100;

/** A passage of fewer words is judged with the next one: that a few words occur in a long text says nothing. */
export const trustPassageWordsMin = 4;
/** Words stand together if they are this near, or four times as near as there are words: about a paragraph. */
export const trustWindowWordsMin = 40;
/** From this share of its words on, a passage may be taken from a text from outside. */
export const trustShareFromOutside = 0.5;
/** Nearly the user's own words. */
export const trustShareFromUser = 0.5;
/** A paraphrase of what the user said, when nothing from outside arrived since they said it. */
export const trustShareFromUserEarlier = 1 / 3;
/** Text from outside that a memory is compared with; about a second's work. If there is more, the strict rule applies. */
export const trustScanCharsMax = 4_000_000;
/** By so much an earlier text from outside must be nearer than the user's: everyday words stand together by chance. */
export const trustMarginEarlier = 0.25;
/** So many words in a row that stand so in a text from outside, and not near each other in the user's, were taken from it. */
export const trustRunWords = 4;
/** The same for pairs of characters of a script without spaces: eight characters. */
export const trustRunPairs = 7;
/** A whole clause of fewer words counts too; one of two only right after the text arrived, since "run tests" is everywhere. */
export const trustClauseWordsMin = { near: 2, earlier: 3 };
/** Words that are not the user's, of a passage or of two neighbours: so many, and such a share of them, in one short stretch outside. */
export const trustForeignWords = { near: { countMin: 3, share: 0.5 }, earlier: { countMin: 4, share: 0.75 } };
/** A clause this long with no word of the user's is no paraphrase of theirs. */
export const trustForeignClauseWords = 5;
/** What can be acted on in one memory. Looking each up costs up to a millisecond per million characters. */
export const trustNamesMax = 200;
/** Places of words that are looked at for one memory, about two seconds' work. Over it, a memory is not called the user's. */
export const trustPlacesMax = 10_000_000;

/** A sentence has a source if this share of its words stands together in one: a paraphrase keeps at least the nouns. */
export const sourcedShareMin = 0.5;
/** A sentence repeats a text if so much of it stands there. */
export const repeatedShareMin = 0.8;
/** Fewer words say the same by chance. */
export const sentenceWordsMin = 3;

/** A question of a background fork to the transcripts is a few words. */
export const forkQueryCharsMax = 300;
/** What was said besides the user's words, as a source of a memory: about 300 tool results. More takes seconds. */
export const extractScanCharsMax = 500_000;
