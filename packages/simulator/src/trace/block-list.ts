import type { Level } from "palimpsest/internal/cache/prompt";

export interface TraceBlock {
  readonly hash: string;
  readonly tokens: number;
  /** `messages.3.content.0` */
  readonly path: string;
  readonly level: Level;
  /** Unknown where the trace lacks its content. */
  readonly type: string | undefined;
}

export interface BlockListParts {
  readonly base: BlockList | undefined;
  /** Blocks of the base that come first. */
  readonly shared: number;
  readonly added: readonly TraceBlock[];
}

/**
 * The blocks of one request: the beginning of another list and what comes behind it, so that the lists of a whole
 * conversation take the memory of its blocks. Looking something up goes back through the lists before it.
 */
export class BlockList implements Iterable<TraceBlock> {
  readonly length: number;
  readonly #base: BlockList | undefined;
  readonly #shared: number;
  readonly #added: readonly TraceBlock[];
  /** Tokens up to and including each block of `#added`. */
  readonly #tokensUpTo: readonly number[];

  constructor({ base, shared, added }: BlockListParts) {
    if (shared > (base?.length ?? 0)) throw new RangeError("shares more blocks than there are");
    this.#base = base;
    this.#shared = shared;
    this.#added = added;
    this.length = shared + added.length;
    let tokens = base?.tokensUpTo(shared) ?? 0;
    this.#tokensUpTo = added.map((block) => (tokens += block.tokens));
  }

  at(position: number): TraceBlock | undefined {
    const holder = BlockList.#holder(this, position);
    return holder === undefined ? undefined : holder.#added[position - holder.#shared];
  }

  /** Of the first `count` blocks. */
  tokensUpTo(count: number): number {
    const last = Math.min(count, this.length) - 1;
    const holder = BlockList.#holder(this, last);
    return holder === undefined ? 0 : (holder.#tokensUpTo[last - holder.#shared] ?? 0);
  }

  /** From a position to the end. */
  from(position: number): readonly TraceBlock[] {
    return BlockList.#parts(this, position).flat();
  }

  *[Symbol.iterator](): Iterator<TraceBlock> {
    yield* this.from(0);
  }

  /** Blocks from the beginning on that both have. Free as far as one list was told by the other. */
  sharedWith(other: BlockList): number {
    const told = BlockList.#told(this, other);
    const ours = this.from(told);
    const theirs = other.from(told);
    const end = ours.findIndex(({ hash }, at) => hash !== theirs[at]?.hash);
    return told + (end === -1 ? ours.length : end);
  }

  static #told(one: BlockList, other: BlockList): number {
    if (one.#base === other) return one.#shared;
    return other.#base === one ? other.#shared : 0;
  }

  static #holder(of: BlockList, position: number): BlockList | undefined {
    if (position < 0 || position >= of.length) return undefined;
    let list: BlockList | undefined = of;
    while (list !== undefined && position < list.#shared) list = list.#base;
    return list;
  }

  static #parts(of: BlockList, position: number): readonly (readonly TraceBlock[])[] {
    const backwards: (readonly TraceBlock[])[] = [];
    let end = of.length;
    for (let list: BlockList | undefined = of; list !== undefined && end > position; list = list.#base) {
      if (end <= list.#shared) continue;
      backwards.push(list.#added.slice(Math.max(0, position - list.#shared), end - list.#shared));
      end = list.#shared;
    }
    return backwards.toReversed();
  }
}
