import { parseJson } from "palimpsest/internal/schema/json";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { Level } from "palimpsest/internal/cache/prompt";
import {
  pathLevel,
  type BlockLine,
  type HeadLine,
  type ReplyLine,
  type RequestLine,
  traceLine,
  traceVersion,
} from "./trace-line.ts";

export interface Trace {
  readonly head: HeadLine;
  /** In the order of their lines. */
  readonly requests: readonly TraceRequest[];
  readonly blockByHash: ReadonlyMap<string, BlockLine>;
  /** Whether the last line was incomplete and left out. */
  readonly torn: boolean;
}

export interface TraceRequest extends Omit<RequestLine, "type" | "blocks"> {
  readonly blocks: BlockList;
  readonly breakpoints: readonly TraceBreakpoint[];
  /** Number of the earlier request whose prefix it shares. */
  readonly base: number | null;
  /** Absent while the request runs, or if the simulator was ended meanwhile. */
  readonly reply?: ReplyLine;
}

/** Requests of the OpenAI API have their parameters and outcome in a trace, but no blocks. */
export const isOpenAiForm = ({ endpoint }: Pick<TraceRequest, "endpoint">): boolean =>
  endpoint === "/v1/chat/completions" || /^\/v1\/responses(?:\/|$)/.test(endpoint);

interface TraceBreakpoint {
  /** Position of its block. */
  readonly at: number;
  readonly lifetime: Lifetime;
}

export type ReadTraceOutcome =
  | { readonly kind: "trace"; readonly trace: Trace }
  | { readonly kind: "not-a-trace"; readonly message: string }
  | { readonly kind: "damaged"; readonly line: number; readonly message: string };

/** Reads a whole trace. Memory: every distinct block once, and for each request what is new in it. */
export async function readTrace(lines: AsyncIterable<string>): Promise<ReadTraceOutcome> {
  const draft = new TraceDraft();
  let unread: string | undefined;
  let number = 0;
  for await (const line of lines) {
    // Only the last line may be torn, so an unreadable line is held until it is known whether it is the last.
    if (unread !== undefined) return damageOutcome(number, unread);
    number += 1;
    const refused = draft.add(line);
    if (refused !== undefined && number === 1) return { kind: "not-a-trace", message: notATrace(line) };
    unread = refused;
  }
  const trace = draft.finish(unread === undefined ? "whole" : "torn");
  return trace === undefined ? { kind: "not-a-trace", message: "it is empty" } : { kind: "trace", trace };
}

class TraceDraft {
  #head: HeadLine | undefined;
  readonly #requestByNumber = new Map<number, TraceRequest>();
  readonly #blockByHash = new Map<string, BlockLine>();

