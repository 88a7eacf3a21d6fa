/** The results in the order of the items. At most `size` of them are worked on at the same time. */
export async function mapInBatches<Item, Result>(
  items: readonly Item[],
  { size, map }: { readonly size: number; readonly map: (item: Item) => Promise<Result> },
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += size)
    results.push(...(await Promise.all(items.slice(start, start + size).map(map))));
  return results;
}
