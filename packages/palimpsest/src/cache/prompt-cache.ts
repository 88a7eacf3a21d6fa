import { millis, type Millis } from "../schema/brand.ts";
import { cachedPrefixesMax, lookBackMax, editedPrefixesMax, editedVariantsMax } from "./limits.ts";
import { type Lifetime, millisByLifetime } from "./lifetime.ts";
import { type Prompt, type PromptBlock, wholeTokens } from "./prompt.ts";
import { LruMap } from "./lru-map.ts";
import { type UsageSplit, splitUsage } from "./usage-split.ts";

interface LookupInput {
  readonly prompt: Prompt;
  /** Start of the request. */
  readonly at: Millis;
  /** The model's shortest prefix that is cached. */
  readonly minimumTokens: number;
}

/** What the cache does for one request. The parts for `commit` are plain data too, so that a trace can show them. */
export interface CachePlan {
  readonly at: Millis;
  readonly usage: UsageSplit;
  /** The highest hit over all breakpoints: what is read and charged as read. */
  readonly hit?: CacheHit;
  /** In the order of the prompt. */
  readonly breakpoints: readonly BreakpointOutcome[];
  readonly writes: readonly CacheWrite[];
  /** Results that are deleted in what is read. Absent if there are none. */
  readonly deleted?: DeletedResults;
  /** Number of losses before the look. An entry that was lost since then can't be refreshed. */
  readonly losses: number;
}

interface DeletedResults {
  readonly ids: readonly string[];
  readonly tokens: number;
}

interface CacheHit {
  /** Index in the prompt's blocks. */
  readonly position: number;
  readonly path: string;
  readonly chain: string;
  readonly tokensUpTo: number;
  readonly key: string;
  /** The lifetime of the entry, whatever the marker of the reading request says. */
  readonly lifetime: Lifetime;
}

export type BreakpointOutcome = {
  /** Index in the prompt's blocks. */
  readonly position: number;
  readonly path: string;
  readonly lifetime: Lifetime;
} & (
  | { readonly kind: "hit"; readonly hit: CacheHit }
  | { readonly kind: "miss" }
  /** The prefix is too short for the model: it is neither read nor written, and the API does not report it. */
  | { readonly kind: "below-minimum" }
);

interface CacheWrite {
  readonly key: string;
  readonly path: string;
  /** Tokens of everything that was sent, deleted or not. */
  readonly tokensUpTo: number;
  readonly lifetime: Lifetime;
  /** Present if results before it are deleted at the write. */
  readonly variant?: Variant;
}

/**
 * The provider's prompt cache. A request looks when it starts and commits when its reply begins; what it writes can be
 * read only from then on, so requests that run at the same time do not share.
 *
 *     absent  -- commit: written at a breakpoint -->  live until the writing request's start + lifetime
 *     live    -- commit: read -->                     live until the reading request's start + the same lifetime
 *     live    -- commit: written anew -->             live until the later of both ends, at the longer lifetime
 *     live    -- its end is reached -->               absent for every look from that moment on
 *     live    -- least recently used, or lose() -->   absent
 *
 * For each of its breakpoints, a request reads and so refreshes the highest entry that this breakpoint finds: a marked
 * system prompt stays alive even if a longer prefix was read too. The marker of the reading request does not matter: an
 * entry of five minutes that is found under a 1h marker lives five minutes more. A breakpoint at or before the highest
 * hit is not charged, and what is not charged is not written.
 *
 * Results can be deleted by reference up to the highest hit. This breaks nothing, because the key is that of everything
 * that was sent. What is written then is remembered as written without them. Only requests that delete all of these, and
 * perhaps more, can read it. A prompt that deletes nothing does not pay for any of this.
 */
export class PromptCache {
  readonly #entryByKey: LruMap<string, Entry>;
  readonly #edited = new EditedPrefixes();
  #losses = 0;

  constructor(prefixesMax: number = cachedPrefixesMax) {
    this.#entryByKey = new LruMap(prefixesMax);
  }

