import { createRandom } from "../../../packages/simulator/src/random.ts";

export interface Sampler {
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** At most `count` different texts from `make`; fewer if it repeats itself. */
  readonly different: (count: number, make: () => string) => readonly string[];
}

/** Deterministic for a seed. */
export function sampler(seed: number): Sampler {
  const random = createRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  };
  const different = (count: number, make: () => string): readonly string[] => {
    const found = new Set<string>();
    for (let tries = 0; found.size < count && tries < count * 20; tries += 1) found.add(make());
    return [...found];
  };
  return { pick, different };
}
