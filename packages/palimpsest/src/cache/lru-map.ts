/**
 * A map with room for `limit` entries. One more evicts the least recently used. Every operation is O(1): a `Map` keeps
 * its keys in insertion order, and using an entry inserts it again.
 */
export class LruMap<Key, Value> {
  readonly #valueByKey = new Map<Key, Value>();
  readonly #limit: number;

  constructor(limit: number) {
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`no room for ${limit} entries`);
    this.#limit = limit;
  }

  get size(): number {
    return this.#valueByKey.size;
  }

  /** The key that is evicted next. */
  get oldest(): Key | undefined {
    return this.#valueByKey.keys().next().value;
  }

  /** Counts as a use. */
  get(key: Key): Value | undefined {
    const value = this.#valueByKey.get(key);
    if (value !== undefined) this.#putLast(key, value);
    return value;
  }

  /** Does not count as a use. */
  peek(key: Key): Value | undefined {
    return this.#valueByKey.get(key);
  }

  /** Counts as a use. Returns the evicted value, if any, so that its owner can release what it holds. */
  set(key: Key, value: Value): Value | undefined {
    this.#putLast(key, value);
    return this.size > this.#limit && this.oldest !== undefined ? this.take(this.oldest) : undefined;
  }

  /** Removes an entry and returns its value. */
  take(key: Key): Value | undefined {
    const value = this.#valueByKey.get(key);
    this.#valueByKey.delete(key);
    return value;
  }

  clear(): void {
    this.#valueByKey.clear();
  }

  #putLast(key: Key, value: Value): void {
    this.#valueByKey.delete(key);
    this.#valueByKey.set(key, value);
  }
}
