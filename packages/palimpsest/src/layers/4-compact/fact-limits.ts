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
