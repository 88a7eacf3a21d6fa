import { millis } from "../../schema/brand.ts";

/** A compaction leaves at least so much room below its threshold: a round or two, or it would be due again at once. */
export const headroomTokensMin = 10_000;

/** And no more than this share of it, so that small windows compact too. */
export const headroomShareMax = 0.1;

/** Of the message that a partial summary begins with: enough to find it by. */
export const beginsWithCharsMax = 200;

/** A refusal or an error in place of a summary is shorter; what is longer says something. */
export const faultCharsMax = 2_000;

/** A summary over so many times its budget is no summary. */
export const summaryBudgetTimesMax = 3;

/** Of the longer of two texts: where the shorter one is this much of it and stands in it, one repeats the other. */
export const repeatedShareMin = 0.8;

/** Of a text that a change of the gate is told with. */
export const changeCharsMax = 80;

/** Passes over a summary that rewrite quotes; what is wrong after them is taken out line by line. */
export const quotePassesMax = 4;

/** A quote is set right up to this length: it is looked for by an expression made of it, and those have a limit. */
export const nearQuoteCharsMax = 1_000;

/** A part of a shortened quote says something of its own from this length on. */
export const quotePartCharsMin = 12;

/** Of the groups of a request, where the server does not say how much too long it is. */
export const droppedShareUnknown = 0.2;

/** No tokenizer makes fewer tokens of a text than one for so many characters, blanks and rules apart: more need not be looked at. */
export const charsPerTokenMax = 8;

/** Guesses at a length before it is simply halved: most texts cost about the same all along. */
export const fitGuessesMax = 4;
/** Of a text and of what it was made from, in lines: they are laid beside each other at the cost of their product. */
export const ownLinesMax = 2_000;

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

/** A summary says it in so many tokens, or in a tenth of a small window. */
export const summaryTokensMax = 20_000;
export const summaryWindowShareMax = 0.1;

/** What no model shortened is kept shorter: every later round pays for it. */
export const extractTokensMax = 10_000;

/** Of the room that a compaction makes: the rest is for what is put back, and for going on. */
export const extractRoomShareMax = 0.4;
export const ledgerRoomShareMax = 0.4;
/** Files read again would otherwise fill a small window, and it would be compacted again a round later. */
export const restoredRoomShareMax = 1 / 3;
/** Of what is covered: a short session would otherwise get all of it back, and be no smaller. */
export const restoredCoveredShareMax = 0.4;

/** Of the threshold: up to here a message that waits for its answer stays in the view as it is, and summary and working state still have room. */
export const waitingThresholdShareMax = 0.4;

/** What the audit may add to a summary. */
export const carriedTokensMax = 4_000;
export const carriedWindowShareMax = 0.04;

/** Of the plain call's reply, analysis and summary together. */
export const summaryOutputTokensMax = 20_000;

/** And no more than this share of the summariser's window: most of a small one is for what it reads. */
export const summaryOutputShareMax = 0.25;

/**
 * Between what we count of a plain request and the window: the system prompt, the definition of a tool with what
 * providers say about tools themselves, and what our count may be off.
 */
export const plainMarginTokens = 1_000;

/** What a provider writes around each message. */
export const messageFrameTokens = 4;

/**
 * Answers to one compaction that came whole, were paid for and are no summary, by whatever path: the provider's own, the
 * fork, the plain call and that call again. The same text read a third time by the same model gives the same again.
 */
export const unusableAnswersMax = 2;

/**
 * A fork reads the cache and is worth a second and a third try; behind it there is the plain call. A summary of usual
 * length takes two minutes to write.
 */
export const forkLimits = { triesMax: 3, timeMillisMax: millis(5 * 60_000) } as const;

/** The longest summary at a slow model's pace, tries and waits between them included. */
export const plainTimeMillisMax = millis(10 * 60_000);

/** A local server reads a long prompt for minutes without a word; longer than this nobody is there. */
export const plainSilenceMillisMax = millis(5 * 60_000);

/** Behind a summary there is the extractive one: an overload of some seconds is waited for, no more. */
export const plainRetryLimits = {
  triesMax: 3,
  backoffMillis: millis(1_000),
  backoffMillisMax: millis(8_000),
  retryAfterMillisMax: millis(30_000),
} as const;

/** Of each piece of a round that is longer than the summariser's window; where that is too much, pieces are left out. */
export const pieceCharsMin = 200;

/** Of a line carried over from the summary before. */
export const previousLineChars = 500;
/** Of a request quoted in the first section: the sixth has it whole. */
export const requestTokensMax = 400;
/** Of the plan in force. */
export const planTokensMax = 800;
/** Commands and files read that are worth a line. */
export const commandLinesMax = 40;
export const fileReadLinesMax = 40;
/** Of the section of files, at most: the rest of its room goes to what the user said. */
export const fileReadShare = 1 / 4;
/** Kinds of files and names of tools. */
export const kindsMax = 12;
/** How often a summary is made anew because its parts counted less than the whole. */
export const extractFitTriesMax = 6;
/** What the line costs that says how many were left out. */
export const leftOutLineTokens = 16;
/** Of a tool's name: servers' tools have long ones. */
export const toolNameChars = 60;

