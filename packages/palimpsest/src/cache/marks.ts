import {
  type Breakpoint,
  type BreakpointInput,
  canBeMarked,
  type MessagePlace,
  type Place,
  planBreakpoints,
} from "./breakpoints.ts";

/** Where requests are marked; all but `planned` always at the same places, whatever was written before. */
export type MarksName = "system-and-last" | "two-system-and-last-two" | "tools-system-and-rolling" | "planned";

/** In the order of the request, never more than the API takes. Costs the blocks of the last messages. */
export function markedBy(name: MarksName, input: BreakpointInput): readonly Breakpoint[] {
  switch (name) {
    case "system-and-last":
      return marked(input, [...systemPlaces(input).slice(-1), ...lastPlaces(input, 1)]);
    case "two-system-and-last-two":
      return marked(input, [...systemPlaces(input).slice(0, 2), ...lastPlaces(input, 2)]);
    case "tools-system-and-rolling":
      return marked(input, [...toolPlaces(input), ...systemPlaces(input).slice(-1), ...lastPlaces(input, 1)]);
    case "planned":
      return planBreakpoints(input);
  }
}

function marked({ lifetimes }: BreakpointInput, places: readonly Place[]): readonly Breakpoint[] {
  const fixed = lifetimes.rolling === "1h" ? "1h" : lifetimes.fixed;
  return places.map((place) => ({ place, lifetime: place.part === "messages" ? lifetimes.rolling : fixed }));
}

function toolPlaces({ tools }: BreakpointInput): readonly Place[] {
  const at = tools.findLastIndex((tool) => tool["defer_loading"] !== true);
  return at === -1 ? [] : [{ part: "tools", at }];
}

const systemPlaces = ({ system }: BreakpointInput): readonly Place[] =>
  system.flatMap((block, at): Place[] => (canBeMarked(block) ? [{ part: "system", at }] : []));

/** The last block that can be marked of each of the last messages that have one. */
function lastPlaces({ messages }: BreakpointInput, messagesMax: number): readonly MessagePlace[] {
  const places: MessagePlace[] = [];
  for (let message = messages.length - 1; message >= 0 && places.length < messagesMax; message -= 1) {
    const at = messages[message]?.content.findLastIndex(canBeMarked) ?? -1;
    if (at !== -1) places.unshift({ part: "messages", message, at });
  }
  return places;
}
