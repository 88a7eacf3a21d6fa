import { createWriteStream, renameSync, statSync, type WriteStream } from "node:fs";
import { fileMode, isAbsent } from "palimpsest/internal/store/files/disk";
import type { GatewayEvent, GatewayListener } from "./gateway-event.ts";
import { logBytesMax } from "./limits.ts";

export interface EventLogOptions {
  readonly path: string;
  readonly now: () => number;
  /** Called at most once: logging stops then. */
  readonly onError: (error: Error) => void;
}

export interface EventLog {
  readonly onEvent: GatewayListener;
  close(): Promise<void>;
}

/** Writes one line of JSON per event, except for `request-start`. Only the owner can read the file. */
export function openEventLog({ path, now, onError }: EventLogOptions): EventLog {
  let stream: WriteStream | undefined;
  let size = fileSize(path);
  let isGivenUp = false;
  const giveUp = (error: Error): void => {
    if (!isGivenUp) onError(error);
    isGivenUp = true;
  };
  const open = (): WriteStream => createWriteStream(path, { flags: "a", mode: fileMode }).on("error", giveUp);
  const renew = (): void => {
    stream?.end();
    stream = undefined;
    renameSync(path, `${path}.1`);
    size = 0;
  };
  return {
    onEvent: (event) => {
      if (isGivenUp || event.kind === "request-start") return;
      const line = renderEvent(event, now());
      try {
        if (size > 0 && size + line.length > logBytesMax) renew();
      } catch (error) {
        return giveUp(error instanceof Error ? error : new Error(String(error)));
      }
      size += line.length;
      stream ??= open();
      stream.write(line);
    },
    close: () =>
      new Promise((resolve) => {
        if (stream === undefined || isGivenUp) return resolve();
        stream.end(() => resolve());
      }),
  };
}

const renderEvent = (event: GatewayEvent, now: number): string =>
  `${JSON.stringify({ at: new Date(now).toISOString(), ...event })}\n`;

function fileSize(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}
