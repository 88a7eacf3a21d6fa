import type { Millis } from "../schema/brand.ts";
import type { StreamEvent } from "../schema/wire/reply.ts";
import { type CutPlace, type Sent, StreamBroken } from "./answer.ts";
import type { SimulatorClock } from "./clock.ts";
import type { Fault } from "./fault.ts";

export interface Delivery {
  readonly events: Iterable<StreamEvent>;
  readonly fault: Fault | undefined;
  readonly clock: SimulatorClock;
  /** Between two events, where the actor asks for it. */
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
export function deliver(delivery: Delivery): AsyncIterableIterator<Sent> {
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

async function* sendAll(delivery: Delivery): AsyncGenerator<Sent, undefined> {
  const { fault, clock, signal, onBegin, onEnd } = delivery;
  const pause = fault?.kind === "trickle" ? fault.everyMs : delivery.pauseMillis;
  let whole = false;
  let sent = 0;
  try {
    onBegin();
    for (const event of delivery.events) {
      const broken = breakAt(fault, { event, sent });
      if (broken === "torn") yield { kind: "torn", event };
      if (broken === "overloaded") {
        yield { kind: "event", event: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } };
        return undefined;
      }
      if (broken !== undefined) throw new StreamBroken();
      if (pause !== undefined && sent > 0) await clock.sleep(pause, signal);
      if (signal?.aborted === true) return undefined;
      if (event.type === "message_stop") whole = true;
      yield { kind: "event", event };
      // Every delta twice, as a proxy that retries would do.
      if (fault?.kind === "duplicate" && event.type === "content_block_delta") yield { kind: "event", event };
      sent += 1;
    }
    return undefined;
  } finally {
    onEnd(whole ? "delivered" : "broken");
  }
}

function breakAt(
  fault: Fault | undefined,
  { event, sent }: { event: StreamEvent; sent: number },
): "cut" | "torn" | "overloaded" | undefined {
  if (fault?.kind === "break" && sent >= fault.afterEvents) return "cut";
  if (fault?.kind === "overloaded-midway" && sent >= fault.afterEvents) return "overloaded";
  // Where no character has several bytes, the last delta is as good a place as any.
  const isPlace = event.type === "content_block_delta" && hasWideCharacter(event);
  if (fault?.kind === "break-utf8" && (isPlace || event.type === "message_delta")) return "torn";
  return undefined;
}

/** One that takes several bytes. */
const hasWideCharacter = (event: StreamEvent): boolean => {
  const json = JSON.stringify(event);
  return Buffer.byteLength(json) > json.length;
};
