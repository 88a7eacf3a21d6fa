import type { Message } from "../schema/block.ts";
import { type Breakpoint, comparePlaces, type MessagePlace } from "./breakpoint.ts";
import { writtenPlacesMax } from "./limits.ts";
import { sameBlock } from "../transcript/make-receipt.ts";

/**
 * Where the requests of one conversation wrote to the provider's cache. It keeps no time: marking a place that has
 * expired costs only its slot, and at worst it is written again.
 */
export class WrittenPlaces {
  #sent: readonly Message[] = [];
  #places: readonly MessagePlace[] = [];

  /** Call it when the reply to a request begins: only then can what it wrote be read. */
  recordWrites(messages: readonly Message[], breakpoints: readonly Breakpoint[]): void {
    const unchanged = this.places(messages);
    const marked = breakpoints.flatMap(({ place }) => (place.part === "messages" ? [place] : []));
    const fresh = marked.filter((place) => !unchanged.some((known) => comparePlaces(known, place) === 0));
    this.#places = [...unchanged, ...fresh].toSorted(comparePlaces).slice(-writtenPlacesMax);
    this.#sent = [...messages];
  }

  /**
   * The places up to which these messages are unchanged, first to last. Costs a comparison of identities for every
   * message.
   */
  places(messages: readonly Message[]): readonly MessagePlace[] {
    const shared = this.sharedUpTo(messages);
    const firstLost = this.#places.findIndex((place) => comparePlaces(place, shared) >= 0);
    return firstLost === -1 ? this.#places : this.#places.slice(0, firstLost);
  }

  /** A copy for a fork, which records its own writes. */
  copy(): WrittenPlaces {
    const copied = new WrittenPlaces();
    copied.#sent = this.#sent;
    copied.#places = this.#places;
    return copied;
  }

  /** Call it when tools or system prompt have changed: everything behind them has to be written again. */
  forget(): void {
    this.#sent = [];
    this.#places = [];
  }

  /** The first place at which the messages differ from those sent last; the beginning if none were sent. */
  sharedUpTo(messages: readonly Message[]): MessagePlace {
    const last = this.#sent.length - 1;
    // Skips identical messages, nearly always all of them, with one comparison each.
    let message = 0;
    while (message <= last && this.#sent[message] === messages[message]) message += 1;
    for (; message <= last; message += 1) {
      const before = this.#sent[message];
      const now = messages[message];
      if (before === undefined || now === before) continue;
      const at = firstDifference(before, now);
      const grew = (now?.content.length ?? 0) > before.content.length;
      if (at !== -1 || (grew && message < last))
        return { part: "messages", message, at: at === -1 ? before.content.length : at };
    }
    return { part: "messages", message: this.#sent.length, at: 0 };
  }
}

const firstDifference = (before: Message, now: Message | undefined): number =>
  before.content.findIndex((block, at) => !sameBlock(block, now?.content[at]));
