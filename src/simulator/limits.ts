/** Body of a Messages or count_tokens request; above it the API answers 413. */
export const bodyBytesMax = 32 * 2 ** 20;
/** Levels of lists and objects in a body: far beyond every tool's schema, far below what ends a stack. */
export const jsonDepthMax = 500;
/** The API's own limit. */
export const messagesMax = 100_000;
export const breakpointsMax = 4;
/** Positions that one breakpoint looks at, itself included. */
export const lookBackMax = 20;
/** Entries of the prompt cache that are remembered; beyond it the one that was used longest ago goes. */
export const cachedPrefixesMax = 10_000;
/** Requests whose fingerprint is kept for `diagnostics.previous_message_id`. */
export const fingerprintsMax = 2_000;
/** Blocks of all those requests together; a block that several of them begin with counts once. */
export const fingerprintBlocksMax = 200_000;
/** Hashes and token counts of blocks seen before, so that a conversation's old blocks are not worked through again. */
export const knownBlocksMax = 200_000;
/** Nobody waits longer for a request that hangs; then the connection is closed. */
export const hangMillisMax = 600_000;
/** A hundred years, forwards or back: beyond some thousand of them no date has a name. */
export const clockJumpMillisMax = 100 * 366 * 24 * 3_600_000;
/** How many times too much a reply may claim: figures stay whole numbers that every reader of JSON takes. */
export const usageFactorMax = 1_000;
/** Blocks whose content a trace is known to hold; one that is forgotten is written again when it comes back. */
export const tracedBlocksMax = 100_000;
/** Requests that the next one may be told apart from: as many conversations can take turns and stay short in a trace. */
export const traceBasesMax = 16;
/** JSON of one block in a trace, in characters: images and whole files are recognised by their hash. */
export const tracedValueCharsMax = 100_000;
/** Lines of a trace that wait for the disk; beyond it whoever writes has to wait too. */
export const traceWaitingBytesMax = 16 * 2 ** 20;
/** Blocks that are searched for the place where two prompts meet again behind their first difference. */
export const meetAgainBlocksMax = 1_000;
/** Text shown of what stood there and of what stands there now, and around it. */
export const differenceCharsMax = 240;
export const differenceContextChars = 40;
/** A scenario is written by people: a bigger file is not one. */
export const scenarioBytesMax = 2 ** 20;
/** Uses of anchors in one; few lines of them can stand for billions. */
export const aliasesMax = 1_000;
/** How often one move of a scenario may be repeated, by all repetitions around it: beyond every session ever recorded. */
export const repeatsMax = 100_000;
/** Steps that a scenario may pass without coming to a move, while a request waits: a second's work. */
export const stepsWithoutMoveMax = 1_000_000;
/** Longest wait that a scenario may ask for: what the patience of clients ends at. */
export const waitMillisMax = 600_000;
/** Characters of somebody's words that a rule-made reply quotes in passing; user messages in a summary are never cut. */
export const quotedCharsMax = 400;
/** Lines of one section that a rule-made summary or notes file lists. */
export const listedMax = 40;
/** Memories written in one reply: one conversation seldom holds more that lasts. */
export const memoriesMax = 10;
/** Longest reply of a model that will not stop; more than any `max_tokens` lets through. */
export const endlessCharsMax = 8 * 2 ** 20;
/** A client that takes longer to send its request is not served. */
export const requestMillisMax = 120_000;
/** The API's own limit for one image, decoded. */
export const imageBytesMax = 5 * 2 ** 20;
/** The API takes no smaller budget for thinking. */
export const thinkingTokensMin = 1_024;
/** Conversations whose messages are kept to recognise them in their next request, and the most that they may hold together. */
export const internedConversationsMax = 64;
export const internedCharsMax = 64 * 2 ** 20;
/** The longest pause between two events of a stream: no client waits longer. */
export const pauseMillisMax = 3_600_000;
