import type { Item } from "./item.ts";

/**
 * Items as this model is shown them: a provider's own summary in front of all is its signed block, said by the assistant,
 * and what stands beside it, said to it. Anywhere else such a block is refused, and another model may not know it: there
 * its text stays.
 */
export function asReadBy(reader: string | undefined, items: readonly Item[]): readonly Item[] {
  const [first, ...others] = items;
  if (first?.server === undefined || first.server.model !== reader) return items;
  const block: Item = { ...first, role: "assistant", blocks: [first.server.block] };
  return [block, { ...first, blocks: first.blocks.slice(1) }, ...others];
}
