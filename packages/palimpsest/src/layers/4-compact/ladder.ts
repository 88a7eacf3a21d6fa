import type { Message } from "../../schema/block.ts";
import { droppedShareUnknown } from "./limits.ts";

/** Stands first where rounds were left out of a call for a summary, and is known again by the next try. */
export const droppedLine = "[Earlier rounds are left out here, so that this request fits the window.]";

export interface DropInput {
  /** Of a valid request: roles alternate, and results stand in the message behind their calls. */
  readonly messages: readonly Message[];
  /** How much the request was too long. */
  readonly overTokens: number | "unknown";
  readonly count: (message: Message) => number;
}

export type Dropped =
  | { readonly kind: "dropped"; readonly messages: readonly Message[]; readonly groups: number }
  /** There is one group, and the request can't do without it: it holds what is asked. */
  | { readonly kind: "nothing-left" };

/**
 * The request for a summary again, shorter: without its oldest groups, so many that the gap is covered. One group at
 * least goes and the last one stays; what stays is valid and begins with the user.
 */
export function dropOldest({ messages, overTokens, count }: DropInput): Dropped {
  const groups = groupsByRound(withoutMarker(messages));
  if (groups.length < 2) return { kind: "nothing-left" };
  const wanted = overTokens === "unknown" ? Math.floor(groups.length * droppedShareUnknown) : covering(overTokens);
  const dropped = Math.min(Math.max(1, wanted), groups.length - 1);
  return { kind: "dropped", messages: [marker, ...groups.slice(dropped).flat()], groups: dropped };

  function covering(gap: number): number {
    let sum = 0;
    const last = groups.findIndex((group) => {
      sum += group.reduce((of, message) => of + count(message), 0);
      return sum >= gap;
    });
    return last === -1 ? groups.length : last + 1;
  }
}

/** A reply with the results of its calls and whatever else the user said then; first, what stands before any reply. */
export function groupsByRound(messages: readonly Message[]): readonly (readonly Message[])[] {
  const groups: Message[][] = [];
  for (const [at, message] of messages.entries()) {
    const isNext = message.role === "assistant" && messages[at - 1]?.role !== "assistant";
    if (isNext || groups.length === 0) groups.push([message]);
    else groups.at(-1)?.push(message);
  }
  return groups;
}

/** Every group but the first begins with a reply, and a request must not. */
const marker: Message = { role: "user", content: [{ type: "text", text: droppedLine }] };

function withoutMarker(messages: readonly Message[]): readonly Message[] {
  const [first, ...rest] = messages;
  return first !== undefined && isMarker(first) ? rest : messages;
}

const isMarker = ({ role, content }: Message): boolean =>
  role === "user" &&
  content.length === 1 &&
  content.every((block) => block.type === "text" && block.text === droppedLine);

/** From what a provider's refusal says of the request: a window and what was used of it. */
export interface SaidSizes {
  readonly limitTokens?: number;
  readonly usedTokens?: number;
}

export const overTokensOf = ({ limitTokens, usedTokens }: SaidSizes): number | "unknown" =>
  limitTokens === undefined || usedTokens === undefined || usedTokens <= limitTokens
    ? "unknown"
    : usedTokens - limitTokens;
