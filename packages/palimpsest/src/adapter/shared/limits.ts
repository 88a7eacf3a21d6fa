/** Times that a refused request is made plainer and sent again: the ladder has six rungs. */
export const plainerTriesMax = 6;

/** Responses that a request may continue by their id: a conversation continues its newest, and a retry the one before. */
export const continuedResponsesMax = 20;
