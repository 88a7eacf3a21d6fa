/** Rounds that are never snipped: what the model does next builds on them. */
export const snipKeepRounds = 5;
/** A reply that says more than this explains something, whatever its calls came to. */
export const snipTextCharsMax = 200;
/** "No matches found", with the pattern and the place: what is longer found something. */
export const nothingFoundCharsMax = 200;
