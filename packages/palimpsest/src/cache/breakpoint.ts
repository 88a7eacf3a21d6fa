import type { Block, Message, TextBlock } from "../schema/block.ts";
import type { ToolDefinition } from "../tokens/fixed-part.ts";
import type { Lifetime } from "./lifetime.ts";
import { breakpointsMax, lookBackBlocks } from "./limits.ts";

export interface MessagePlace {
  readonly part: "messages";
  readonly message: number;
  /** Index of the block in its message. */
  readonly at: number;
}
type Place = { readonly part: "tools" | "system"; readonly at: number } | MessagePlace;

export interface Breakpoint {
  readonly place: Place;
  readonly lifetime: Lifetime;
}

export interface BreakpointInput {
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly TextBlock[];
  readonly messages: readonly Message[];
  /** Where earlier requests wrote, if everything up to there is still the same (`WrittenPlaces`). */
  readonly written: readonly MessagePlace[];
  readonly lifetimes: Lifetimes;
  /**
   * The last block before the oldest result that may be cleared. After a cut behind it, what is written up to there can
   * still be read.
   */
  readonly frontier?: MessagePlace | undefined;
}

export interface Lifetimes {
  /** The lifetime of tools and system prompt. Never shorter than `rolling`: the API takes 1h only before 5m. */
  readonly fixed: Lifetime;
  readonly rolling: Lifetime;
}

/**
 * Where a request is marked, in the order of the request. The newest block is always marked, so that the next request
 * finds everything this one sent. The provider finds what was written last by looking back from there. If a round was
 * too long for that, the place written last is marked too, and so is a place in between, for requests that branch off
 * within the round. The frontier has priority over that place: a mark keeps it alive until something behind it is
 * cleared. If nothing is known to be written (a resumed session), places further back take the remaining slots. Costs a
 * step for each block behind what was written last.
 */
export function planBreakpoints(input: BreakpointInput): readonly Breakpoint[] {
  const rolling = rollingPlaces(input);
  // A mark on the system prompt covers the tools before it too, unless the system prompt changes alone. So the tools
  // only take a slot that is left.
  const [header, ...spare] = [...systemPlaces(input).slice(-1), ...toolPlaces(input)];
  const places = [...(header === undefined ? [] : [header]), ...rolling.needed, ...spare, ...rolling.further];
  return withLifetimes(input, places.slice(0, breakpointsMax).toSorted(inRequestOrder));
}

/** The API refuses a marker on thinking and on empty text. */
export const canBeMarked = (block: Block): boolean =>
  block.type !== "thinking" &&
  block.type !== "redacted_thinking" &&
  block.type !== "unknown" &&
  (block.type !== "text" || block.text !== "");

export const comparePlaces = (left: MessagePlace, right: MessagePlace): number =>
  left.message - right.message || left.at - right.at;

interface RollingPlaces {
  /** The most important first. */
  readonly needed: readonly MessagePlace[];
  readonly further: readonly MessagePlace[];
}

function rollingPlaces({ messages, written, frontier }: BreakpointInput): RollingPlaces {
  const newest = firstMarkable(backwards(messages));
  if (newest === undefined) return { needed: [], further: [] };
  const lastWritten = written
    .filter((place) => comparePlaces(place, newest) <= 0)
    .toSorted(comparePlaces)
    .at(-1);
  const [nearest, ...further] = stepsBack(blocksBefore(messages, { newest, lastWritten }));
  const lastWrittenToo = nearest === undefined || lastWritten === undefined ? [] : [lastWritten];
  const between = nearest === undefined ? [] : [nearest];
  const needed = distinct([newest, ...lastWrittenToo, ...markablePlaces(frontier, { messages, newest }), ...between]);
  return { needed, further: distinct([...needed, ...further]).slice(needed.length) };
}

/** The place, if it is in these messages, can be marked and stands before the newest place. */
function markablePlaces(
  place: MessagePlace | undefined,
  { messages, newest }: { readonly messages: readonly Message[]; readonly newest: MessagePlace },
): readonly MessagePlace[] {
  const block = place === undefined ? undefined : messages[place.message]?.content[place.at];
  if (place === undefined || block === undefined || !canBeMarked(block)) return [];
  return comparePlaces(place, newest) < 0 ? [place] : [];
}

const distinct = (places: readonly MessagePlace[]): readonly MessagePlace[] =>
  places.filter((place, at) => places.findIndex((other) => comparePlaces(other, place) === 0) === at);

