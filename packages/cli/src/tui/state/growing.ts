/**
 * A list that only grows, as a value: adding gives a new list and leaves the old one as it was. The newest list shares its
 * cells with those before it, so adding to it costs O(1); adding to an older one copies once.
 */
export class Growing<Item> implements Iterable<Item> {
  readonly #cells: Item[];
  readonly length: number;

  private constructor(cells: Item[], length: number) {
    this.#cells = cells;
    this.length = length;
  }

  static of<Item>(...items: readonly Item[]): Growing<Item> {
    return new Growing([...items], items.length);
  }

  with(item: Item): Growing<Item> {
    const cells = this.#cells.length === this.length ? this.#cells : this.#cells.slice(0, this.length);
    cells.push(item);
    return new Growing(cells, this.length + 1);
  }

  at(index: number): Item | undefined {
    return index >= 0 && index < this.length ? this.#cells[index] : undefined;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.from(0);
  }

  /** Those from a place on: what a drawer has not seen yet. */
  *from(start: number): Generator<Item, undefined> {
    for (let index = Math.max(0, start); index < this.length; index += 1) {
      const item = this.at(index);
      if (item !== undefined) yield item;
    }
    return undefined;
  }
}
