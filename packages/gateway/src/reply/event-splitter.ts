const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Finds where the events of a stream (`text/event-stream`) end: after an empty line. A line ends with LF, CR or CRLF, and
 * a chunk may end anywhere.
 */
export class EventSplitter {
  #isLineEmpty = true;
  #isAfterReturn = false;
  #hasReturns = false;

  /** Whether a line of the stream ended with CR so far. */
  get hasReturns(): boolean {
    return this.#hasReturns;
  }

  /** The place behind the first event that ends at or behind `from`; -1 if none does. Call it again with that place. */
  findEnd(bytes: Buffer, from: number): number {
    let isLineEmpty = this.#isLineEmpty;
    let isAfterReturn = this.#isAfterReturn;
    const { length } = bytes;
    let at = from;
    let end = -1;
    while (at < length && end < 0) {
      const byte = bytes[at];
      at += 1;
      if (byte !== lineFeed && byte !== carriageReturn) {
        isLineEmpty = false;
        isAfterReturn = false;
        // The rest of the line, in a loop that is as short as possible.
        while (at < length && (bytes[at] ?? 0) > carriageReturn) at += 1;
      } else if (byte === lineFeed && isAfterReturn) {
        isAfterReturn = false;
      } else {
        isAfterReturn = byte === carriageReturn;
        this.#hasReturns ||= isAfterReturn;
        if (isLineEmpty) end = at;
        isLineEmpty = true;
      }
    }
    if (end >= 0 && isAfterReturn && bytes[end] === lineFeed) {
      end += 1;
      isAfterReturn = false;
    }
    this.#isLineEmpty = isLineEmpty;
    this.#isAfterReturn = isAfterReturn;
    return end;
  }

  /** 1 if the last event ended with the CR of a CRLF and the chunk begins with its LF. Only between two events. */
  countLateLineFeed(bytes: Buffer): 0 | 1 {
    if (!this.#isAfterReturn || bytes.length === 0) return 0;
    this.#isAfterReturn = false;
    return bytes[0] === lineFeed ? 1 : 0;
  }
}

interface EventData {
  readonly text: string;
  /** Where the data stands in the event's bytes. */
  readonly start: number;
  readonly end: number;
}

/** The data of an event; undefined if it has none, like a comment. */
export function readEventData(bytes: Buffer, { hasReturns }: Pick<EventSplitter, "hasReturns">): EventData | undefined {
  let data: EventData | undefined;
  let at = startsWithMark(bytes) ? byteOrderMark.length : 0;
  while (at < bytes.length) {
    const end = findLineEnd(bytes, { from: at, hasReturns });
    if (isDataLine(bytes, at)) {
      const start = at + dataPrefix.length + (bytes[at + dataPrefix.length] === space ? 1 : 0);
      const text = bytes.toString("utf8", start, end);
      data = data === undefined ? { text, start, end } : { text: `${data.text}\n${text}`, start: data.start, end };
    }
    at = end + 1;
  }
  return data;
}

const space = 0x20;
const dataPrefix = Buffer.from("data:");
const byteOrderMark = Buffer.from("\uFEFF");

const startsWithMark = (bytes: Buffer): boolean => bytes[0] === byteOrderMark[0] && bytes.indexOf(byteOrderMark) === 0;

const isDataLine = (bytes: Buffer, at: number): boolean =>
  bytes[at] === dataPrefix[0] &&
  bytes[at + 1] === dataPrefix[1] &&
  bytes[at + 2] === dataPrefix[2] &&
  bytes[at + 3] === dataPrefix[3] &&
  bytes[at + 4] === dataPrefix[4];

/** The place of the line's end, or the end of the bytes. Between the two characters of CRLF it finds one more empty line. */
function findLineEnd(
  bytes: Buffer,
  { from, hasReturns }: { readonly from: number; readonly hasReturns: boolean },
): number {
  const feed = bytes.indexOf(lineFeed, from);
  const end = feed < 0 ? bytes.length : feed;
  if (!hasReturns) return end;
  const back = bytes.subarray(from, end).indexOf(carriageReturn);
  return back < 0 ? end : from + back;
}
