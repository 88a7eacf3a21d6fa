import type { StreamEvent } from "palimpsest/internal/schema/wire/reply-message";
import { type Answer, type AnswerHeaders, type SentEvent, StreamBroken } from "../answer.ts";
import type { Socket } from "node:net";

/** Events as the bytes of a stream. */
export const eventBody = <Event>(
  events: AsyncIterable<SentEvent<Event>>,
  { connection, textOf }: EventCarrier<Event>,
): ReadableStream<Uint8Array> =>
  toByteStream(events, {
    connection,
    bytesOf: ({ kind, event }) => {
      const bytes = Buffer.from(textOf(event), "utf8");
      return kind === "event" ? bytes : bytes.subarray(0, insideCharacter(bytes));
    },
  });

interface EventCarrier<Event> {
  readonly connection: Connection;
  readonly textOf: (event: Event) => string;
}

export const formatSse = (event: StreamEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const streamResponse = (headers: AnswerHeaders, body: ReadableStream<Uint8Array>): Response =>
  new Response(body, {
    headers: {
      ...headers,
      // Keeps the server from collecting the first events to compute a length.
      "transfer-encoding": "chunked",
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    },
  });

/** The beginning of a body, then the end of the connection. */
export const cutBody = ({ body, place }: CutAnswer, connection: Connection): ReadableStream<Uint8Array> =>
  toByteStream(bodyPrefix(Buffer.from(JSON.stringify(body), "utf8"), place), { connection, bytesOf: (bytes) => bytes });

type CutAnswer = Extract<Answer, { kind: "cut" }>;

async function* bodyPrefix(bytes: Uint8Array, place: CutAnswer["place"]): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, place === "character" ? insideCharacter(bytes) : Math.floor(bytes.length / 2));
  throw new StreamBroken();
}

interface Carrier<Part> {
  readonly connection: Connection;
  readonly bytesOf: (part: Part) => Uint8Array;
}

/**
 * Produces one part at a time, on demand: a slow client slows the simulator down but does not fill its memory, and
 * nothing is produced ahead that a break would have to undo.
 */
export function toByteStream<Part>(
  parts: AsyncIterable<Part>,
  { connection, bytesOf }: Carrier<Part>,
): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await iterator.next();
          if (next.done === true) controller.close();
          else controller.enqueue(bytesOf(next.value));
        } catch (error) {
          if (connection.incoming === undefined) controller.error(error);
          else await endConnection(connection.incoming.socket);
        }
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Lets what was sent reach the client before the connection ends in the middle. */
const endConnection = (socket: NonNullable<Connection["incoming"]>["socket"]): Promise<void> =>
  new Promise((resolve) => {
    socket.write("", () => {
      socket.destroy();
      resolve();
    });
  });

/** After the first byte of the first multi-byte character, or in the middle if there is none. */
function insideCharacter(bytes: Uint8Array): number {
  const at = bytes.findIndex((byte) => byte >= 0xc0);
  return at < 0 ? Math.floor(bytes.length / 2) : at + 1;
}

/** What the server knows of a connection; empty for a caller in this process. */
export interface Connection {
  readonly incoming?: AsyncIterable<Uint8Array> & {
    readonly socket: Pick<Socket, "resetAndDestroy" | "write" | "destroy">;
  };
}

/** The error that `fetch` throws when the other side closes the connection without an answer. */
export class ConnectionDropped extends TypeError {
  constructor() {
    super("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
    this.name = "ConnectionDropped";
  }
}
