/** Characters of an original that one call of recall shows: about 4,000 tokens, as much as a large tool result. */
export const recallCharsMax = 16_000;

/** Calls of our own tools in one exchange: a model that goes on calling them gets no further answer. */
export const ownCallsMax = 20;

/** Times that a request that was refused for what it holds is made plainer and sent again: the ladder has six rungs. */
export const plainerTriesMax = 6;

/** A conversation that nobody asks is closed after this: then other programs can edit its session, and its memory is free. */
export const idleMs = 30_000;

/** Conversations that are open at once; the one that was idle longest is closed for a new one. */
export const openMax = 64;

/** Lines of the log of conversations beyond two for each of them, before it is written anew. */
export const logLinesSpare = 1_000;

/** Conversations with the same headers among which the one of a new body is guessed. A wrong guess costs time only. */
export const guessesMax = 4;

/** Bytes at the beginning of a body by which its conversation is guessed. */
export const guessBytes = 4_096;

/** Marks for the cache in one request of the Messages API. */
export const cacheMarksMax = 4;
