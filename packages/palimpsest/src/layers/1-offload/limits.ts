/** What the model is shown of one result at most, where its tool says nothing: about 12,000 tokens. */
export const resultCharsDefault = 50_000;
/** All results of one round together: many calls side by side are as good as one big result. */
export const roundCharsMax = 200_000;

/** In windows below this, results are measured by the window: one that fits the limits above may leave no room for the rest. */
export const roomyWindowTokens = 80_000;
/** Of one result, for each token of a small window: a third of it where the text is dense, an eighth where it is prose. */
export const resultCharsPerToken = 0.625;
/** Of all results of a round, likewise. */
export const roundCharsPerToken = 0.75;

/** Of the original in a preview. */
export const previewBytes = 2_000;
/** The end of what is not command output, behind the preview: where it stops is worth a line or two. */
export const previewTailBytes = 200;
/** What an offloaded result counts as in the round's budget: preview, end, the words around them, a path of usual length. */
export const shownCharsMax = 3_000;

/** Text that is parsed to see whether it is JSON: longer ones would hold up the round. */
export const outlineCharsMax = 8 * 2 ** 20;
/** How far an outline goes: beyond it the budget is spent on detail that says little of the whole. */
export const outlineDepthMax = 6;
export const outlineKeysMax = 40;
export const outlineItemsMax = 2;
export const outlineTextChars = 80;

/** Characters that belong to the one before them, looked at for a border: nobody writes longer runs. */
export const joinedCharsMax = 32;

/** A result goes whole into a line of the log up to this: a character takes at most 6 bytes there, and a line 64 MiB. */
export const loggedCharsMax = 10 * 2 ** 20;

/** Decoded bytes of one image: the API's own limit. */
export const imageBytesMax = 5 * 2 ** 20;
/** Longest side of an image in pixels: the API's own limit. */
export const imageSideMax = 8_000;
/** With more images than `imagesFew` in one request, the API takes none that is larger than this. */
export const manyImagesSideMax = 2_000;
export const imagesFew = 20;
/** Images and documents that leave at once, so that what was sent changes at every tenth and not at each. */
export const imagesStep = 10;

/** Encoded images and documents of one request together: its body may have 32 MiB, and the rest is for text. */
export const mediaCharsMax = 24 * 2 ** 20;
/** How much of them leaves at once, for the same reason; small enough that the newest always stays. */
export const mediaCharsStep = 12 * 2 ** 20;

/** Windows up to this take fewer images. */
const smallWindowTokens = 200_000;
/** Images and documents in one request: the API's own limit, by the model's window. */
export const imagesMax = (windowTokens: number): number => (windowTokens > smallWindowTokens ? 600 : 100);
