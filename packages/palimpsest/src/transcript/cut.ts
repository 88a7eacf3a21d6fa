import type { Message } from "../schema/block.ts";

/**
 * Where a history may be cut in two: before message `i`, for each `i` returned. What stands behind a cut is valid once
 * a user message is put in front, what stands before it is valid as it is. A cut never parts calls from their results.
 */
export function cutPoints(messages: readonly Message[]): number[] {
  const points: number[] = [];
  for (const [at, message] of messages.entries()) if (!answers(message)) points.push(at);
  if (messages.length > 0 && !calls(messages.at(-1))) points.push(messages.length);
  return points;
}

const answers = (message: Message): boolean => message.content.some((block) => block.type === "tool_result");
const calls = (message: Message | undefined): boolean =>
  message?.content.some((block) => block.type === "tool_use") === true;
