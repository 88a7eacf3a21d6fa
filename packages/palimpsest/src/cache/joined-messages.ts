import type { Block, Message } from "../schema/block.ts";
import type { MessagePlace } from "./breakpoints.ts";
import { joinedBytesMin } from "./limits.ts";

/** Put into the bytes of the block at this place, before its closing brace. */
export interface Insertion {
  readonly place: MessagePlace;
  readonly bytes: Uint8Array;
}

/**
 * The messages of the last request as bytes, without markers. The next request mostly goes on from there: what is the
 * same stays where it is, at the price of comparing identities (messages and blocks are values), and only what stands
 * behind the first difference is put together again.
 */
export class JoinedMessages {
  readonly #pieceOf: (block: Block) => Uint8Array;
  readonly #messages: Message[] = [];
  /** Index of each message's first block. */
  readonly #firsts: number[] = [];
  /** Where the bytes of each block end. */
  readonly #ends: number[] = [];
  #buffer = new Uint8Array(joinedBytesMin);

  constructor(pieceOf: (block: Block) => Uint8Array) {
    this.#pieceOf = pieceOf;
  }

  /** The elements of `messages`, in parts that are valid until the next call. */
  join(messages: readonly Message[], insertions: readonly Insertion[]): readonly Uint8Array[] {
    let same = 0;
    while (same < this.#messages.length && this.#messages[same] === messages[same]) same += 1;
    this.#cutTo(same);
    for (const message of messages.slice(same)) this.#add(message);
    return [...this.#parts(insertions), ...(messages.length === 0 ? [] : [messageEnd])];
  }

  #add(message: Message): void {
    const { role, content } = message;
    if (content.length === 0) throw new Error("a message without a block");
    let glue = this.#messages.length === 0 ? firstOpening[role] : nextOpening[role];
    this.#messages.push(message);
    this.#firsts.push(this.#ends.length);
    for (const block of content) {
      this.#put(glue, this.#pieceOf(block));
      glue = comma;
    }
  }

  #parts(insertions: readonly Insertion[]): readonly Uint8Array[] {
    const parts: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of insertions
      .map((one) => this.#located(one))
      .toSorted((one, other) => one.at - other.at)) {
      parts.push(this.#buffer.subarray(from, at), bytes);
      from = at;
    }
    return [...parts, this.#buffer.subarray(from, this.#ends.at(-1) ?? 0)];
  }

  #located({ place, bytes }: Insertion): { readonly at: number; readonly bytes: Uint8Array } {
    const first = this.#firsts[place.message];
    const end = first === undefined ? undefined : this.#ends[first + place.at];
    if (end === undefined || this.#messages[place.message]?.content[place.at] === undefined)
      throw new Error(`no block for the breakpoint at ${JSON.stringify(place)}`);
    return { at: end - 1, bytes };
  }

  #put(glue: Uint8Array, piece: Uint8Array): void {
    const start = this.#ends.at(-1) ?? 0;
    const end = start + glue.length + piece.length;
    if (end > this.#buffer.length) this.#grow(end);
    this.#buffer.set(glue, start);
    this.#buffer.set(piece, start + glue.length);
    this.#ends.push(end);
  }

  /** Twice as large each time, so that a conversation that grows is not copied again and again. */
  #grow(least: number): void {
    const larger = new Uint8Array(Math.max(least, 2 * this.#buffer.length));
    larger.set(this.#buffer.subarray(0, this.#ends.at(-1) ?? 0));
    this.#buffer = larger;
  }

  #cutTo(messages: number): void {
    this.#ends.length = this.#firsts[messages] ?? this.#ends.length;
    this.#messages.length = messages;
    this.#firsts.length = messages;
  }
}

const encoder = new TextEncoder();
const opening = { user: '{"role":"user","content":[', assistant: '{"role":"assistant","content":[' } as const;
const comma = encoder.encode(",");
const messageEnd = encoder.encode("]}");
const firstOpening = { user: encoder.encode(opening.user), assistant: encoder.encode(opening.assistant) } as const;
/** With the end of the message before. */
const nextOpening = {
  user: encoder.encode(`]},${opening.user}`),
  assistant: encoder.encode(`]},${opening.assistant}`),
} as const;
