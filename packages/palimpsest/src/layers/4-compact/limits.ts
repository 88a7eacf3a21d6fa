import { millis } from "../../schema/brand.ts";

// When a compaction is due, and what it asks for.

/** The headroom below a threshold is at most this share of it, so that small windows compact too. */
export const headroomShareMax = 0.1;

/** Characters of the message that a partial summary begins with: enough to find it. */
export const beginsWithCharsMax = 200;

/** A refusal or an error instead of a summary is shorter than this; a longer text has content. */
export const faultCharsMax = 2_000;

/** A summary over so many times its budget is rejected. */
export const summaryBudgetTimesMax = 3;

/** If the shorter of two texts is at least this share of the longer and contained in it, one repeats the other. */
export const repeatedShareMin = 0.8;

/** Characters of a text in the description of a change that the gate made. */
export const changeCharsMax = 80;

/** Passes over a summary that rewrite quotes. What is wrong after them is removed line by line. */
export const quotePassesMax = 4;

/** Quotes up to this length are corrected: they are searched with a regular expression, whose size is limited. */
export const nearQuoteCharsMax = 1_000;

/** Parts of a shortened quote count by themselves from this length on. */
export const quotePartCharsMin = 12;

/** Share of a request's groups to drop if the server does not say how much too long it is. */
export const droppedShareUnknown = 0.2;

/** No tokenizer puts more characters into a token, except for blanks and rules. Longer texts need not be looked at. */
export const charsPerTokenMax = 8;

/** Guesses at a length before it is simply halved. Most texts have about the same density throughout. */
export const fitGuessesMax = 4;
/** Lines of a text and of its original that are compared: that costs their product. */
export const ownLinesMax = 2_000;

/** Characters of a line for something that is carried forward: a path, a todo, an error. */
export const carriedCharsMax = 600;
/** Characters of what failed, in the line of an error. */
export const failedCharsMax = 80;
/** Characters of a question in the line of its answer, which matters more. */
export const questionCharsMax = 160;
/** Characters of an answer, and of the first line of a command. The id brings back the rest. */
export const answerCharsMax = 300;
export const commandLineCharsMax = 200;
/**
 * How many of the newest facts that a summary may do without are carried if it does not mention them: they use up what
 * is left of the budget, and every round pays for them.
 */
export const carriedDecisionsMax = 24;
export const carriedErrorsMax = 16;
export const carriedCommandsMax = 16;
/** Tokens of the last request if neither the summary nor the ledger has it. */
export const carriedRequestTokensMax = 2000;
/** Tokens of any other message. The id brings back the rest. */
export const carriedMessageTokensMax = 24;
/** How many ends of a path identify it. Deeper ones tell files apart no better, and each costs memory. */
export const pathEndsMax = 4;

// Budgets.

/** A summary has at most so many tokens, or a tenth of a small window. */
export const summaryTokensMax = 20_000;
export const summaryWindowShareMax = 0.1;

/** An extractive summary is kept shorter: every later round pays for it. */
export const extractTokensMax = 10_000;

/** Shares of the room that a compaction makes. The rest is for what is restored, and for the next rounds. */
export const extractRoomShareMax = 0.4;
export const ledgerRoomShareMax = 0.4;
/** Otherwise restored files would fill a small window, and it would be compacted again a round later. */
export const restoredRoomShareMax = 1 / 3;
/** Share of what is covered. Otherwise a short session would get all of it back, and be no smaller. */
export const restoredCoveredShareMax = 0.4;

/**
 * Share of the threshold up to which a message that waits for its answer stays in the view as it is, however large the fixed
 * part is.
 */
export const waitingThresholdShareMax = 0.4;
/** Share of the threshold for both of them, if the fixed part is small: summary and working state still have room. */
export const waitingAndFixedShareMax = 0.75;

/** What the audit may add to a summary. */
export const carriedTokensMax = 4_000;
export const carriedWindowShareMax = 0.04;

/** For the reply of the plain call, analysis and summary together. */
export const summaryOutputTokensMax = 20_000;

/** But no more than this share of the summariser's window: most of a small one is for what it reads. */
export const summaryOutputShareMax = 0.25;

/**
 * Margin between our count of a plain request and the window: the system prompt, the definition of a tool with what
 * providers add about tools, and the error of our count.
 */
export const plainMarginTokens = 1_000;

/** What a provider adds around each message. */
export const messageFrameTokens = 4;

/**
 * Complete, paid answers to one compaction that are no summary, from any path: the provider's own, the fork, the plain
 * call and that call again. The same model that reads the same text a third time gives the same answer.
 */
export const unusableAnswersMax = 2;

/**
 * A fork reads the cache, so a second and a third try are worth it; after it there is the plain call. A summary of
 * usual length takes two minutes to write.
 */
export const forkLimits = { triesMax: 3, timeMillisMax: millis(5 * 60_000) } as const;

/** Enough for the longest summary by a slow model, including retries and waits. */
export const plainTimeMillisMax = millis(10 * 60_000);

/** A local server may read a long prompt for minutes in silence. After this time it is taken to be gone. */
export const plainSilenceMillisMax = millis(5 * 60_000);

/** After the plain call there is the extractive summary, so only a short overload is waited for. */
export const plainRetryLimits = {
  triesMax: 3,
  backoffMillis: millis(1_000),
  backoffMillisMax: millis(8_000),
  retryAfterMillisMax: millis(30_000),
} as const;

/**
 * The least characters of each piece of a round that is longer than the summariser's window. If that is too much,
 * pieces are left out.
 */
export const pieceCharsMin = 200;

