import type { Millis } from "palimpsest/internal/schema/brand";
import { type CutPlace, type SentEvent, StreamBroken } from "../answer.ts";
import type { SimulatorClock } from "../simulator-clock.ts";
import type { Fault } from "../fault/fault.ts";

/** What a face says of the events of its streams. */
export interface StreamFormat<Event> {
  /** `delta`: words of the reply. `closing`: all of them are said. `last`: with it the reply has arrived. */
  readonly kindOf: (event: Event) => "delta" | "closing" | "last" | "other";
  /** As it goes out, but for what is around it. */
  readonly textOf: (event: Event) => string;
  /** What is said where the stream fails behind so many events. */
  readonly failure: (sent: number) => Event;
}

interface Delivery<Event> {
  readonly events: Iterable<Event>;
  readonly form: StreamFormat<Event>;
  readonly fault: Fault | undefined;
  readonly clock: SimulatorClock;
  /** Between two events, where the responder asks for it. */
  readonly pauseMillis: Millis | undefined;
  /** Raised when the client goes. */
  readonly signal: AbortSignal | undefined;
  /** At the first event: from now on others may read what this request wrote to the cache. */
  readonly onBegin: () => void;
  /** Once: with the last event, or when the stream ends before it. */
  readonly onEnd: (how: "delivered" | "broken") => void;
}

/** Where a fault cuts a reply that goes out as one body. */
export function cutPlace(fault: Fault | undefined): CutPlace | undefined {
  if (fault?.kind === "break") return "middle";
  return fault?.kind === "break-utf8" ? "character" : undefined;
}

/** The events of a reply on their way to the client, with whatever is to go wrong on it. Who stops reading ends it at once. */
export function deliver<Event>(delivery: Delivery<Event>): AsyncIterableIterator<SentEvent<Event>> {
  const leave = new AbortController();
  const signal = delivery.signal === undefined ? leave.signal : AbortSignal.any([delivery.signal, leave.signal]);
  let state: "waiting" | "begun" | "over" = "waiting";
  const sent = sendAll({ ...delivery, signal });
  return {
    next: () => {
      if (state === "waiting") state = "begun";
      return sent.next();
    },
    return: async () => {
      // A pause would hold the generator's own end back until it is over.
      leave.abort();
      if (state === "waiting") delivery.onEnd("broken");
      state = "over";
      return sent.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* sendAll<Event>(delivery: Delivery<Event>): AsyncGenerator<SentEvent<Event>, undefined> {
  const { form, fault, clock, signal, onBegin, onEnd } = delivery;
  const pause = fault?.kind === "trickle" ? fault.everyMs : delivery.pauseMillis;
  let isWhole = false;
  let sent = 0;
  try {
    onBegin();
    for (const event of delivery.events) {
      const broken = breakAt(delivery, { event, sent });
      if (broken === "torn") yield { kind: "torn", event };
      if (broken === "overloaded") {
        yield { kind: "event", event: form.failure(sent) };
        return undefined;
      }
      if (broken !== undefined) throw new StreamBroken();
      if (pause !== undefined && sent > 0) await clock.sleep(pause, signal);
      if (signal?.aborted === true) return undefined;
      const kind = form.kindOf(event);
      if (kind === "last") {
        // Before it is out: who has read it may go on at once, and what the reply changed must be so by then.
        isWhole = true;
        onEnd("delivered");
      }
      yield { kind: "event", event };
      // Every delta twice, as a proxy that retries would do.
      if (fault?.kind === "duplicate" && kind === "delta") yield { kind: "event", event };
      sent += 1;
    }
    return undefined;
  } finally {
    if (!isWhole) onEnd("broken");
  }
}

function breakAt<Event>(
  { fault, form }: Delivery<Event>,
  { event, sent }: { readonly event: Event; readonly sent: number },
): "cut" | "torn" | "overloaded" | undefined {
  if (fault?.kind === "break" && sent >= fault.afterEvents) return "cut";
  if (fault?.kind === "overloaded-midway" && sent >= fault.afterEvents) return "overloaded";
  if (fault?.kind !== "break-utf8") return undefined;
  const kind = form.kindOf(event);
  // Where no character has several bytes, the end of the words is as good a place as any.
  const isPlace = kind === "closing" || kind === "last" || (kind === "delta" && hasWideCharacter(form.textOf(event)));
  return isPlace ? "torn" : undefined;
}

/** One that takes several bytes. */
const hasWideCharacter = (text: string): boolean => Buffer.byteLength(text) > text.length;
