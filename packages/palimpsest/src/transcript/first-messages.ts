import type { Message } from "../schema/block.ts";

/**
 * The extent of a list of messages at one moment. The last one may have grown since: content after a round joins the
 * message of its results.
 */
export interface MessagesReach {
  /** Absent: all of them. */
  readonly messagesMax?: number | undefined;
  /** Blocks of the last of these messages; absent: all of them. */
  readonly lastBlocksMax?: number | undefined;
}

/** The messages up to there; the same list if that is all of them. */
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

export const measureReach = (messages: readonly Message[]): Required<MessagesReach> => ({
  messagesMax: messages.length,
  lastBlocksMax: messages.at(-1)?.content.length,
});

/**
 * Indices at which a history may be cut in two: before message `i`, for each `i` returned. The part after a cut is valid
 * once a user message is put in front; the part before it is valid as it is. A cut never separates calls from results.
 */
export function cutPoints(messages: readonly Message[]): number[] {
  const points: number[] = [];
  for (const [at, message] of messages.entries()) if (!hasResults(message)) points.push(at);
  if (messages.length > 0 && !hasCalls(messages.at(-1))) points.push(messages.length);
  return points;
}

const hasResults = (message: Message): boolean => message.content.some((block) => block.type === "tool_result");
const hasCalls = (message: Message | undefined): boolean =>
  message?.content.some((block) => block.type === "tool_use") === true;
