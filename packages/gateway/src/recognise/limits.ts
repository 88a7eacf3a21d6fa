/** Lists by which a conversation is found again: a retry asks with the newest one, a rewind with one of the last turns'. */
export const listsMax = 64;

/** Conversations with the very same list that are told apart: runs of one task side by side, or a script that is run again and again. The newest are kept. */
export const sharedListMax = 64;

/** Messages at the end of a list by which it is found after its client has compacted it: what clients keep is a few rounds. */
export const tailMessagesMax = 12;

/** So many of them, in a row: a question and its answer, or a call and its result. */
export const tailRowMin = 2;

/** Messages at the end of a list among which they are looked for: a reply with many calls has a result for each. */
export const tailSearchMax = 64;

/** Conversations that end with the same messages and are told apart by those before. The newest are kept. */
export const sharedTailMax = 8;

/** Conversations that are remembered. The oldest are forgotten: their sessions stay. */
export const conversationsMax = 20_000;

/** Characters of a client's name in the status. A longer product name in the user agent is not shown. */
export const clientCharsMax = 40;
