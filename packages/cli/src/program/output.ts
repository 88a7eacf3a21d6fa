import { randomUUID } from "node:crypto";
import type { Writable } from "node:stream";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import { createMarkedStyle, plain, type Style, wantsColour } from "../text/style.ts";

/** Where a command writes. Awaiting each write keeps a slow reader from filling the memory. */
export interface Output {
  readonly style: Style;
  /** Whether a user may be looking: then progress is shown in place, and a question can be seen. */
  readonly isTerminal: boolean;
  /** The terminal's width; elsewhere the value of `COLUMNS`. */
  readonly columns: number | undefined;
  /**
   * For the user: only what `style` added has a meaning to the terminal, whatever the text quotes. Must not reject:
   * once the reader is gone (`| head`), output is dropped and the command runs to its end.
   */
  write(text: string): Promise<void>;
  /**
   * Lines or parts of them that were drawn for this terminal: printable already, with no escape sequences but colours.
   */
  drawn(text: string): Promise<void>;
  /** Only at a terminal: a line that the next one replaces; an empty one clears it. */
  progress(line: string): Promise<void>;
  /**
   * Written unchanged. At a terminal, an unfinished last line gets a line end, so that the next output starts on a line
   * of its own.
   */
  bytes(data: Uint8Array): Promise<void>;
  /** One JSON value on a line of its own. */
  json(value: unknown): Promise<void>;
  /** Whether there is still a reader: a command with much output may stop early. */
  state(): OutputState;
}

type OutputState =
  | { readonly kind: "open" }
  | { readonly kind: "closed" }
  | { readonly kind: "broken"; readonly error: Error };

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export function createOutput(stream: OutputStream, env: Readonly<NodeJS.ProcessEnv>): Output {
  let state: OutputState = { kind: "open" };
  const recordError = (error: Error | null | undefined): void => {
    if (error && state.kind === "open") state = isReaderGone(error) ? { kind: "closed" } : { kind: "broken", error };
  };
  // Without a listener the failed write would end the process, perhaps in the middle of writing a session.
  stream.on("error", recordError);

  const write = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (state.kind !== "open" || data.length === 0) return resolve();
      stream.write(data, (error) => {
        recordError(error);
        resolve();
      });
    });
  let progress = "";
  const marked = createMarkedStyle(randomUUID());
  return {
    style: wantsColour(stream, env) ? marked.style : plain,
    isTerminal: stream.isTTY === true,
    // A terminal without a size reports 0.
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

/** A smaller value has no room for our lines, a larger one is a typo. */
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
