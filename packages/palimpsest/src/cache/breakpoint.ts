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
  /** Where earlier requests wrote, as far as everything up to there is still the same (`Written`). */
  readonly written: readonly MessagePlace[];
  readonly lifetimes: Lifetimes;
  /** The last block before the oldest result that may be cleared: a cut behind it still finds what is written up to there. */
  readonly frontier?: MessagePlace | undefined;
}

export interface Lifetimes {
  /** Of tools and system prompt. Never shorter than `rolling`: the API takes 1h only before 5m. */
  readonly fixed: Lifetime;
  readonly rolling: Lifetime;
}

/**
 * Where a request is marked, in the order of the request. The newest block is marked always, so that the next request
 * finds everything this one sent. What was written last is found by looking back from there; where a round was too long
 * for that, it is marked itself, and a place in between, for requests that branch off within the round. The frontier comes
 * before that place: a mark keeps it alive for the day something behind it is cleared. Where nothing is known to be
 * written (a resumed session), places further back take what slots there are.
 * Costs the blocks behind what was written last.
 */
export function planBreakpoints(input: BreakpointInput): readonly Breakpoint[] {
  const { tools, system, lifetimes } = input;
  const lastTool = tools.findLastIndex((tool) => tool["defer_loading"] !== true);
  const lastSystem = system.findLastIndex(canBeMarked);
  const fixed: readonly Place[] = [
    ...(lastSystem === -1 ? [] : [{ part: "system", at: lastSystem } as const]),
    ...(lastTool === -1 ? [] : [{ part: "tools", at: lastTool } as const]),
  ];
  const rolling = rollingPlaces(input);
  // Tools stand before the system prompt, which stands for both unless it changes alone: they take a slot that is left.
  const [header, spare] = fixed;
  const places = [
    ...(header === undefined ? [] : [header]),
    ...rolling.needed,
    ...(spare === undefined ? [] : [spare]),
  ];
  const chosen = [...places, ...rolling.further].slice(0, breakpointsMax);
  const fixedLifetime = lifetimes.rolling === "1h" ? "1h" : lifetimes.fixed;
  return chosen
    .toSorted(inRequestOrder)
    .map((place) => ({ place, lifetime: place.part === "messages" ? lifetimes.rolling : fixedLifetime }));
}

/** The API refuses a marker on thinking and on empty text. */
export const canBeMarked = (block: Block): boolean =>
  block.type !== "thinking" &&
  block.type !== "redacted_thinking" &&
  block.type !== "unknown" &&
  (block.type !== "text" || block.text !== "");

export const comparePlaces = (one: MessagePlace, other: MessagePlace): number =>
  one.message - other.message || one.at - other.at;

interface RollingPlaces {
  /** In the order of their weight. */
  readonly needed: readonly MessagePlace[];
  readonly further: readonly MessagePlace[];
}

function rollingPlaces({ messages, written, frontier }: BreakpointInput): RollingPlaces {
  const newest = firstMarkable(backwards(messages));
  if (newest === undefined) return { needed: [], further: [] };
  const held = written
    .filter((place) => comparePlaces(place, newest) <= 0)
    .toSorted(comparePlaces)
    .at(-1);
  const [nearest, ...further] = stepsBack(blocksBehind(messages, { newest, held }));
  const heldToo = nearest === undefined || held === undefined ? [] : [held];
  const between = nearest === undefined ? [] : [nearest];
  const needed = distinct([newest, ...heldToo, ...markablePlaces(frontier, { messages, newest }), ...between]);
  return { needed, further: distinct([...needed, ...further]).slice(needed.length) };
}

/** In these messages, where it is not behind everything that may be marked. */
function markablePlaces(
  place: MessagePlace | undefined,
  { messages, newest }: { readonly messages: readonly Message[]; readonly newest: MessagePlace },
): readonly MessagePlace[] {
  const block = place === undefined ? undefined : messages[place.message]?.content[place.at];
  if (place === undefined || block === undefined || !canBeMarked(block)) return [];
  return comparePlaces(place, newest) < 0 ? [place] : [];
}

const distinct = (places: readonly MessagePlace[]): readonly MessagePlace[] =>
  places.filter((place, at) => places.findIndex((one) => comparePlaces(one, place) === 0) === at);

/** What stands before the newest place, from it back, up to and including what was written; no more than could be marked. */
function blocksBehind(
  messages: readonly Message[],
  { newest, held }: { readonly newest: MessagePlace; readonly held: MessagePlace | undefined },
): readonly PlacedBlock[] {
  const behind: PlacedBlock[] = [];
  for (const standing of backwards(messages)) {
    if (comparePlaces(standing.place, newest) >= 0) continue;
    if (held !== undefined && comparePlaces(standing.place, held) < 0) break;
    behind.push(standing);
    if (behind.length > lookBackBlocks * breakpointsMax) break;
  }
  return behind;
}

/** Each place is within sight of the one before it; none where the far end is in sight already. */
function stepsBack(behind: readonly PlacedBlock[]): readonly MessagePlace[] {
  const found: MessagePlace[] = [];
  let from = 0;
  while (behind.length - from > lookBackBlocks) {
    const step = behind.slice(from, from + lookBackBlocks).findLastIndex(({ block }) => canBeMarked(block));
    const standing = behind[from + step];
    if (step === -1 || standing === undefined) break;
    found.push(standing.place);
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

function firstMarkable(standing: Iterable<PlacedBlock>): MessagePlace | undefined {
  for (const { place, block } of standing) if (canBeMarked(block)) return place;
  return undefined;
}

const partOrder = { tools: 0, system: 1, messages: 2 } as const;

const inRequestOrder = (one: Place, other: Place): number =>
  one.part === "messages" && other.part === "messages"
    ? comparePlaces(one, other)
    : partOrder[one.part] - partOrder[other.part] || one.at - other.at;

/** Where requests are marked; all but `planned` always at the same places, whatever was written before. */
export type BreakpointStrategy = "system-and-last" | "two-system-and-last-two" | "tools-system-and-rolling" | "planned";

/** In the order of the request, never more than the API takes. Costs the blocks of the last messages. */
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

/** The last block that can be marked of each of the last messages that have one. */
function lastPlaces({ messages }: BreakpointInput, messagesMax: number): readonly MessagePlace[] {
  const places: MessagePlace[] = [];
  for (let message = messages.length - 1; message >= 0 && places.length < messagesMax; message -= 1) {
    const at = messages[message]?.content.findLastIndex(canBeMarked) ?? -1;
    if (at !== -1) places.unshift({ part: "messages", message, at });
  }
  return places;
}
