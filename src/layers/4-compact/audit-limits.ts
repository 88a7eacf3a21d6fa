/** Of a line for something that is carried forward: a path, a todo, an error. */
export const carriedCharsMax = 600;
/** Of what failed, in the line of an error. */
export const failedCharsMax = 80;
/** Of the last request, where neither the summary nor the ledger has it. */
export const carriedRequestTokensMax = 2000;
/** Of any other message: the id brings back the rest. */
export const carriedMessageTokensMax = 24;
/** Of the ends by which a path is known: deeper ones tell files apart no better, and cost memory for each. */
export const pathEndsMax = 4;
