import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { traceWaitingBytesMax } from "../limits.ts";

interface TraceFileDeps {
  readonly path: string;
  /** Called at most once: from then on lines are dropped. */
  readonly onError: (error: Error) => void;
}

type TraceFileOutcome =
  | { readonly kind: "open"; readonly file: TraceFile }
  /** A trace is one run of the simulator: an existing file is neither continued nor replaced. */
  | { readonly kind: "exists" };

/** Rejects if the operating system refuses. Only the owner may read the file: it holds everything that was sent. */
export async function openTraceFile({ path, onError }: TraceFileDeps): Promise<TraceFileOutcome> {
  const handle = await open(path, "a", 0o600);
  if ((await handle.stat()).size > 0) {
    await handle.close();
    return { kind: "exists" };
  }
  return { kind: "open", file: new TraceFile(handle, onError) };
}

/** Writes lines to a file in the order of the calls, several in one write. Nothing here rejects. */
export class TraceFile {
  readonly #handle: Pick<FileHandle, "appendFile" | "close">;
  readonly #onError: (error: Error) => void;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** Present while lines are written; resolves when none is waiting. */
  #draining: Promise<void> | undefined;
  #state: "open" | "broken" | "closed" = "open";
  #isReported = false;

  constructor(handle: Pick<FileHandle, "appendFile" | "close">, onError: (error: Error) => void) {
    this.#handle = handle;
    this.#onError = onError;
  }

  /** Resolves at once, unless so much waits for the disk that the caller must wait too. */
  readonly write = async (line: string): Promise<void> => {
    if (this.#state !== "open") return;
    this.#waiting.push(`${line}\n`);
    this.#waitingBytes += Buffer.byteLength(line) + 1;
    this.#draining ??= this.#drain();
    if (this.#waitingBytes > traceWaitingBytesMax) await this.#draining;
  };

  /** Resolves when everything written so far is in the file, or has been reported as failed. */
  async flush(): Promise<void> {
    await this.#draining;
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    await this.flush();
    this.#state = "closed";
    await this.#handle.close().catch((error: unknown) => this.#fail(error));
  }

  async #drain(): Promise<void> {
    // Lines of the same tick are written together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await this.#handle.appendFile(lines.join(""));
      } catch (error) {
        this.#waiting = [];
        this.#fail(error);
      }
    }
    this.#draining = undefined;
  }

  #fail(error: unknown): void {
    if (this.#state === "open") this.#state = "broken";
    if (this.#isReported) return;
    this.#isReported = true;
    this.#onError(error instanceof Error ? error : new Error(String(error)));
  }
}

/** The lines of a file, including an unfinished last one. Only a newline ends a line: JSON may hold U+2028. */
export async function* fileLines(path: string): AsyncGenerator<string> {
  let parts: string[] = [];
  const chunks: AsyncIterable<string> = createReadStream(path, { encoding: "utf8" });
  for await (const chunk of chunks) {
    const [first = "", ...others] = chunk.split("\n");
    parts.push(first);
    for (const next of others) {
      yield parts.join("");
      parts = [next];
    }
  }
  const last = parts.join("");
  if (last !== "") yield last;
}