/** Characters of a line carried over from the previous summary. */
export const previousLineChars = 500;
/** Tokens of a request quoted in the first section. The sixth has it whole. */
export const requestTokensMax = 400;
/** Of the plan in force. */
export const planTokensMax = 800;
/** Lines for commands and for files read. */
export const commandLinesMax = 40;
export const fileReadLinesMax = 40;
/** Share of the files section for files read. The rest of its room goes to what the user said. */
export const fileReadShare = 1 / 4;
/** The most kinds of files and names of tools listed. */
export const kindsMax = 12;
/** How often a summary is built again because its parts counted less than the whole. */
export const extractFitTriesMax = 6;
/** Cost of the line that says how many were left out. */
export const leftOutLineTokens = 16;
/** Characters of a tool's name. Tools of MCP servers have long names. */
export const toolNameChars = 60;

/**
 * What a session's facts may hold. Everything here is dropped oldest first. User messages have no limit, since the
 * ledger budgets them. All of it together stays below a megabyte, however long the session.
 */

/** Changed files: more than any recorded session touched. Each has to be named in the summary. */
export const filesModifiedMax = 2000;
/** Files read. Only the newest are worth a line. */
export const filesReadMax = 300;
/** Commands, by call. */
export const commandsMax = 200;
/** Errors. The same command, file or tool may have failed in several ways. */
export const errorsMax = 100;
/** Decisions of the user. */
export const decisionsMax = 60;
/** Todos and tasks that are not done. */
export const todosMax = 200;
/** Names of tools that were called. */
export const toolsMax = 100;
/** Calls without a result yet. The API takes far fewer in one reply. */
export const waitingCallsMax = 1000;

/** Characters of a command. Its beginning distinguishes it from others. */
export const commandCharsMax = 400;
/** Characters of a line of an error. */
export const errorCharsMax = 200;
/** Lines of an error, besides its exit code: what failed, where and why. After that a failing run repeats itself. */
export const errorLinesMax = 4;
/** Characters at either end of a result that are searched for an error. */
export const errorSearchChars = 10_000;
/** Characters of a path. Anything longer is no path. */
export const pathCharsMax = 1000;
/** Characters of a todo. */
export const todoCharsMax = 500;
/** Characters of its status, which is a word. */
export const statusCharsMax = 40;
/** Characters of a question, and of its answer. */
export const decisionCharsMax = 600;
/** Characters of a result that are searched for the user's answer. */
export const answerSearchChars = 10_000;
/** Characters at the end of the last reply, which say what it was about to do. */
export const replyCharsMax = 4000;
/** Of the plan in force. */
export const planCharsMax = 8000;
/** Characters at the end of a reply that are searched for a question. */
export const questionChars = 600;

/**
 * Tokens of one message if they do not all fit as they are, or if it is longer than a brief. A policy may have its own
 * number.
 */
export const ledgerMessageTokensMax = 2000;
/**
 * Up to this size a message counts as a brief and stays whole while all of them fit, like a restored file. A longer one
 * is a pasted log.
 */
export const ledgerWholeTokensMax = 5000;
/** Above this size a message is long. So much stays of its head and tail: a paragraph or two says what is wanted. */
export const ledgerLongTokens = 120;
/** If that is still too much: a line, to recognise what the id stands for. */
export const ledgerBriefTokens = 16;
/** Share of the messages, the newest, that keep their words before older ones keep their ids. */
export const ledgerNewestShare = 1 / 4;
/** How often a ledger is fitted again because its parts counted less than the whole. */
export const ledgerFitTriesMax = 8;
/** Ids have a few dozen characters. Anything longer is not ours and can't be looked up. */
export const idCharsMax = 200;
/** Share of an excerpt for lines that settle something. Its head says what it is about, its tail what is wanted. */
export const settlingShareMax = 1 / 4;
/** Share for the names in what is left out: they show what to bring back. */
export const excerptNamesShareMax = 1 / 10;
/** Characters of a name. Longer ones are keys or data. */
export const excerptNameCharsMax = 120;
/** A shorter excerpt is a paragraph or two; lines from its middle would say nothing. */
export const excerptTokensMin = 300;
/** Characters searched behind the head and in each part left out. A longer text was pasted. */
export const excerptSearchChars = 100_000;

// What is restored behind a boundary.

/** Files whose content is restored: the work is about the newest few. */
export const restoredFilesMax = 5;
/** Tokens of one file: enough for a module of usual length, and a longer one is read in parts anyway. */
export const restoredFileTokensMax = 5_000;
export const restoredFilesTokensMax = 50_000;
export const restoredSkillTokensMax = 5_000;
export const restoredSkillsTokensMax = 25_000;
/** Tokens of a part without its own budget: task lists, plans and reminders are short, or not worth more. */
export const restoredPartTokensMax = 10_000;
/** Share of the window for all parts together: in a window of 200,000 tokens every part has its whole budget. */
export const restoredWindowShareMax = 0.4;
/** With less room than this a beginning is useless, and the piece is only named. */
export const restoredCutTokensMin = 100;
/**
 * Pieces named in one digest; the others are counted. If much may be restored, the list may be long too: at a few dozen
 * tokens a name it takes an eighth.
 */
export const restoredNamesMin = 20;
export const restoredNamesMax = 60;
export const restoredTokensPerName = 200;
/** Characters of a title, a handle or a failure in a digest. */
export const restoredLineCharsMax = 500;

/** Share of the window for everything pinned. Above it the pins stay, and the user is warned. */
export const pinnedWindowShareMax = 0.1;
/** The largest pins named in a warning. */
export const pinsNamedMax = 3;
