/** Used where neither flag, session nor setting names one. */
export const modelDefault = "claude-sonnet-5-5";
