import type { Message } from "../schema/block.ts";
import { type Breakpoint, comparePlaces, type MessagePlace } from "./breakpoint.ts";
import { writtenPlacesMax } from "./limits.ts";
import { sameBlock } from "../transcript/same-block.ts";

/**
 * Where the requests of one conversation wrote to the provider's cache. It keeps no time: to mark a place that has
 * expired costs nothing but its slot, and at worst it is written again.
 */
export class WrittenPlaces {
  #sent: readonly Message[] = [];
  #places: readonly MessagePlace[] = [];

  /** A request's reply began: only then can what it wrote be read. */
  recordWrites(messages: readonly Message[], breakpoints: readonly Breakpoint[]): void {
    const held = this.places(messages);
    const marked = breakpoints.flatMap(({ place }) => (place.part === "messages" ? [place] : []));
    const fresh = marked.filter((place) => !held.some((one) => comparePlaces(one, place) === 0));
    this.#places = [...held, ...fresh].toSorted(comparePlaces).slice(-writtenPlacesMax);
    this.#sent = [...messages];
  }

  /** Those up to which nothing was changed in these messages, first to last. Costs a comparison of identities for every message. */
  places(messages: readonly Message[]): readonly MessagePlace[] {
    const shared = this.sharedUpTo(messages);
    const lost = this.#places.findIndex((place) => comparePlaces(place, shared) >= 0);
    return lost === -1 ? this.#places : this.#places.slice(0, lost);
  }

  /** A fork's own: what it writes is nobody else's. */
  copy(): WrittenPlaces {
    const copied = new WrittenPlaces();
    copied.#sent = this.#sent;
    copied.#places = this.#places;
    return copied;
  }

  /** Tools or system prompt are others now: everything behind them is to be written anew. */
  forget(): void {
    this.#sent = [];
    this.#places = [];
  }

  /** The first place at which the messages differ from those sent last; the beginning where none were sent. */
  sharedUpTo(messages: readonly Message[]): MessagePlace {
    const last = this.#sent.length - 1;
    // Past what is the same at the price of a comparison each: nearly always all of it.
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
