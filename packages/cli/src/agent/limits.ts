/** Sessions that a chain of forks goes back to: each costs a look at the disk when the session opens. */
export const ancestorsMax = 100;

/** Replies without a change of an open task list, after which the model is reminded of it: that long is forgetting, less is work on one step. */
export const todoReminderRounds = 10;

/** Changed files that one reminder names; a checkout of another branch may change hundreds, and a count says enough of the rest. */
export const changedFilesNamedMax = 20;
