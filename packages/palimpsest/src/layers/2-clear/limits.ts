/** The wording of the refusals known is shorter; what is longer holds words of the person. */
export const refusalCharsMax = 400;

/** Rounds that are never collapsed: twice what snipping keeps, since these rounds did something. */
export const collapseKeepRounds = 10;
/** Rounds behind one stand-in: its lines could not tell more of them apart. A longer run leaves several. */
export const collapseRunRoundsMax = 20;
/** A stand-in of more than this share of what it stands for is not worth the loss. */
export const standInShareMax = 1 / 4;
/** Calls, and tools in the first line, that a stand-in names. */
export const standInLinesMax = 12;
/** Of a call's main argument: a path or the beginning of a command. */
export const standInArgumentChars = 80;
/** Of the last thing the assistant said. */
export const standInTextChars = 200;

/**
 * Of what it cost to make, so much is lost with thinking that can't be sent any more: most of it is said again in the
 * text and the calls behind it.
 */
export const thinkingLossShare = 0.1;

/** Where there is no room, results of the newest rounds still stay: the model has not answered to them. */
export const forcedKeepRounds = 1;

/** What a marker with a path and an id is taken to cost: the path of a store below a home folder is some 120 characters long. */
export const markerTokens = 70;

/** By hand, with a policy that has no rule for it: what the published systems protect. */
export const manualKeepResults = 3;
/** Tokens of results that stay if the user names no target: what the published systems clear down to. */
export const manualDownToTokens = 40_000;

/** Rounds that are never snipped: what the model does next builds on them. */
export const snipKeepRounds = 5;
/** A reply that says more than this explains something, whatever its calls came to. */
export const snipTextCharsMax = 200;
/** "No matches found", with the pattern and the place: what is longer found something. */
export const nothingFoundCharsMax = 200;
