/** Body of a Messages or count_tokens request; above it the API answers 413. */
export const bodyBytesMax = 32 * 2 ** 20;
/** Levels of lists and objects in a body: far beyond every tool's schema, far below what ends a stack. */
export const jsonDepthMax = 500;
/** The API's own limit. */
export const messagesMax = 100_000;
export const breakpointsMax = 4;
/** Requests whose fingerprint is kept for `diagnostics.previous_message_id`. */
export const fingerprintsMax = 2_000;
/** Blocks of all those requests together; a block that several of them begin with counts once. */
export const fingerprintBlocksMax = 200_000;
/** Hashes and token counts of blocks seen before, so that a conversation's old blocks are not worked through again. */
export const knownBlocksMax = 200_000;
/** Readings of one message that are kept: as it was sent, and behind each of the two edits that clear something. */
export const segmentsPerMessageMax = 3;
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
/** Characters of somebody's words that a rule-made reply quotes in passing; user messages in a summary that a client asks for are never cut. */
export const quotedCharsMax = 400;
/** Lines of one section that a rule-made summary or notes file lists. */
export const listedMax = 40;
/** Of a conversation that the server compacts, what a rule-made summary may be, within two bounds: a summary must get it under the threshold, and be one for short conversations too. */
export const ruleSummaryShare = 0.1;
export const ruleSummaryTokensMin = 500;
export const ruleSummaryTokensMax = 8_000;
/** Levels and values of what an echo makes of a schema: schemas can refer to themselves. */
export const instanceDepthMax = 20;
export const instanceValuesMax = 10_000;
/** Memories written in one reply: one conversation seldom holds more that lasts. */
export const memoriesMax = 10;
/** Longest reply of a model that will not stop; more than any `max_tokens` lets through. */
export const endlessCharsMax = 8 * 2 ** 20;
/** A client that takes longer to send its request is not served. */
export const requestMillisMax = 120_000;
/** The API's own limit for one image, decoded. */
export const imageBytesMax = 5 * 2 ** 20;
/** Pixels on the longest side of an image; fewer where a request holds more images than `imagesFew`. */
export const imageSideMax = 8_000;
export const manyImagesSideMax = 2_000;
export const imagesFew = 20;
/** The API takes no smaller budget for thinking. */
export const thinkingTokensMin = 1_024;
/** Conversations whose messages are kept to recognise them in their next request, and the most that they may hold together. */
export const internedConversationsMax = 64;
export const internedCharsMax = 64 * 2 ** 20;
/** The longest pause between two events of a stream: no client waits longer. */
export const pauseMillisMax = 3_600_000;
/** A body that passes through the recorder, each way: what the API takes, and as much again for what is put around it. */
export const recordedBodyBytesMax = 64 * 2 ** 20;
/** Shorter keys are words, such as `any`: they would be found all over a body that has nothing to do with them. */
export const credentialCharsMin = 16;
/** Secrets that the recorder looks for at a time: far more than clients have, since some servers send a new cookie with each reply. */
export const credentialsMax = 256;
/** A cassette's file: a request and its reply, base64 included. */
export const cassetteBytesMax = 4 * recordedBodyBytesMax;
/** What the player holds in memory, counted as on disk: a quarter of what Node takes on a small machine, for parsing needs room too. */
export const cassettesBytesMax = 2 * cassetteBytesMax;
/** Cassettes in a folder: longer than any session. */
export const cassettesMax = 10_000;
/** Cassettes that a request without one is compared with, while its client waits. */
export const comparedCassettesMax = 1_000;
/** OpenAI face: limits for a request's fields that its official client states. */
export const stopSequencesMax = 4;
export const metadataPairsMax = 16;
export const metadataCharsMax = 512;
/** What the client does not state: as the API was last known to answer, without a source at hand. */
export const cacheKeyCharsMax = 64;
export const outputTokensMin = 16;
/** Smaller thresholds would compact every request. Ours: none is published that we know of. */
export const compactThresholdTokensMin = 1_000;
/** A shorter prefix is not cached; before GPT-5.6 hits come in steps. */
export const openAiCachedTokensMin = 1_024;
export const openAiCachedTokensStep = 128;
/** Breakpoints that one request writes, of them explicit ones where one is implicit, and those that it is matched at. */
export const openAiWritesMax = 4;
export const openAiExplicitWritesMax = 3;
export const openAiMatchedBreakpointsMax = 80;
/** Texts are hashed in slices, so that two that begin alike share their beginning: about one step of tokens each. */
export const promptSliceChars = 512;
/** Slices of prompts that are remembered as cached: some hundred long conversations. */
export const openAiCachedSlicesMax = 200_000;
/** Responses that are kept for `previous_response_id` and comparisons, and the characters that they hold together; beyond it the oldest go. */
export const storedResponsesMax = 2_000;
export const storedResponseCharsMax = 256 * 2 ** 20;
/** Context editing, where the request does not say: the API's own defaults. */
export const clearTriggerTokensDefault = 100_000;
export const keptToolUsesDefault = 3;
/** The API takes no smaller threshold for compaction: below it there is too little to sum up. */
export const compactTriggerTokensMin = 50_000;
/** The API compacts at so many where a request sets no threshold. */
export const compactTriggerTokensDefault = 150_000;
/** Distinct tools that a conversation may name and still be compacted on demand. The API's own number is not published. */
export const compactionToolReferencesMax = 1_000;
/** Tools that a conversation may make available at once: as many as the API's tool search takes. Their JSON together: ours. */
export const availableToolsMax = 10_000;
export const availableToolsCharsMax = 8 * 2 ** 20;
/** A thread that nobody goes on with is forgotten: the API's own time. */
export const threadMillisMax = 5 * 60_000;
/** Replies that a thread may be continued from, and the JSON that they hold together; beyond it the oldest go. */
export const threadsMax = 2_000;
export const threadCharsMax = 256 * 2 ** 20;
/** Names of models that are not looked for again: more than there are, dates and suffixes included. */
export const modelNamesMax = 1_000;