  /** Returns why the line could not be read; undefined if it could. */
  add(text: string): string | undefined {
    const read = traceLine.safeParse(tryParseJson(text));
    if (!read.success) return "it is no line of a trace";
    const line = read.data;
    if (this.#head === undefined && line.type !== "trace") return "the first line must say that it is a trace";
    switch (line.type) {
      case "trace":
        if (this.#head !== undefined) return "a second trace begins there";
        this.#head = line;
        return undefined;
      case "block":
        this.#blockByHash.set(line.hash, line);
        return undefined;
      case "request":
        return this.#addRequest(line);
      case "reply":
        return this.#addReply(line);
    }
  }

  finish(end: "whole" | "torn"): Trace | undefined {
    return this.#head === undefined
      ? undefined
      : {
          head: this.#head,
          requests: [...this.#requestByNumber.values()],
          blockByHash: this.#blockByHash,
          torn: end === "torn",
        };
  }

  #addRequest({ type: _type, blocks, ...line }: RequestLine): string | undefined {
    const base = blocks.base === null ? undefined : this.#requestByNumber.get(blocks.base);
    if (blocks.base !== null && base === undefined)
      return `request ${line.n} shares blocks of ${blocks.base}, which is not there`;
    if (blocks.shared > (base?.blocks.length ?? 0))
      return `request ${line.n} shares more blocks than ${blocks.base} has`;
    if (this.#requestByNumber.has(line.n)) return `there are two requests ${line.n}`;
    const added: TraceBlock[] = [];
    for (const [hash, tokens, path, said] of blocks.added) {
      const level = said ?? pathLevel(path);
      if (level === undefined) return `request ${line.n} has a block at ${path}`;
      added.push({ hash, tokens, path, level, type: this.#blockByHash.get(hash)?.blockType });
    }
    this.#requestByNumber.set(line.n, {
      ...line,
      blocks: new BlockList({ base: base?.blocks, shared: blocks.shared, added }),
      breakpoints: blocks.marks.map(([at, lifetime]) => ({ at, lifetime })),
      base: blocks.base,
    });
    return undefined;
  }

  #addReply(reply: ReplyLine): string | undefined {
    const request = this.#requestByNumber.get(reply.n);
    if (request === undefined) return `there is a reply to request ${reply.n}, which is not there`;
    this.#requestByNumber.set(reply.n, { ...request, reply });
    return undefined;
  }
}

const damageOutcome = (line: number, message: string): ReadTraceOutcome => ({ kind: "damaged", line, message });

function notATrace(line: string): string {
  const head = tryParseJson(line);
  const version =
    typeof head === "object" && head !== null && "type" in head && head.type === "trace" && "version" in head;
  return version
    ? `it is of version ${JSON.stringify(head.version)}, this reads version ${traceVersion}`
    : "its first line does not say that it is a trace";
}

function tryParseJson(text: string): ReturnType<typeof parseJson> | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

export interface TraceBlock {
  readonly hash: string;
  readonly tokens: number;
  /** For example `messages.3.content.0`. */
  readonly path: string;
  readonly level: Level;
  /** Unknown if the trace lacks its content. */
  readonly type: string | undefined;
}

interface BlockListParts {
  readonly base: BlockList | undefined;
  /** Number of leading blocks that are the base's. */
  readonly shared: number;
  readonly added: readonly TraceBlock[];
}

/**
 * The blocks of one request: a prefix of another list and what follows it, so that the lists of a whole conversation
 * take only the memory of its blocks. A lookup goes back through the earlier lists.
 */
class BlockList implements Iterable<TraceBlock> {
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
    const holder = BlockList.#listHolding(this, position);
    return holder === undefined ? undefined : holder.#added[position - holder.#shared];
  }

  /** Tokens of the first `count` blocks. */
  tokensUpTo(count: number): number {
    const last = Math.min(count, this.length) - 1;
    const holder = BlockList.#listHolding(this, last);
    return holder === undefined ? 0 : (holder.#tokensUpTo[last - holder.#shared] ?? 0);
  }

  /** The blocks from a position to the end. */
  from(position: number): readonly TraceBlock[] {
    return BlockList.#slicesFrom(this, position).flat();
  }

  *[Symbol.iterator](): Iterator<TraceBlock> {
    yield* this.from(0);
  }

  /** Number of leading blocks that both have. Free as far as one list is built on the other. */
  sharedWith(other: BlockList): number {
    const declared = BlockList.#declaredShared(this, other);
    const ours = this.from(declared);
    const theirs = other.from(declared);
    const end = ours.findIndex(({ hash }, at) => hash !== theirs[at]?.hash);
    return declared + (end === -1 ? ours.length : end);
  }

  static #declaredShared(one: BlockList, other: BlockList): number {
    if (one.#base === other) return one.#shared;
    return other.#base === one ? other.#shared : 0;
  }

  static #listHolding(of: BlockList, position: number): BlockList | undefined {
    if (position < 0 || position >= of.length) return undefined;
    let list: BlockList | undefined = of;
    while (list !== undefined && position < list.#shared) list = list.#base;
    return list;
  }

  static #slicesFrom(of: BlockList, position: number): readonly (readonly TraceBlock[])[] {
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