/**
 * The blocks before the newest place, newest first, up to and including what was written last; no more than could be
 * marked.
 */
function blocksBefore(
  messages: readonly Message[],
  { newest, lastWritten }: { readonly newest: MessagePlace; readonly lastWritten: MessagePlace | undefined },
): readonly PlacedBlock[] {
  const found: PlacedBlock[] = [];
  for (const placed of backwards(messages)) {
    if (comparePlaces(placed.place, newest) >= 0) continue;
    if (lastWritten !== undefined && comparePlaces(placed.place, lastWritten) < 0) break;
    found.push(placed);
    if (found.length > lookBackBlocks * breakpointsMax) break;
  }
  return found;
}

/** Each place is within the look-back of the one before it. None if the far end is within the look-back already. */
function stepsBack(blocks: readonly PlacedBlock[]): readonly MessagePlace[] {
  const found: MessagePlace[] = [];
  let from = 0;
  while (blocks.length - from > lookBackBlocks) {
    const step = blocks.slice(from, from + lookBackBlocks).findLastIndex(({ block }) => canBeMarked(block));
    const placed = blocks[from + step];
    if (step === -1 || placed === undefined) break;
    found.push(placed.place);
    from += step + 1;
  }
  return found;
}

interface PlacedBlock {
  readonly place: MessagePlace;
  readonly block: Block;
}

function* backwards(messages: readonly Message[]): Generator<PlacedBlock> {
  for (let message = messages.length - 1; message >= 0; message -= 1) {
    const content = messages[message]?.content ?? [];
    for (let at = content.length - 1; at >= 0; at -= 1) {
      const block = content[at];
      if (block !== undefined) yield { place: { part: "messages", message, at }, block };
    }
  }
}

function firstMarkable(blocks: Iterable<PlacedBlock>): MessagePlace | undefined {
  for (const { place, block } of blocks) if (canBeMarked(block)) return place;
  return undefined;
}

const partOrder = { tools: 0, system: 1, messages: 2 } as const;

const inRequestOrder = (left: Place, right: Place): number =>
  left.part === "messages" && right.part === "messages"
    ? comparePlaces(left, right)
    : partOrder[left.part] - partOrder[right.part] || left.at - right.at;

/** Where requests are marked. All strategies but `planned` always mark the same places, whatever was written before. */
export type BreakpointStrategy = "system-and-last" | "two-system-and-last-two" | "tools-system-and-rolling" | "planned";

/** In the order of the request, never more than the API takes. Costs a step for each block of the last messages. */
export function placeBreakpoints(name: BreakpointStrategy, input: BreakpointInput): readonly Breakpoint[] {
  switch (name) {
    case "system-and-last":
      return withLifetimes(input, [...systemPlaces(input).slice(-1), ...lastPlaces(input, 1)]);
    case "two-system-and-last-two":
      return withLifetimes(input, [...systemPlaces(input).slice(0, 2), ...lastPlaces(input, 2)]);
    case "tools-system-and-rolling":
      return withLifetimes(input, [...toolPlaces(input), ...systemPlaces(input).slice(-1), ...lastPlaces(input, 1)]);
    case "planned":
      return planBreakpoints(input);
  }
}

function withLifetimes({ lifetimes }: BreakpointInput, places: readonly Place[]): readonly Breakpoint[] {
  const fixed = lifetimes.rolling === "1h" ? "1h" : lifetimes.fixed;
  return places.map((place) => ({ place, lifetime: place.part === "messages" ? lifetimes.rolling : fixed }));
}

function toolPlaces({ tools }: BreakpointInput): readonly Place[] {
  const at = tools.findLastIndex((tool) => tool["defer_loading"] !== true);
  return at === -1 ? [] : [{ part: "tools", at }];
}

const systemPlaces = ({ system }: BreakpointInput): readonly Place[] =>
  system.flatMap((block, at): Place[] => (canBeMarked(block) ? [{ part: "system", at }] : []));

/** The last markable block of each of the last messages that have one. */
function lastPlaces({ messages }: BreakpointInput, messagesMax: number): readonly MessagePlace[] {
  const places: MessagePlace[] = [];
  for (let message = messages.length - 1; message >= 0 && places.length < messagesMax; message -= 1) {
    const at = messages[message]?.content.findLastIndex(canBeMarked) ?? -1;
    if (at !== -1) places.unshift({ part: "messages", message, at });
  }
  return places;
}
