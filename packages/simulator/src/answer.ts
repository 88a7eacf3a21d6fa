import type { StreamEvent } from "palimpsest/internal/schema/wire/reply-message";

/** What a client gets: a body, a stream, or one of the two things that no status code can say. */
export type Answer =
  | {
      readonly kind: "body";
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly body: object;
    }
  /** A body of which only the beginning is sent; then the connection ends. */
  | { readonly kind: "cut"; readonly headers: AnswerHeaders; readonly body: object; readonly place: CutPlace }
  | { readonly kind: "stream"; readonly headers: AnswerHeaders; readonly events: AsyncIterable<SentEvent> }
  /** The connection is closed without a word. */
  | { readonly kind: "dropped" }
  /** Nothing comes, until the client goes or `hangMillisMax` has passed. */
  | { readonly kind: "silence" };

export type AnswerHeaders = Readonly<Record<string, string>>;

/** In the middle of the bytes, or of a character. */
export type CutPlace = "middle" | "character";

export type SentEvent<Event = StreamEvent> =
  | { readonly kind: "event"; readonly event: Event }
  /** Only the beginning of the event's bytes, cut inside a character. */
  | { readonly kind: "torn"; readonly event: Event };

/** Thrown by a reply that is to break: whoever carries it closes the connection. */
export class StreamBroken extends Error {
  constructor() {
    super("the reply was broken on purpose");
    this.name = "StreamBroken";
  }
}

/** What a client of this face gets: as of the other, but for the form of its streams. */
export type OpenAiAnswer =
  | { readonly kind: "body"; readonly status: number; readonly headers: AnswerHeaders; readonly body: object }
  | { readonly kind: "cut"; readonly headers: AnswerHeaders; readonly body: object; readonly place: CutPlace }
  | { readonly kind: "frames"; readonly headers: AnswerHeaders; readonly frames: AsyncIterable<SentEvent<Frame>> }
  | { readonly kind: "dropped" }
  | { readonly kind: "silence" };

/** One event of a stream, as its bytes will be. */
export interface Frame {
  readonly text: string;
  /** `delta`: words of the reply. `last`: with it the reply has arrived. */
  readonly kind: "delta" | "other" | "last";
}
