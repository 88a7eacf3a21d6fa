/** How the line for people begins where a plan was not accepted; behind it, after a colon, what the person said. */
export const planRefusedWords = "the plan was not accepted";
