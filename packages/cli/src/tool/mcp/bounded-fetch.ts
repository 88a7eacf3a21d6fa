import { messageBytesMax } from "./limits.ts";

/**
 * `fetch` whose answers break off where a message in them is over the limit: whoever reads one holds all of it. In an
 * event stream a message is what stands between two empty lines; any other answer, an error too, is one message.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const isStream = /^\s*text\/event-stream\b/i.test(headers.get("content-type") ?? "");
  const bound = messageBound({ bytesMax: messageBytesMax, ends: isStream ? "empty-line" : "never" });
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
}

export interface Bound {
  readonly bytesMax: number;
  /** Where a message ends, before the whole does. */
  readonly ends: "empty-line" | "never";
}

export function messageBound({ bytesMax, ends }: Bound): TransformStream<Uint8Array, Uint8Array> {
  let messageBytes = 0;
  let lineBytes = 0;
  let before = 0;
  /** False where a message is too long. */
  const isWithin = (chunk: Uint8Array): boolean => {
    if (ends === "never") return (messageBytes += chunk.length) <= bytesMax;
    for (const byte of chunk) {
      messageBytes += 1;
      if (messageBytes > bytesMax) return false;
      // Lines end with either sign, or with both.
      if (byte === newline && before === carriageReturn) lineBytes = 0;
      else if (byte === newline || byte === carriageReturn) {
        if (lineBytes === 0) messageBytes = 0;
        lineBytes = 0;
      } else lineBytes += 1;
      before = byte;
    }
    return true;
  };
  return new TransformStream({
    transform: (chunk, controller) => {
      if (isWithin(chunk)) controller.enqueue(chunk);
      else controller.error(new Error(`a message of over ${bytesMax} bytes`));
    },
  });
}

const newline = 0x0a;
const carriageReturn = 0x0d;
