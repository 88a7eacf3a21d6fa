import type { Millis } from "palimpsest/internal/schema/brand";
import { type CutPlace, type SentEvent, StreamBroken } from "../answer.ts";
import type { SimulatorClock } from "../simulator-clock.ts";
import type { Fault } from "../fault/fault.ts";

/** What an API says about the events of its streams. */
export interface StreamFormat<Event> {
  /** `delta`: text of the reply. `closing`: all of the text is sent. `last`: once it is sent, the reply has arrived. */
  readonly kindOf: (event: Event) => "delta" | "closing" | "last" | "other";
  /** The text that goes out, without its framing. */
  readonly textOf: (event: Event) => string;
  /** The event of a stream that fails after `sent` events. */
  readonly failure: (sent: number) => Event;
}

interface Delivery<Event> {
  readonly events: Iterable<Event>;
  readonly form: StreamFormat<Event>;
  readonly fault: Fault | undefined;
  readonly clock: SimulatorClock;
  /** Pause between two events, if the responder asks for one. */
  readonly pauseMillis: Millis | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal | undefined;
  /** Called at the first event: from now on other requests may read what this one wrote to the cache. */
  readonly onBegin: () => void;
  /** Called once: with the last event, or when the stream ends before it. */
  readonly onEnd: (how: "delivered" | "broken") => void;
}

/** Where a fault cuts a reply that is sent as one body. */
export function cutPlace(fault: Fault | undefined): CutPlace | undefined {
  if (fault?.kind === "break") return "middle";
  return fault?.kind === "break-utf8" ? "character" : undefined;
}

/**
 * The events of a reply on their way to the client, with the fault that is due. If the reader stops, the stream ends at
 * once.
 */
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
      // Otherwise a pause would delay the generator's return until it is over.
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
        // Before it is sent: a client that has read it may go on at once, and by then the reply's effects must be in
        // place.
        isWhole = true;
        onEnd("delivered");
      }
      yield { kind: "event", event };
      // Every delta twice, as from a proxy that retries.
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
  // If no character has several bytes, the end of the text is as good a place as any.
  const isPlace = kind === "closing" || kind === "last" || (kind === "delta" && hasWideCharacter(form.textOf(event)));
  return isPlace ? "torn" : undefined;
}

/** Whether any character has several bytes. */
const hasWideCharacter = (text: string): boolean => Buffer.byteLength(text) > text.length;
