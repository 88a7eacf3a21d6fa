/** Times that a refused request is made plainer and sent again: the ladder has six rungs. */
export const plainerTriesMax = 6;

/** Responses that a request may continue by their id: a conversation continues its newest, and a retry the one before. */
export const continuedResponsesMax = 20;

/** Threads whose contexts are open at the same time: each holds its conversation in memory, some MB if it is long. */
export const openThreadsMax = 200;

/** A text without a space that is this long is data, such as a picture in base64: it is counted as a short text. */
export const dataCharsMin = 1_000;
