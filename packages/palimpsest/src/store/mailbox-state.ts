import type { EnvelopeId, MailboxAddress } from "../schema/brand.ts";
import { unreadPerSenderMax } from "../schema/limits.ts";
import { mailboxUnreadBytesMax, mailboxUnreadMax, rememberedIdsMax, rememberedSendersMax } from "./limits.ts";

/** A message without its text. */
export interface StoredMessage<Place> {
  readonly id: EnvelopeId;
  readonly from: MailboxAddress;
  readonly sequence: number;
  readonly bytes: number;
  /** Where its text is. */
  readonly place: Place;
}

/** What is remembered of a sender when its messages are gone. */
export interface SenderRecord {
  readonly from: MailboxAddress;
  readonly last: number;
  /** The newest ones, oldest first. */
  readonly ids: readonly EnvelopeId[];
}

export type Acceptance =
  | { readonly kind: "new"; readonly sequence: number }
  | { readonly kind: "known" }
  | { readonly kind: "full"; readonly unread: number };

interface Sender {
  last: number;
  unread: number;
  ids: EnvelopeId[];
}

/** What a mailbox holds: computed from its messages and read marks, in any order of the two. No clock, no disk. */
export class MailboxState<Place> {
  readonly #unread = new Map<EnvelopeId, StoredMessage<Place>>();
  readonly #read = new Set<EnvelopeId>();
  readonly #senders = new Map<MailboxAddress, Sender>();
  #unreadBytes = 0;
  readMessages = 0;
  readBytes = 0;

  /** Oldest first. */
  get unread(): Iterable<StoredMessage<Place>> {
    return this.#unread.values();
  }

  get unreadCount(): number {
    return this.#unread.size;
  }

  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  isUnread(id: EnvelopeId): boolean {
    return this.#unread.has(id);
  }

  accept({ id, from, bytes }: Pick<StoredMessage<Place>, "id" | "from" | "bytes">): Acceptance {
    const sender = this.#senders.get(from);
    if (sender?.ids.includes(id) === true) return { kind: "known" };
    if (sender !== undefined && sender.unread >= unreadPerSenderMax) return { kind: "full", unread: sender.unread };
    if (this.#unread.size >= mailboxUnreadMax || this.#unreadBytes + bytes > mailboxUnreadBytesMax)
      return { kind: "full", unread: this.#unread.size };
    return { kind: "new", sequence: (sender?.last ?? 0) + 1 };
  }

  add(message: StoredMessage<Place>): void {
    const { id, from, sequence, bytes } = message;
    const sender = this.#touch(from);
    sender.last = Math.max(sender.last, sequence);
    sender.ids.push(id);
    if (sender.ids.length > rememberedIdsMax) sender.ids.shift();
    if (this.#read.has(id)) return this.#countRead(bytes);
    this.#unread.set(id, message);
    this.#unreadBytes += bytes;
    sender.unread += 1;
  }

  /** A mark may be read before its message. */
  mark(id: EnvelopeId): void {
    this.#read.add(id);
    const message = this.#unread.get(id);
    if (message === undefined) return;
    this.#unread.delete(id);
    this.#unreadBytes -= message.bytes;
    this.#touch(message.from).unread -= 1;
    this.#countRead(message.bytes);
  }

  /** What a mailbox without its read messages has to remember, the most recent sender last. */
  senders(): readonly SenderRecord[] {
    const records = [...this.#senders].map(([from, { last, ids }]) => ({
      from,
      last,
      // Unread messages stay, and are counted again.
      ids: ids.filter((id) => !this.#unread.has(id)),
    }));
    return records.slice(-rememberedSendersMax);
  }

  restoreSender({ from, last, ids }: SenderRecord): void {
    Object.assign(this.#touch(from), { last, ids: [...ids] });
  }

  forgetMessages(): void {
    this.#unread.clear();
    this.#senders.clear();
    this.#unreadBytes = 0;
    this.readMessages = 0;
    this.readBytes = 0;
  }

  forgetMarks(): void {
    this.#read.clear();
  }

  #countRead(bytes: number): void {
    this.readMessages += 1;
    this.readBytes += bytes;
  }

  #touch(from: MailboxAddress): Sender {
    const sender = this.#senders.get(from) ?? { last: 0, unread: 0, ids: [] };
    this.#senders.delete(from);
    this.#senders.set(from, sender);
    return sender;
  }
}
