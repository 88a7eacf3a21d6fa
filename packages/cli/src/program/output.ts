import { randomUUID } from "node:crypto";
import type { Writable } from "node:stream";
import { toPrintable } from "palimpsest/internal/schema/to-printable";
import { createMarkedStyle, plain, type Style, wantsColour } from "../text/style.ts";

/** Where a command writes. Waiting for each write keeps a slow reader from filling the memory. */
export interface Output {
  readonly style: Style;
  /** Whether a person may be looking: what progresses is shown in place, and a question can be seen. */
  readonly isTerminal: boolean;
  /** A terminal's own; elsewhere what `COLUMNS` says. */
  readonly columns: number | undefined;
  /**
   * For people: whatever the text quotes, only what `style` made of it reaches the terminal as more than characters.
   * Must not reject: once the reader is gone (`| head`), what is written is dropped and the command goes on to its end.
   */
  write(text: string): Promise<void>;
  /** Lines or parts of them that were drawn for this terminal: printable already, with sequences for colour and nothing else. */
  drawn(text: string): Promise<void>;
  /** At a terminal only: a line that the next one takes the place of; an empty one clears it. */
  progress(line: string): Promise<void>;
  /** As they are. At a terminal a last line without its end gets one, so that what follows has a line of its own. */
  bytes(data: Uint8Array): Promise<void>;
  /** One JSON value on a line of its own. */
  json(value: unknown): Promise<void>;
  /** Whether anybody still reads: a command with much to say may stop early. */
  state(): OutputState;
}

type OutputState =
  | { readonly kind: "open" }
  | { readonly kind: "closed" }
  | { readonly kind: "broken"; readonly error: Error };

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export function createOutput(stream: OutputStream, env: Readonly<NodeJS.ProcessEnv>): Output {
  let state: OutputState = { kind: "open" };
  const notice = (error: Error | null | undefined): void => {
    if (error && state.kind === "open") state = isReaderGone(error) ? { kind: "closed" } : { kind: "broken", error };
  };
  // Without a listener the failed write would end the process, perhaps in the middle of writing a session.
  stream.on("error", notice);

  const write = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (state.kind !== "open" || data.length === 0) return resolve();
      stream.write(data, (error) => {
        notice(error);
        resolve();
      });
    });
  let progress = "";
  const marked = createMarkedStyle(randomUUID());
  return {
    style: wantsColour(stream, env) ? marked.style : plain,
    isTerminal: stream.isTTY === true,
    // A terminal that nobody has given a size says 0.
    columns: stream.columns === 0 ? columnsIn(env) : (stream.columns ?? columnsIn(env)),
    write: (text) => write(marked.sequences(toPrintable(text))),
    drawn: write,
    progress: async (line) => {
      if (stream.isTTY !== true || line === progress) return;
      progress = line;
      await write(`${lineStart}${toPrintable(line)}`);
    },
    bytes: async (data) => {
      await write(data);
      if (stream.isTTY === true && data.length > 0 && data.at(-1) !== newline) await write("\n");
    },
    json: (value) => write(`${JSON.stringify(value)}\n`),
    state: () => state,
  };
}

/** Fewer hold no line of ours, more are a slip of the finger. */
const columnsMin = 20;
const columnsMax = 1_000;

function columnsIn({ COLUMNS = "" }: Readonly<NodeJS.ProcessEnv>): number | undefined {
  const columns = /^\d{1,4}$/.test(COLUMNS) ? Number(COLUMNS) : 0;
  return columns >= columnsMin && columns <= columnsMax ? columns : undefined;
}

const newline = 0x0a;
const lineStart = "\r\u001B[K";

const isReaderGone = (error: Error): boolean =>
  "code" in error && (error.code === "EPIPE" || error.code === "ECONNRESET" || error.code === "ERR_STREAM_DESTROYED");

/** What stdout holds after one turn. */
export const outputFormats = ["text", "json", "stream-json"] as const;
export type OutputFormat = (typeof outputFormats)[number];
