/** Lists by which a conversation is found again: a retry asks with the newest one, a rewind with one of the last turns'. */
export const listsMax = 64;

/** Messages at the end of a list by which it is found after its client has compacted it: what clients keep is a few rounds. */
export const tailMessagesMax = 12;

/** Conversations that are remembered. The oldest are forgotten: their sessions stay. */
export const conversationsMax = 20_000;