  /** Entries that are remembered; some may have expired. */
  get size(): number {
    return this.#entryByKey.size;
  }

  /** Changes nothing. Costs a pass over the blocks and at most `lookBackMax` look-ups per breakpoint. */
  look({ prompt, at, minimumTokens }: LookupInput): CachePlan {
    const breakpoints: BreakpointOutcome[] = [];
    for (const [position, { breakpoint: lifetime, path, tokensUpTo }] of prompt.blocks.entries()) {
      if (lifetime === undefined) continue;
      const place = { position, path, lifetime };
      if (tokensUpTo < minimumTokens) breakpoints.push({ ...place, kind: "below-minimum" });
      else breakpoints.push({ ...place, ...this.#lookBack({ prompt, at, position }) });
    }
    const hit = highest(breakpoints);
    const deleted = findDeleted(hit, prompt);
    const writes = writesBehind(hit, { prompt, breakpoints, deleted });
    const readTokens = hit?.tokensUpTo ?? 0;
    const usage = splitUsage({ promptTokens: wholeTokens(prompt), readTokens, written: writes });
    const plan = { at, usage, ...(hit === undefined ? {} : { hit }), breakpoints, writes, losses: this.#losses };
    // Everything deleted lies in what is read, so the other parts do not change.
    return deleted === undefined
      ? plan
      : { ...plan, usage: { ...usage, cacheReadTokens: readTokens - deleted.tokens }, deleted };
  }

  /**
   * Call it when the reply begins: what was read lives on, what was written can be read from now on. A second call
   * changes nothing.
   */
  commit({ at, breakpoints, writes, losses }: CachePlan): void {
    this.#dropExpired(at);
    if (losses === this.#losses)
      for (const outcome of breakpoints) if (outcome.kind === "hit") this.#put(outcome.hit, at);
    for (const write of writes) {
      this.#put(write, at);
      if (write.variant !== undefined) this.#edited.add(write.variant);
    }
  }

  /** Loses every entry, as when the provider's machines restart. */
  lose(): void {
    this.#entryByKey.clear();
    this.#edited.clear();
    this.#losses += 1;
  }

  #lookBack({ prompt, at, position }: LookBack): { kind: "hit"; hit: CacheHit } | { kind: "miss" } {
    const lowest = Math.max(0, position - lookBackMax + 1);
    for (let place = position; place >= lowest; place -= 1) {
      const block = prompt.blocks[place];
      if (block === undefined) break;
      const prefix = cacheKey(prompt, block);
      const key = prompt.withheld === undefined ? prefix : this.#keyWithout(prefix, { prompt, at });
      const entry = this.#entryByKey.peek(key);
      if (entry === undefined || entry.until <= at) continue;
      const { path, chain, tokensUpTo } = block;
      return { kind: "hit", hit: { position: place, path, chain, tokensUpTo, key, lifetime: entry.lifetime } };
    }
    return { kind: "miss" };
  }

  /** The key of the readable entry that was written without the most results. */
  #keyWithout(prefix: string, { prompt, at }: Pick<LookBack, "prompt" | "at">): string {
    const keys = this.#edited.readableKeys(prefix, prompt.withheld?.resultById ?? new Map());
    return keys.find((key) => (this.#entryByKey.peek(key)?.until ?? at) > at) ?? prefix;
  }

  /** A read counts as a use, like a write: both make the entry the most recently used. */
  #put({ key, lifetime }: Pick<CacheWrite, "key" | "lifetime">, at: Millis): void {
    const until = millis(at + millisByLifetime[lifetime]);
    const before = this.#entryByKey.peek(key);
    const live = before !== undefined && before.until > at ? before : undefined;
    this.#entryByKey.set(key, {
      until: live === undefined || live.until < until ? until : live.until,
      lifetime: live?.lifetime === "1h" ? "1h" : lifetime,
    });
  }

  /** Only looks at the least recently used end: that keeps a commit cheap, and the limit holds anyway. */
  #dropExpired(at: Millis): void {
    for (;;) {
      const key = this.#entryByKey.oldest;
      const entry = key === undefined ? undefined : this.#entryByKey.peek(key);
      if (key === undefined || entry === undefined || entry.until > at) return;
      this.#entryByKey.take(key);
    }
  }
}

