/** Of one reply, unless the caller says otherwise: official clients refuse to wait unstreamed for more than some 21,000. */
export const replyTokensDefault = 16_000;

/** Of the window: in a small one, room for a long reply is room that the conversation misses. */
export const replyShareMax = 0.25;
