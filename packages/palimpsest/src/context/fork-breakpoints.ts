import {
  type Breakpoint,
  type BreakpointInput,
  canBeMarked,
  comparePlaces,
  type MessagePlace,
  planBreakpoints,
} from "../cache/breakpoints.ts";

export interface ForkMarks {
  /** The last place that the fork has in common with its parent and its siblings; undefined where it has none. */
  readonly common: MessagePlace | undefined;
  readonly cacheWrite: "skip" | "write";
}

/**
 * A fork is marked where the parent wrote, so that it reads that, and, if it may write, at the end of what it shares with
 * its siblings and at its own end. What the common plan would mark besides gives way.
 */
export function forkBreakpoints(input: BreakpointInput, { common, cacheWrite }: ForkMarks): readonly Breakpoint[] {
  const planned = planBreakpoints(input);
  const header = planned.filter(({ place }) => place.part === "system").slice(0, 1);
  const held = input.written.toSorted(comparePlaces).at(-1);
  const newest = planned.flatMap(({ place }) => (place.part === "messages" ? [place] : [])).at(-1);
  const own = cacheWrite === "skip" ? [] : [common, newest];
  const places = [held, ...own].filter((place) => place !== undefined).filter((place) => isMarkable(input, place));
  const distinct = places.filter((place, at) => places.findIndex((one) => comparePlaces(one, place) === 0) === at);
  const lifetime = input.lifetimes.rolling;
  return [...header, ...distinct.toSorted(comparePlaces).map((place) => ({ place, lifetime }))];
}

function isMarkable({ messages }: BreakpointInput, { message, at }: MessagePlace): boolean {
  const block = messages[message]?.content[at];
  return block !== undefined && canBeMarked(block);
}