/**
 * What a session's facts may hold. Everything here is dropped oldest first; messages of the user have no limit, since
 * the ledger budgets them. All of it together stays below a megabyte, however long the session.
 */

/** Files changed: more than any recorded session touched, and each has to be named in the summary. */
export const filesModifiedMax = 2000;
/** Files read: only the newest are worth a line. */
export const filesReadMax = 300;
/** Commands, by call. */
export const commandsMax = 200;
/** Errors: the same command, file or tool may have failed in several ways. */
export const errorsMax = 100;
/** What a person decided when asked. */
export const decisionsMax = 60;
/** Todos and tasks that are not done. */
export const todosMax = 200;
/** Names of tools that were called. */
export const toolsMax = 100;
/** Calls that wait for their results: the API takes far fewer in one reply. */
export const waitingCallsMax = 1000;

/** Of a command: what tells it from others stands in front. */
export const commandCharsMax = 400;
/** Of a line of an error. */
export const errorCharsMax = 200;
/** Of an error, its exit code besides: what failed, where and why; a run that fails repeats itself after that. */
export const errorLinesMax = 4;
/** Of a result, from either end, that is searched for the line that says what went wrong. */
export const errorSearchChars = 10_000;
/** Of a path: longer ones are no paths. */
export const pathCharsMax = 1000;
/** Of a todo. */
export const todoCharsMax = 500;
/** Of its status: a word. */
export const statusCharsMax = 40;
/** Of a question and of its answer. */
export const decisionCharsMax = 600;
/** Of a result that is searched for what a person answered. */
export const answerSearchChars = 10_000;
/** Of the last reply, from its end: what it was about to do stands there. */
export const replyCharsMax = 4000;
/** Of the plan in force. */
export const planCharsMax = 8000;
/** Of a reply's end that is searched for a question. */
export const questionChars = 600;

/** Of one message (spec 3, layer 4), where they do not all fit as they are, or where it is longer than words are. */
export const ledgerMessageTokensMax = 2000;
/** Up to this a message is a long brief and stays whole while all of them fit, as a file does that is put back; beyond it a pasted log. */
export const ledgerWholeTokensMax = 5000;
/** Above this a message is long: a paragraph or two says what is wanted, and so much stays of its head and tail. */
export const ledgerLongTokens = 120;
/** Where that does not do: a line, to know by what the id stands for. */
export const ledgerBriefTokens = 16;
/** Of the messages: so many keep their words before older ones keep their ids. */
export const ledgerNewestShare = 1 / 4;
/** How often a ledger is fitted anew because its parts counted less than the whole. */
export const ledgerFitTriesMax = 8;
/** Ids are a few dozen characters; what is longer is none of ours and can't be looked up as it stands. */
export const idCharsMax = 200;
/** Of an excerpt: up to so much is for lines that settle something. Its head says what it is about, its tail what is wanted. */
export const settlingShareMax = 1 / 4;
/** And for the names in what is left out: by them one knows what to bring back. */
export const excerptNamesShareMax = 1 / 10;
/** Of a name: longer ones are keys or data. */
export const excerptNameCharsMax = 120;
/** A shorter excerpt is a paragraph or two: lines out of its middle would say nothing. */
export const excerptTokensMin = 300;
/** Of what lies behind the head, and of each part left out: what is longer was pasted. */
export const excerptSearchChars = 100_000;

/** Files whose content is put back behind a boundary: the newest few are what the work is about. */
export const restoredFilesMax = 5;
/** Of one file: enough for a module of usual length, and a longer one is read in parts anyway. */
export const restoredFileTokensMax = 5_000;
export const restoredFilesTokensMax = 50_000;
export const restoredSkillTokensMax = 5_000;
export const restoredSkillsTokensMax = 25_000;
/** Of a part without a budget of its own: task lists, plans and reminders are short, or not worth more. */
export const restoredPartTokensMax = 10_000;
/** Of the window, for all parts together: in a window of 200,000 tokens every part has its whole budget. */
export const restoredWindowShareMax = 0.4;
/** With less room than this a beginning says nothing: the piece is only named. */
export const restoredCutTokensMin = 100;
/** Pieces named in one digest; the others are counted. Where all that is put back may be large, so may the list: at a few dozen tokens a name it takes an eighth. */
export const restoredNamesMin = 20;
export const restoredNamesMax = 60;
export const restoredTokensPerName = 200;
/** Of a title, a handle or a failure in a digest. */
export const restoredLineCharsMax = 500;

/** Of the window, for everything pinned: over it the pins stay, and whoever pins is told. */
export const pinnedWindowShareMax = 0.1;
/** The largest pins named in a warning. */
export const pinsNamedMax = 3;
