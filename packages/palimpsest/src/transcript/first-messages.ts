import type { Message } from "../schema/block.ts";

/** How far messages reached at a moment. The last one may have grown since: what follows a round joins its results. */
export interface MessagesReach {
  /** Absent: all of them. */
  readonly messagesMax?: number | undefined;
  /** Of the last of these; absent: all of it. */
  readonly lastBlocksMax?: number | undefined;
}

/** The messages up to there; the very list where that is all of them. */
export function firstMessages(
  messages: readonly Message[],
  { messagesMax = messages.length, lastBlocksMax = Infinity }: MessagesReach,
): readonly Message[] {
  const last = messages[messagesMax - 1];
  const isGrown = last !== undefined && last.content.length > lastBlocksMax;
  if (messagesMax >= messages.length && !isGrown) return messages;
  const first = messages.slice(0, messagesMax);
  return isGrown ? [...first.slice(0, -1), { ...last, content: last.content.slice(0, lastBlocksMax) }] : first;
}

export const reachOf = (messages: readonly Message[]): Required<MessagesReach> => ({
  messagesMax: messages.length,
  lastBlocksMax: messages.at(-1)?.content.length,
});