interface Entry {
  readonly until: Millis;
  readonly lifetime: Lifetime;
}

interface LookBack {
  readonly prompt: Prompt;
  readonly at: Millis;
  readonly position: number;
}

/** Model and workspace are in every salt. A parameter that matters from a level on is in the salts from there on. */
const cacheKey = ({ salts }: Prompt, { level, chain }: PromptBlock): string => `${salts[level]}\u0000${chain}`;

function highest(breakpoints: readonly BreakpointOutcome[]): CacheHit | undefined {
  let found: CacheHit | undefined;
  for (const outcome of breakpoints)
    if (outcome.kind === "hit" && outcome.hit.position > (found?.position ?? -1)) found = outcome.hit;
  return found;
}

function findDeleted(hit: CacheHit | undefined, { withheld }: Prompt): DeletedResults | undefined {
  if (hit === undefined || withheld === undefined) return undefined;
  const results = [...withheld.resultById].filter(([, { position }]) => position <= hit.position);
  if (results.length === 0) return undefined;
  return { ids: results.map(([id]) => id), tokens: results.reduce((sum, [, { tokens }]) => sum + tokens, 0) };
}

function writesBehind(
  hit: CacheHit | undefined,
  {
    prompt,
    breakpoints,
    deleted,
  }: {
    readonly prompt: Prompt;
    readonly breakpoints: readonly BreakpointOutcome[];
    readonly deleted: DeletedResults | undefined;
  },
): readonly CacheWrite[] {
  const writes: CacheWrite[] = [];
  for (const { kind, position, lifetime } of breakpoints) {
    const block = prompt.blocks[position];
    if (block === undefined || kind === "below-minimum" || position <= (hit?.position ?? -1)) continue;
    const { path, tokensUpTo } = block;
    const prefix = cacheKey(prompt, block);
    const variant = deleted === undefined ? undefined : createVariant(prefix, deleted.ids);
    writes.push({
      key: variant?.key ?? prefix,
      path,
      tokensUpTo,
      lifetime,
      ...(variant === undefined ? {} : { variant }),
    });
  }
  return writes;
}

/** An entry of the cache that was written while results in its prefix were deleted. */
interface Variant {
  /** The key of the prefix if nothing is deleted. */
  readonly prefix: string;
  /** The key of this entry. */
  readonly key: string;
  /** Ids of the calls whose results were deleted. */
  readonly without: ReadonlySet<string>;
}

export const createVariant = (prefix: string, ids: readonly string[]): Variant => ({
  prefix,
  key: `${prefix}\u0000${JSON.stringify(ids.toSorted())}`,
  without: new Set(ids),
});

/** Which entries of a prefix were written without which results. It does not know whether they are still alive. */
export class EditedPrefixes {
  readonly #variantsByPrefix = new LruMap<string, readonly Variant[]>(editedPrefixesMax);

  add(variant: Variant): void {
    const others = (this.#variantsByPrefix.peek(variant.prefix) ?? []).filter(({ key }) => key !== variant.key);
    this.#variantsByPrefix.set(variant.prefix, [variant, ...others].slice(0, editedVariantsMax));
  }

  /**
   * Keys of the entries that a request without these results may read: those written without some of them and without
   * nothing else. The entry written without the most comes first.
   */
  readableKeys(prefix: string, deleted: ReadonlyMap<string, unknown>): readonly string[] {
    const variants = this.#variantsByPrefix.peek(prefix) ?? [];
    return variants
      .filter(({ without }) => without.size <= deleted.size && [...without].every((id) => deleted.has(id)))
      .toSorted((left, right) => right.without.size - left.without.size)
      .map(({ key }) => key);
  }

  clear(): void {
    this.#variantsByPrefix.clear();
  }
}
