import { isObject, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import { EventSplitter, readEventData } from "./event-splitter.ts";
import { eventBytesMax } from "./limits.ts";

/** Reads the events of a stream that passes unchanged. An event that is too long ends the reading, not the stream. */
export class EventReader {
  readonly #onEvent: (event: JsonObject) => void;
  readonly #isWanted: (bytes: Buffer) => boolean;
  readonly #splitter = new EventSplitter();
  #partial: Buffer[] = [];
  #partialBytes = 0;

  /** Only wanted events are parsed. */
  constructor(onEvent: (event: JsonObject) => void, isWanted: (bytes: Buffer) => boolean = () => true) {
    this.#onEvent = onEvent;
    this.#isWanted = isWanted;
  }

  take(chunk: Uint8Array): void {
    if (this.#partialBytes > eventBytesMax) return;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start: number = this.#partial.length === 0 ? this.#splitter.countLateLineFeed(bytes) : 0;
    for (let end = this.#splitter.findEnd(bytes, start); end >= 0; end = this.#splitter.findEnd(bytes, start)) {
      this.#read(Buffer.concat([...this.#partial, bytes.subarray(start, end)]));
      this.#partial = [];
      this.#partialBytes = 0;
      start = end;
    }
    if (start === bytes.length) return;
    this.#partial.push(bytes.subarray(start));
    this.#partialBytes += bytes.length - start;
  }

  /** Some servers leave out the empty line behind the last event. */
  end(): void {
    if (this.#partialBytes > 0 && this.#partialBytes <= eventBytesMax) this.#read(Buffer.concat(this.#partial));
    this.#partial = [];
  }

  #read(bytes: Buffer): void {
    if (!this.#isWanted(bytes)) return;
    const data = readEventData(bytes, this.#splitter);
    const event = data === undefined ? undefined : tryParseJson(data.text);
    if (isObject(event)) this.#onEvent(event);
  }
}
