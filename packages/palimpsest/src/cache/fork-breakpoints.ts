import type { Message } from "../schema/block.ts";
import {
  type Breakpoint,
  type BreakpointInput,
  canBeMarked,
  comparePlaces,
  type MessagePlace,
  planBreakpoints,
} from "./breakpoint.ts";

interface ForkBreakpointOptions {
  /** The last place that the fork shares with its parent and its siblings; undefined if there is none. */
  readonly common: MessagePlace | undefined;
  readonly cacheWrite: "skip" | "write";
}

/**
 * A fork has a breakpoint where the parent wrote, so that it reads from there. If it may write, it also has one at the end
 * of what it shares with its siblings and one at its own end. The other breakpoints of the usual plan are dropped.
 */
export function forkBreakpoints(
  input: BreakpointInput,
  { common, cacheWrite }: ForkBreakpointOptions,
): readonly Breakpoint[] {
  const planned = planBreakpoints(input);
  const header = planned.filter(({ place }) => place.part === "system").slice(0, 1);
  const parentPlace = input.written.toSorted(comparePlaces).at(-1);
  const newest = planned.flatMap(({ place }) => (place.part === "messages" ? [place] : [])).at(-1);
  const writePlaces = cacheWrite === "skip" ? [] : [common, newest];
  const places = [parentPlace, ...writePlaces]
    .filter((place) => place !== undefined)
    .filter((place) => isMarkable(input, place));
  const distinct = places.filter((place, at) => places.findIndex((other) => comparePlaces(other, place) === 0) === at);
  const lifetime = input.lifetimes.rolling;
  return [...header, ...distinct.toSorted(comparePlaces).map((place) => ({ place, lifetime }))];
}

function isMarkable({ messages }: BreakpointInput, { message, at }: MessagePlace): boolean {
  const block = messages[message]?.content[at];
  return block !== undefined && canBeMarked(block);
}

/** The last block; undefined if there is none. */
export function lastPlace(messages: readonly Message[]): MessagePlace | undefined {
  const last = messages.at(-1);
  return last && { part: "messages", message: messages.length - 1, at: last.content.length - 1 };
}
