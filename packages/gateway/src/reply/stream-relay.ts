import type { Provider } from "palimpsest/internal/context/provider-formats";
import { isObject, type JsonObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { removeMember } from "../body/write-body.ts";
import { AnthropicStream } from "./anthropic-stream.ts";
import { ChatStream } from "./chat-stream.ts";
import { EventSplitter, readEventData } from "./event-splitter.ts";
import { eventBytesMax, unobservedCharsMax } from "./limits.ts";
import type { RelayFailure, RelayOptions, ReplyEnd, ShownEvent, StreamFormat } from "./relay.ts";
import { ResponsesStream } from "./responses-stream.ts";

/**
 * Relays a streamed reply: bytes in, bytes out, no I/O.
 *
 * take* → end → (continue → take* → end)*, and observe at any time
 *
 * Events that need no change leave as the bytes that came, without a copy: the caller must not reuse a chunk's memory. If
 * nothing can need a change (no gateway tools, no change of usage, first reply), each chunk leaves at once; else an event
 * leaves when it is complete, and no client can do anything with a part of one.
 */
export class StreamRelay {
  readonly #options: RelayOptions;
  readonly #format: StreamFormat;
  #splitter = new EventSplitter();
  /** The beginning of an event whose end has not come. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #isTooLong = false;
  /** Events that `onEvent` has not got, in their order: parsed ones, and the JSON of those that passed unparsed. */
  #unobserved: (JsonObject | string)[] = [];
  #unobservedChars = 0;
  readonly #isUntouched: boolean;
  #wasPassed = true;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#format = createFormat[options.provider](options);
    const { gatewayTools, usage, usageChunk } = options;
    this.#isUntouched = gatewayTools.size === 0 && usage === undefined && usageChunk !== "withhold";
  }

  take(chunk: Uint8Array): readonly Uint8Array[] {
    const out: Uint8Array[] = [];
    if (this.#unobservedChars > unobservedCharsMax) this.observe();
    if (!this.#isTooLong) this.#relay(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength), out);
    return this.#isUntouched ? [chunk] : out;
  }

  /**
   * Tells `onEvent` what has come. Parsing events takes longer than relaying them, so that it waits until the client has its
   * bytes: call it when the reply has ended, and before anything else needs to know the events.
   */
  observe(): void {
    const events = this.#unobserved;
    this.#unobserved = [];
    this.#unobservedChars = 0;
    for (const one of events) {
      const event = typeof one === "string" ? tryParseJson(one) : one;
      if (!isObject(event)) continue;
      if (typeof one === "string") this.#options.onParsed?.(event);
      this.#options.onEvent(event);
    }
  }

  /** Whether bytes are missing in what left, because an event was too long to be buffered: the client must see that. */
  get isCut(): boolean {
    return this.#isTooLong && !this.#isUntouched;
  }

  /**
   * Upstream's stream has ended. An event without its empty line counts: some servers leave it out at the end. A torn one
   * is of no use to a client, and could name a tool of ours.
   */
  end(): { readonly out: readonly Uint8Array[]; readonly end: ReplyEnd } {
    const out: Uint8Array[] = [];
    const rest = this.#takePartial();
    const text = readEventData(rest, this.#splitter)?.text ?? "";
    const isWhole = text === doneText || (text !== "" && isObject(tryParseJson(text)));
    const shown = isWhole ? this.#show(rest) : "withhold";
    if (shown === "pass") out.push(rest);
    else if (shown !== "withhold") out.push(shown);
    const end: ReplyEnd = this.#isTooLong ? { kind: "broken" } : this.#format.end();
    return { out: this.#isUntouched ? [] : out, end };
  }

  /** The next reply of upstream goes on with the client's message: only after an end for which the client waits. */
  continue(): void {
    this.#format.continue();
    this.#splitter = new EventSplitter();
  }

  /** The bytes that end the client's stream with an error, for when no next reply can be had. */
  fail(error: RelayFailure): Uint8Array {
    const event = this.#format.failure(error);
    const name = textField(event, "type");
    return Buffer.from(`${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`);
  }

  #relay(chunk: Buffer, out: Uint8Array[]): void {
    const late: number = this.#partial.length === 0 ? this.#splitter.countLateLineFeed(chunk) : 0;
    // Bytes from here on have been looked at and pass, but are not in `out`.
    let passFrom = this.#wasPassed ? 0 : late;
    let start = late;
    for (;;) {
      const end = this.#splitter.findEnd(chunk, start);
      if (end < 0) break;
      const isContinued = this.#partial.length > 0;
      const earlier = this.#partial;
      const event = isContinued ? this.#takePartial(chunk.subarray(0, end)) : chunk.subarray(start, end);
      const shown = this.#show(event);
      this.#wasPassed = shown !== "withhold";
      if (shown === "pass") {
        if (isContinued) out.push(...earlier);
      } else {
        if (start > passFrom) out.push(chunk.subarray(passFrom, start));
        if (shown !== "withhold") out.push(shown);
        passFrom = end;
      }
      start = end;
    }
    if (start > passFrom) out.push(chunk.subarray(passFrom, start));
    if (start < chunk.length) this.#bufferPartial(chunk.subarray(start));
  }

  #bufferPartial(bytes: Buffer): void {
    this.#partial.push(bytes);
    this.#partialBytes += bytes.length;
    if (this.#partialBytes <= eventBytesMax) return;
    this.#isTooLong = true;
    this.#takePartial();
  }

  #takePartial(last?: Buffer): Buffer {
    const all = last === undefined ? this.#partial : [...this.#partial, last];
    this.#partial = [];
    this.#partialBytes = 0;
    return Buffer.concat(all);
  }

  #show(bytes: Buffer): "pass" | "withhold" | Buffer {
    const data = readEventData(bytes, this.#splitter);
    if (data === undefined) return "pass";
    const { text } = data;
    if (this.#format.passes?.(text) === true) return this.#observeLater(text, text.length);
    const event = text === doneText ? undefined : tryParseJson(text);
    if (!isObject(event)) return this.#format.takeOther();
    this.#options.onParsed?.(event);
    if (this.#unobserved.length === 0) this.#options.onEvent(event);
    else this.#observeLater(event, text.length);
    const shown: ShownEvent = this.#format.take(event);
    if (shown === "pass" || shown === "withhold") return shown;
    const json =
      shown === "without-usage" ? removeMember(bytes.subarray(data.start, data.end), "usage") : encode(shown);
    // The event's name and other lines stay as they are. Data of several lines is no object as it stands.
    return json === undefined ? "pass" : Buffer.concat([bytes.subarray(0, data.start), json, bytes.subarray(data.end)]);
  }

  #observeLater(event: JsonObject | string, chars: number): "pass" {
    this.#unobserved.push(event);
    this.#unobservedChars += chars;
    return "pass";
  }
}

/** How a stream of chat chunks ends. Common enough that it is not parsed in vain. */
const doneText = "[DONE]";

const encode = (event: JsonObject): Buffer => Buffer.from(JSON.stringify(event));

const createFormat: Readonly<Record<Provider, (options: RelayOptions) => StreamFormat>> = {
  anthropic: (options) => new AnthropicStream(options),
  "openai-chat": (options) => new ChatStream(options),
  "openai-responses": (options) => new ResponsesStream(options),
};
