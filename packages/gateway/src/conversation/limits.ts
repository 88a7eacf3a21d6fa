/** Characters of an original that one call of recall shows: about 4,000 tokens, as much as a large tool result. */
export const recallCharsMax = 16_000;

/** Calls of our own tools in one exchange: a model that goes on calling them gets no further answer. */
export const gatewayCallsMax = 20;

/** Times that a request that was refused for what it holds is made plainer and sent again: the ladder has six rungs. */
export const refusalRetriesMax = 6;

/** A conversation that nobody asks is closed after this: then other programs can edit its session, and its memory is free. */
export const idleMs = 30_000;

/** Conversations that are active at once; the one that was idle longest is closed for a new one. */
export const activeMax = 64;

/** Lines of the log of conversations beyond two for each of them, before it is written anew. */
export const logLinesSpare = 1_000;

/** How long a line of that log waits for others: a write for each request would be three calls of the system. */
export const logDelayMs = 100;

/** Conversations with the same headers among which the one of a new body is guessed. A wrong guess costs time only. */
export const guessesMax = 4;

/** Sets of headers for which they are remembered: about as many as there are clients. */
export const guessKeysMax = 20_000;

/** Rows that the status shows. */
export const rowsMax = 20_000;

/** Bytes at the beginning of a body by which its conversation is guessed. */
export const guessBytes = 4_096;

/** Bytes of stored histories of clients that send only what is new: a hundred long conversations. The one that was used least recently is dropped: its client sends the whole list again, or the upstream goes on with its own. */
export const storedBytesMax = 128 * 2 ** 20;

/** The same of one user: half of all, so that nobody's histories drop those of everybody else. */
export const storedUserBytesMax = storedBytesMax / 2;

/** Bytes of one history: what the APIs take as a body. A longer list could not be sent, so that storing it helps nobody. */
export const storedHistoryBytesMax = 32 * 2 ** 20;

/** Bytes of a user's histories on disk: twenty-five long conversations, which are read once after a restart, in a third of a second. Beyond that the newest half stays. */
export const historyLogBytesMax = 32 * 2 ** 20;

/** Replies from which a client can go on: half a kilobyte each, besides the bytes that are counted. */
export const storedRepliesMax = 50_000;

/** The same of one user. */
export const storedUserRepliesMax = storedRepliesMax / 2;

/** Replies that were made of several of the upstream's, by the id that the client knows: a hundred bytes each. */
export const joinedRepliesMax = 20_000;

/** Characters of the list of memories or of one memory that a call shows: about 5,000 tokens. */
export const memoryCharsMax = 20_000;

/** Memories that a search names: one line each, and lower ranks rarely match. */
export const memoryHitsMax = 10;

/** Characters of a memory that a model saves: one fact, not a file. */
export const savedCharsMax = 10_000;

/** The store and the layers take milliseconds, even for large lists; what takes longer hangs, and the client waits for it. */
export const turnMsMax = 10_000;

/** The same if the conversation's model is asked for a summary: about as long as such a reply takes at most. */
export const turnWithSummaryMsMax = 300_000;

/** How long another program may have a session open, such as `palimpsest undo`, before a request goes on without it. */
export const busyMsMax = 2_000;
export const busyStepMs = 50;

/** The Messages API takes no smaller budget for thinking. */
export const thinkingTokensMin = 1_024;

/** Marks for the cache in one request of the Messages API. */
export const cacheMarksMax = 4;

/** Conversations of a client that began with a tool and never called it, before new ones defer it. */
export const deferAfterConversations = 3;

/** Tools that one search loads: a definition has hundreds of tokens. */
export const foundToolsMax = 5;

/** Pairs of user and program whose tool use is remembered; the oldest is forgotten. A pair takes a few KB. */
export const toolUsersMax = 1_000;

/** Tools of one program that are remembered; others are never deferred. */
export const usedToolsMax = 1_000;

/** Conversations whose deferred tools are remembered. One that is older would read its tools from no cache anyway. */
export const deferredConversationsMax = 20_000;

/** Lines appended to tools.jsonl before it is rewritten: about 1 MB, read in milliseconds at a start. */
export const toolUsageLinesSpare = 5_000;

/** How long an addition is left out that an upstream refused by its name: servers change seldom, and a try costs one request. */
export const refusedAdditionMs = 24 * 3_600_000;

/** The same if it was only found by the client's own request: the reason may have been another one. */
export const guessedAdditionMs = 3_600_000;

/** Additions of models that are remembered as refused. */
export const refusedAdditionsMax = 10_000;

/** From the end of a reply until it is stored. A client on the same machine reads the rest of its reply in less. */
export const recordDelayMs = 2;
