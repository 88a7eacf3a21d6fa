import type { Writable } from "node:stream";
import { type Style, styleFor } from "./style.ts";

/** Where a command writes. Waiting for each write keeps a slow reader from filling the memory. */
export interface Output {
  readonly style: Style;
  readonly columns: number | undefined;
  /** Must not reject: once the reader is gone (`| head`), what is written is dropped and the command goes on to its end. */
  write(text: string): Promise<void>;
  /** As they are, without a newline behind them. */
  bytes(data: Uint8Array): Promise<void>;
  /** One JSON value on a line of its own. */
  json(value: unknown): Promise<void>;
  /** Whether anybody still reads: a command with much to say may stop early. */
  state(): OutputState;
}

export type OutputState =
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
  return {
    style: styleFor(stream, env),
    columns: stream.columns,
    write,
    bytes: write,
    json: (value) => write(`${JSON.stringify(value)}\n`),
    state: () => state,
  };
}

const isReaderGone = (error: Error): boolean =>
  "code" in error && (error.code === "EPIPE" || error.code === "ECONNRESET" || error.code === "ERR_STREAM_DESTROYED");
