/** Of one message (spec 3, layer 4), where they do not all fit as they are, or where it is longer than words are. */
export const ledgerMessageTokensMax = 2000;
/** Up to this a message is a long brief and stays whole while all of them fit, as a file does that is put back; beyond it a pasted log. */
export const ledgerWholeTokensMax = 5000;
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
/** Of an excerpt: up to so much is for lines that settle something. Its head says what it is about, its tail what is wanted. */
export const settlingShareMax = 1 / 4;
/** And for the names in what is left out: by them one knows what to bring back. */
export const excerptNamesShareMax = 1 / 10;
/** Of a name: longer ones are keys or data. */
export const excerptNameCharsMax = 120;
/** A shorter excerpt is a paragraph or two: lines out of its middle would say nothing. */
export const excerptTokensMin = 300;
/** Of what lies behind the head, and of each part left out: what is longer was pasted. */
export const excerptSearchChars = 100_000;
