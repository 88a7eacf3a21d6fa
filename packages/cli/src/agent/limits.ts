/** Length of a chain of forks that is followed: each session costs a disk access when the session opens. */
export const ancestorsMax = 100;

/**
 * Replies without a change of an open task list until the model is reminded of it: after so many it has been forgotten,
 * after fewer it may be working on one step.
 */
export const todoReminderRounds = 10;

/**
 * Changed files that one reminder names; a checkout of another branch may change hundreds, and a count is enough for
 * the rest.
 */
export const changedFilesNamedMax = 20;
