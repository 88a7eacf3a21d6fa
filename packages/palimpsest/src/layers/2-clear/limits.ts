/** Known refusals are shorter; a longer text includes what the user wrote. */
export const refusalCharsMax = 400;

/** Rounds that are never collapsed: twice what snipping keeps, since these rounds did something. */
export const collapseKeepRounds = 10;
/** Rounds behind one stand-in: its lines could not describe more. A longer run leaves several stand-ins. */
export const collapseRunRoundsMax = 20;
/** A stand-in larger than this share of what it replaces is not worth the loss. */
export const standInShareMax = 1 / 4;
/** Calls listed by a stand-in, and tools in its first line. */
export const standInLinesMax = 12;
/** Characters of a call's main argument: a path or the beginning of a command. */
export const standInArgumentChars = 80;
/** Characters of the last thing the assistant said. */
export const standInTextChars = 200;

/**
 * The share of its cost that is lost with thinking that can't be sent any more. Most of it is said again in the text
 * and the calls behind it.
 */
export const thinkingLossShare = 0.1;

/** Results of so many of the newest rounds stay even if there is no room: the model has not answered them yet. */
export const forcedKeepRounds = 1;

/** The assumed size of a marker with a path and an id. A path below a home folder has some 120 characters. */
export const markerTokens = 70;

/** Results that are saved at the same time: each waits for the disk several times, and a clear may take dozens of them. */
export const savedTogetherMax = 16;

/** Results kept when the user clears and the policy has no rule: what the published systems protect. */
export const manualKeepResults = 3;
/** Tokens of results that stay if the user names no target: what the published systems clear down to. */
export const manualDownToTokens = 40_000;

/** Rounds that are never snipped: what the model does next builds on them. */
export const snipKeepRounds = 5;
/** A reply that says more than this explains something, whatever its calls came to. */
export const snipTextCharsMax = 200;
/** Enough for "No matches found" with the pattern and the place. A longer result found something. */
export const nothingFoundCharsMax = 200;
