// Requests to the Messages API

/** Body of a Messages or count_tokens request. The API answers a larger one with 413. */
export const bodyBytesMax = 32 * 2 ** 20;
/** Levels of lists and objects in a body: far more than any tool's schema has, far fewer than overflow the stack. */
export const jsonDepthMax = 500;
/** The API's own limit. */
export const messagesMax = 100_000;
export const breakpointsMax = 4;
/** The API's own limit for one image, decoded. */
export const imageBytesMax = 5 * 2 ** 20;
/** Pixels on the longest side of an image; fewer if a request holds more images than `imagesFew`. */
export const imageSideMax = 8_000;
export const manyImagesSideMax = 2_000;
export const imagesFew = 20;
/** The API accepts no smaller budget for thinking. */
export const thinkingTokensMin = 1_024;
/** Tools that a conversation may make available at once: as many as the API's tool search accepts. The limit on their JSON is ours. */
export const availableToolsMax = 10_000;
export const availableToolsCharsMax = 8 * 2 ** 20;
/** Model names that are remembered once found: more than there are, dates and suffixes included. */
export const modelNamesMax = 1_000;

// Context editing, compaction and threads

/** Defaults of context editing if the request sets none: the API's own. */
export const clearTriggerTokensDefault = 100_000;
export const keptToolUsesDefault = 3;
/** The API accepts no smaller threshold for compaction: below it there is too little to summarise. */
export const compactTriggerTokensMin = 50_000;
/** The threshold of the API if a request sets none. */
export const compactTriggerTokensDefault = 150_000;
/** Distinct tools that a conversation may name and still be compacted on demand. The API's own number is not published. */
export const compactionToolReferencesMax = 1_000;
/** A thread that is not continued for this long is forgotten: the API's own time. */
export const threadMillisMax = 5 * 60_000;
/** Replies that a thread may be continued from, and the JSON that they hold together; beyond it the oldest are dropped. */
export const threadsMax = 2_000;
export const threadCharsMax = 256 * 2 ** 20;

// What is remembered of requests

/** Requests whose fingerprint is kept for `diagnostics.previous_message_id`. */
export const fingerprintsMax = 2_000;
/** Blocks of all those requests together; a block in a prefix that several of them share counts once. */
export const fingerprintBlocksMax = 200_000;
/** Hashes and token counts of blocks seen before, so that the old blocks of a conversation are not processed again. */
export const knownBlocksMax = 200_000;
/** Readings of one message that are kept: as it was sent, and after each of the two edits that clear something. */
export const segmentsPerMessageMax = 3;
/** Conversations whose messages are kept to recognise them in their next request, and the most that they may hold together. */
export const internedConversationsMax = 64;
export const internedCharsMax = 64 * 2 ** 20;

// Time and faults

/** A request that hangs is held no longer than this; then the connection is closed. */
export const hangMillisMax = 600_000;
/** A client that needs longer to send its request is not served. */
export const requestMillisMax = 120_000;
/** The longest pause between two events of a stream: no client waits longer. */
export const pauseMillisMax = 3_600_000;
/** A hundred years, forwards or back: a date some thousand years away can no longer be written. */
export const clockJumpMillisMax = 100 * 366 * 24 * 3_600_000;
/** Factor by which a reply may overstate its usage: figures stay whole numbers that every JSON reader accepts. */
export const usageFactorMax = 1_000;

// Traces

/** Blocks whose content a trace is known to hold; a forgotten one is written again when it comes back. */
export const tracedBlocksMax = 100_000;
/** Requests that the next one may be written as a difference to: this many conversations can alternate and stay short in a trace. */
export const traceBasesMax = 16;
/** JSON of one block in a trace, in characters: images and whole files are recognised by their hash. */
export const tracedValueCharsMax = 100_000;
/** Lines of a trace that wait for the disk; beyond it the writer has to wait too. */
export const traceWaitingBytesMax = 16 * 2 ** 20;
/** Blocks that are searched for the place where two prompts agree again after their first difference. */
export const meetAgainBlocksMax = 1_000;
/** Characters shown of the old and of the new text where they differ, and around that place. */
export const differenceCharsMax = 240;
export const differenceContextChars = 40;

