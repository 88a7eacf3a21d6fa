/** The most that is shown of one result if its tool has no limit: about 12,000 tokens. */
export const resultCharsDefault = 50_000;
/** The most for all results of one round: many parallel calls are as bad as one big result. */
export const roundCharsMax = 200_000;

/**
 * In windows below this size, the window limits results: one that fits the limits above may leave no room for the rest.
 */
export const roomyWindowTokens = 80_000;
/**
 * Characters of one result per token of a small window: a third of the window if the text is dense, an eighth if it is
 * prose.
 */
export const resultCharsPerToken = 0.625;
/** The same for all results of a round. */
export const roundCharsPerToken = 0.75;

/** Bytes of the original in a preview, if the policy has no length of its own. */
export const previewBytes = 2_000;
/** Bytes of the end, behind the preview, if it is not command output: how it ends is worth a line or two. */
export const previewTailBytes = 200;
/**
 * What an offloaded result counts in the round's budget: preview, end, the text around them, a path of usual length.
 */
export const shownCharsMax = 3_000;

/** Longer texts are not parsed to see whether they are JSON: that would hold up the round. */
export const outlineCharsMax = 8 * 2 ** 20;
/** How deep and wide an outline goes. Beyond it the budget would be spent on detail. */
export const outlineDepthMax = 6;
export const outlineKeysMax = 40;
export const outlineItemsMax = 2;
export const outlineTextChars = 80;

/** How many combining characters are skipped in search of a border. Real text has no longer runs. */
export const joinedCharsMax = 32;

/** A result up to this size is logged whole: a character takes at most 6 bytes there, and a line 64 MiB. */
export const loggedCharsMax = 10 * 2 ** 20;

/** Decoded bytes of one image: the API's own limit. */
export const imageBytesMax = 5 * 2 ** 20;
/** Longest side of an image in pixels: the API's own limit. */
export const imageSideMax = 8_000;
/** With more images than `imagesFew` in one request, the API takes none that is larger than this. */
export const manyImagesSideMax = 2_000;
export const imagesFew = 20;
/**
 * Images and documents are left out in steps of this size, so that what was sent changes at every tenth and not at
 * each.
 */
export const imagesStep = 10;

/** The most for all encoded images and documents of one request: its body may have 32 MiB, and the rest is for text. */
export const mediaCharsMax = 24 * 2 ** 20;
/** They are left out in steps of this size for the same reason. Small enough that the newest always stays. */
export const mediaCharsStep = 12 * 2 ** 20;

/** Windows up to this take fewer images. */
const smallWindowTokens = 200_000;
/** Images and documents in one request: the API's own limit, by the model's window. */
export const imagesMax = (windowTokens: number): number => (windowTokens > smallWindowTokens ? 600 : 100);
