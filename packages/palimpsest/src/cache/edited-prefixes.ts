import { editedPrefixesMax, editedVariantsMax } from "./limits.ts";
import { Recent } from "./recent.ts";

/** An entry of the cache that was written while results in its prefix were deleted. */
export interface Variant {
  /** The key that the prefix has where nothing is deleted. */
  readonly prefix: string;
  /** Its own key. */
  readonly key: string;
  /** Ids of the calls whose results were deleted. */
  readonly without: ReadonlySet<string>;
}

export const variantOf = (prefix: string, ids: readonly string[]): Variant => ({
  prefix,
  key: `${prefix}\u0000${JSON.stringify(ids.toSorted())}`,
  without: new Set(ids),
});

/** Which entries of a prefix were written without what. Whether they are still alive is the cache's matter. */
export class EditedPrefixes {
  readonly #variantsByPrefix = new Recent<string, readonly Variant[]>(editedPrefixesMax);

  add(variant: Variant): void {
    const others = (this.#variantsByPrefix.peek(variant.prefix) ?? []).filter(({ key }) => key !== variant.key);
    this.#variantsByPrefix.set(variant.prefix, [variant, ...others].slice(0, editedVariantsMax));
  }

  /** Keys of those that who deletes these may read: written without some of them, and without nothing else. The least whole comes first. */
  readableKeys(prefix: string, deleted: ReadonlyMap<string, unknown>): readonly string[] {
    const variants = this.#variantsByPrefix.peek(prefix) ?? [];
    return variants
      .filter(({ without }) => without.size <= deleted.size && [...without].every((id) => deleted.has(id)))
      .toSorted((one, other) => other.without.size - one.without.size)
      .map(({ key }) => key);
  }

  clear(): void {
    this.#variantsByPrefix.clear();
  }
}
