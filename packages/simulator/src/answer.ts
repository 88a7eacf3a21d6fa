import type { StreamEvent } from "palimpsest/internal/schema/wire/reply-message";

/** What a client gets: a body, a stream, or one of the two outcomes that no status code expresses. */
export type Answer =
  | {
      readonly kind: "body";
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly body: object;
    }
  /** Only the beginning of the body is sent; then the connection ends. */
  | { readonly kind: "cut"; readonly headers: AnswerHeaders; readonly body: object; readonly place: CutPlace }
  | { readonly kind: "stream"; readonly headers: AnswerHeaders; readonly events: AsyncIterable<SentEvent> }
  /** The connection is closed without any response. */
  | { readonly kind: "dropped" }
  /** Nothing is sent until the client goes away or `hangMillisMax` has passed. */
  | { readonly kind: "silence" };

export type AnswerHeaders = Readonly<Record<string, string>>;

/** The cut falls in the middle of the bytes, or inside a multi-byte character. */
export type CutPlace = "middle" | "character";

export type SentEvent<Event = StreamEvent> =
  | { readonly kind: "event"; readonly event: Event }
  /** Only the beginning of the event's bytes is sent, cut inside a character. */
  | { readonly kind: "torn"; readonly event: Event };

/** Thrown by a stream that is meant to break: the transport closes the connection. */
export class StreamBroken extends Error {
  constructor() {
    super("the reply was broken on purpose");
    this.name = "StreamBroken";
  }
}

/** What a client of the OpenAI API gets: the same as from the Messages API, except for the format of streams. */
export type OpenAiAnswer =
  | Exclude<Answer, { kind: "stream" }>
  | { readonly kind: "frames"; readonly headers: AnswerHeaders; readonly frames: AsyncIterable<SentEvent<Frame>> };

/** One event of a stream, as it is written to the wire. */
export interface Frame {
  readonly text: string;
  /** `delta`: text of the reply. `last`: once it is sent, the reply has arrived. */
  readonly kind: "delta" | "other" | "last";
}