// Scenarios and responders

/** A scenario is written by hand: a bigger file is not one. */
export const scenarioBytesMax = 2 ** 20;
/** Uses of anchors in a scenario: a few lines of them can expand to billions. */
export const aliasesMax = 1_000;
/** How often one move of a scenario may be repeated, by all repetitions around it: more than in any recorded session. */
export const repeatsMax = 100_000;
/** Steps that a scenario may pass without a move while a request waits: about a second of work. */
export const stepsWithoutMoveMax = 1_000_000;
/** Longest wait that a scenario may ask for: clients give up after it. */
export const waitMillisMax = 600_000;
/** Characters that a rule-made reply quotes in passing; user messages in a summary that a client asks for are never cut. */
export const quotedCharsMax = 400;
/** Lines of one section that a rule-made summary or notes file lists. */
export const listedMax = 40;
/**
 * Share of a conversation that a rule-made summary may have when the server compacts, within two bounds: the summary
 * must bring the conversation under the threshold, and must be one for short conversations too.
 */
export const ruleSummaryShare = 0.1;
export const ruleSummaryTokensMin = 500;
export const ruleSummaryTokensMax = 8_000;
/** Levels and values of what an echo makes of a schema: schemas can refer to themselves. */
export const instanceDepthMax = 20;
export const instanceValuesMax = 10_000;
/** Memories written in one reply: one conversation seldom holds more that is lasting. */
export const memoriesMax = 10;
/** Longest reply of a model that does not stop: more than any `max_tokens` lets through. */
export const endlessCharsMax = 8 * 2 ** 20;

// Cassettes

/** A body that passes through the recorder, each way: what the API accepts, and as much again for what wraps it. */
export const recordedBodyBytesMax = 64 * 2 ** 20;
/** Shorter keys are words, such as `any`: they would be found all over a body that has nothing to do with them. */
export const credentialCharsMin = 16;
/** Secrets that the recorder looks for at a time: far more than clients have, since some servers send a new cookie with each reply. */
export const credentialsMax = 256;
/** A cassette's file: a request and its reply, base64 included. */
export const cassetteBytesMax = 4 * recordedBodyBytesMax;
/** What the player holds in memory, measured on disk: a quarter of what Node gets on a small machine, since parsing needs room too. */
export const cassettesBytesMax = 2 * cassetteBytesMax;
/** Cassettes in a folder: more than any session has. */
export const cassettesMax = 10_000;
/** Cassettes that an unrecorded request is compared with while its client waits. */
export const comparedCassettesMax = 1_000;

// The OpenAI API

/** Limits of request fields that the official client states. */
export const stopSequencesMax = 4;
export const metadataPairsMax = 16;
export const metadataCharsMax = 512;
/** Limits that the client does not state: as the API was last known to answer, without a source at hand. */
export const cacheKeyCharsMax = 64;
export const outputTokensMin = 16;
/** Smaller thresholds would compact every request. The number is ours: none is published that we know of. */
export const compactThresholdTokensMin = 1_000;
/** A shorter prefix is not cached; before GPT-5.6 hits come in steps. */
export const openAiCachedTokensMin = 1_024;
export const openAiCachedTokensStep = 128;
/** Breakpoints that one request writes, explicit ones among them if one is implicit, and breakpoints that it is matched at. */
export const openAiWritesMax = 4;
export const openAiExplicitWritesMax = 3;
export const openAiMatchedBreakpointsMax = 80;
/** Texts are hashed in slices of about one step of tokens each, so that two texts that begin alike share their first slices. */
export const promptSliceChars = 512;
/** Slices of prompts that are remembered as cached: some hundred long conversations. */
export const openAiCachedSlicesMax = 200_000;
/** Responses that are kept for `previous_response_id` and comparisons, and the characters that they hold together; beyond it the oldest are dropped. */
export const storedResponsesMax = 2_000;
export const storedResponseCharsMax = 256 * 2 ** 20;
/** Questions of one consolidation of memories, and words of each: a search weighs single words. */
export const dreamQuestionsMax = 20;
export const questionWordsMax = 8;
/** Memories that one consolidation looks at. */
export const dreamViewsMax = 200;
