import type { Block, ToolResultBlock, ToolUseBlock } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";

/**
 * A reply and the results of its calls, with everything that is paired with them: removing whole rounds never splits a
 * pair. Replies that share a call's id, or whose results are in one entry, are one round.
 */
export interface Round {
  /** In the order of the view. They need not be adjacent. */
  readonly items: readonly Item[];
  /** Places of the first and the last item in the view. */
  readonly first: number;
  readonly last: number;
}

/** In the order in which they begin. Costs work in proportion to the items. */
export function groupRounds(items: readonly Item[]): readonly Round[] {
  const places = new PlaceGroups();
  for (const [at, item] of items.entries()) for (const key of pairKeys(item)) places.join(at, key);
  return places.groups().flatMap((group) => {
    const groupItems = group.flatMap((at) => items[at] ?? []);
    const [first = 0] = group;
    return groupItems.some(({ role }) => role === "assistant")
      ? [{ items: groupItems, first, last: group.at(-1) ?? first }]
      : [];
  });
}

function pairKeys(item: Item): readonly string[] {
  const pairs = item.blocks.flatMap((block) => {
    if (block.type === "tool_use") return [`call ${block.id}`];
    return block.type === "tool_result" ? [`call ${block.tool_use_id}`] : [];
  });
  return item.role === "assistant" ? [`reply ${item.messageId ?? item.entry}`, ...pairs] : pairs;
}

/** Union-find: places that share a key, directly or through others, are one group. */
class PlaceGroups {
  readonly #placeByKey = new Map<string, number>();
  readonly #earlier = new Map<number, number>();

  join(at: number, key: string): void {
    if (!this.#earlier.has(at)) this.#earlier.set(at, at);
    const known = this.#placeByKey.get(key);
    if (known === undefined) {
      this.#placeByKey.set(key, at);
      return;
    }
    const [left, right] = [this.#firstOf(at), this.#firstOf(known)];
    this.#earlier.set(Math.max(left, right), Math.min(left, right));
  }

  groups(): readonly (readonly number[])[] {
    return [...Map.groupBy(this.#earlier.keys(), (at) => this.#firstOf(at)).values()];
  }

  #firstOf(at: number): number {
    const earlier = this.#earlier.get(at) ?? at;
    if (earlier === at) return at;
    const first = this.#firstOf(earlier);
    this.#earlier.set(at, first);
    return first;
  }
}

export const roundEntries = ({ items }: Round): readonly EntryId[] => items.map(({ entry }) => entry);

export const roundCalls = ({ items }: Round): readonly ToolUseBlock[] =>
  items.flatMap(({ blocks }) => blocks.filter((block) => block.type === "tool_use"));

export const roundResults = ({ items }: Round): readonly ToolResultBlock[] =>
  items.flatMap(({ blocks }) => blocks.filter((block) => block.type === "tool_result"));

/** Whether the item holds something in the user's name. An entry with nothing but results does not. */
export const hasUserContent = (item: Item): boolean =>
  item.role === "user" && item.blocks.some((block) => block.type !== "tool_result" && !isEmptyText(block));

/** Where the current tool loop begins: behind the last message that is not just results or a reminder. */
export const loopStart = (items: readonly Item[]): number => items.findLastIndex((item) => isUserPrompt(item)) + 1;

const isUserPrompt = (item: Item): boolean =>
  item.role === "user" &&
  item.attachment === undefined &&
  item.blocks.some((block) => block.type !== "tool_result" && !isEmptyText(block) && !isReminder(block));

const isReminder = (block: Block): boolean => block.type === "text" && /^\s*<system-reminder>/.test(block.text);

export const holdsThinking = ({ items }: Round): boolean =>
  items.some(({ blocks, thinking }) => thinking === "kept" && blocks.some((block) => isThinking(block)));

/**
 * By place: whether the view may be cut in front of this item. A cut splits no reply and separates no call from its
 * result.
 */
export function cleanBorders(items: readonly Item[]): readonly boolean[] {
  const changes = Array.from({ length: items.length + 1 }, () => 0);
  for (const { first, last } of groupRounds(items)) {
    changes[first + 1] = (changes[first + 1] ?? 0) + 1;
    changes[last + 1] = (changes[last + 1] ?? 0) - 1;
  }
  let open = 0;
  return changes.map((change) => (open += change) === 0);
}

/**
 * The newest entry that notes taken now can cover fully. A round without its results is left to the next update.
 * Undefined if no round has ended.
 */
export function lastSettledEntry(items: readonly Item[]): EntryId | undefined {
  const answered = new Set(
    items.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))),
  );
  const firstOpen = items.findIndex(({ blocks }) =>
    blocks.some((block) => block.type === "tool_use" && !answered.has(block.id)),
  );
  const borders = cleanBorders(items);
  for (let at = firstOpen === -1 ? items.length : firstOpen; at > 0; at -= 1)
    if (borders[at] === true) return items[at - 1]?.entry;
  return undefined;
}
