/** Of a line for something that is carried forward: a path, a todo, an error. */
export const carriedCharsMax = 600;
/** Of what failed, in the line of an error. */
export const failedCharsMax = 80;
/** Of a question in the line of its answer, which matters more. */
export const questionCharsMax = 160;
/** Of an answer, and of the first line of a command: the id brings back the rest. */
export const answerCharsMax = 300;
export const commandLineCharsMax = 200;
/** The newest of what a summary may do without, carried where it is not told: a rest of the budget, paid for every round. */
export const carriedDecisionsMax = 24;
export const carriedErrorsMax = 16;
export const carriedCommandsMax = 16;
/** Of the last request, where neither the summary nor the ledger has it. */
export const carriedRequestTokensMax = 2000;
/** Of any other message: the id brings back the rest. */
export const carriedMessageTokensMax = 24;
/** Of the ends by which a path is known: deeper ones tell files apart no better, and cost memory for each. */
export const pathEndsMax = 4;
