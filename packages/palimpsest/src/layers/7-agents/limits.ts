import { millis } from "../../schema/brand.ts";

/** What a parent is told when an agent ends, all of it: some 1,500 tokens. The whole report is read by the agent's id. */
export const reportCharsMax = 6_000;
/** Of what fits, the share for the beginning of a long report: answers begin with what was asked for. */
export const reportHeadShare = 0.6;
/** Numbers behind the tags, if a report has closing tags of its own. */
export const reportTagCharsMax = 40;
/** Names and paths in the first lines of a report. */
export const reportNameCharsMax = 300;
/** Why an agent failed, in the first lines of its report. */
export const reportFailureCharsMax = 500;

/** How often a model is asked what a background agent does. */
export const progressEveryMs = millis(30_000);
/** Shorter than the time between two: a call that hangs must not keep the next one from starting for long. */
export const progressMillisMax = millis(20_000);
/** A line of the model that is older gives way to the line of the newest call: one call was skipped or lost. */
export const progressStaleMs = millis(2 * progressEveryMs);
/** Before task, reply and result there is nothing to say but the task. */
export const progressMessagesMin = 3;
/** After so many failed or dropped lines in a row no more is asked for this agent: each one costs, and the calls tell enough. */
export const progressFailuresMax = 3;
/** Progress lines of an agent may cost this share of what the agent itself has cost. */
export const progressShareMax = 0.05;

/** A verb and a name; a model is asked for three to five words. */
export const progressWordsMin = 2;
export const progressWordsMax = 5;
/** One line of a list. */
export const progressCharsMax = 80;

/** The newest messages: a line may only name what is in them. */
export const newestMessagesMax = 10;
/** What the small call sends of them: enough for some calls with their results. */
export const excerptCharsMax = 4_000;
/** One text or result in it: its beginning says what it is. */
export const excerptTextCharsMax = 400;
/** Fields of a call's input in it, and characters of each: paths, patterns and commands come first. */
export const excerptFieldsMax = 5;
export const excerptFieldCharsMax = 120;

/** What is sent besides messages, and the answer; a fork keeps its parent's thinking settings, and may think first. */
export const usualProgress = { promptTokens: 160, forkOutputTokens: 150, smallOutputTokens: 15 };
/** Tokens of one answer of the small call. */
export const progressOutputTokensMax = 40;

/** A file, function or command in a line that is made from a call. */
export const callNameCharsMax = 40;
