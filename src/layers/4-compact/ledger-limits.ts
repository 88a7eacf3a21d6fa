/** Of one message (spec 3, layer 4): longer ones are pasted logs more often than words. */
export const ledgerMessageTokensMax = 2000;
/** Above this a message is long: a paragraph or two says what is wanted, and so much stays of its head and tail. */
export const ledgerLongTokens = 120;
/** Where that does not do: a line, to know by what the id stands for. */
export const ledgerBriefTokens = 16;
/** Of the messages: so many keep their words before older ones keep their ids. */
export const ledgerNewestShare = 1 / 4;
/** How often a ledger is fitted anew because its parts counted less than the whole. */
export const ledgerFitTriesMax = 8;
/** Ids are a few dozen characters; what is longer is none of ours and can't be looked up as it stands. */
export const idCharsMax = 200;
