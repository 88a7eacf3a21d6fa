import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { bodyBytesAhead } from "./limits.ts";

export interface BodyLimits {
  readonly bytesMax: number;
  readonly idleMsMax: number;
}

export type BodyOutcome =
  | { readonly kind: "body"; readonly bytes: Uint8Array }
  /** `begun`: what has come of it. The rest waits: see `streamBody`. */
  | { readonly kind: "too-large"; readonly begun: Uint8Array }
  | { readonly kind: "slow" | "gone" };

/** Takes no more than the limit, in bytes and in time between two chunks. The whole time is limited by the server. */
export function readBody(request: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits): Promise<BodyOutcome> {
  const expected = Number(request.headers["content-length"] ?? 0);
  if (expected > bytesMax) return Promise.resolve({ kind: "too-large", begun: new Uint8Array() });
  return new Promise((resolve) => {
    const body = new CollectedBody(expected);
    const settle = (outcome: BodyOutcome): void => {
      clearTimeout(timer);
      request.off("data", take).off("end", finish).off("error", leave).off("close", leave);
      resolve(outcome);
    };
    const take = (chunk: Buffer): void => {
      timer.refresh();
      body.add(chunk);
      if (body.size <= bytesMax) return;
      request.pause();
      settle({ kind: "too-large", begun: body.bytes() });
    };
    const [finish, leave] = [() => settle({ kind: "body", bytes: body.bytes() }), () => settle({ kind: "gone" })];
    const timer = setTimeout(() => settle({ kind: "slow" }), idleMsMax);
    request.on("data", take).on("end", finish).on("error", leave).on("close", leave);
  });
}

/** Chunks are copied into their place as they come, while the client still sends. */
class CollectedBody {
  #bytes: Buffer;
  #size = 0;

  /** `expected`: as the client says. It may be wrong, or never come: so not all of it is taken at once. */
  constructor(expected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(expected, bodyBytesAhead));
  }

  get size(): number {
    return this.#size;
  }

  add(chunk: Buffer): void {
    const needed = this.#size + chunk.byteLength;
    if (needed > this.#bytes.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.byteLength));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    chunk.copy(this.#bytes, this.#size);
    this.#size = needed;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}

export interface StreamedBody {
  readonly stream: Readable;
  /** Why the stream was ended by us. */
  readonly refusal: () => "too-large" | "slow" | undefined;
}

/** A body that is sent on while it comes. The stream fails when a limit is reached. `begun`: what was read of it before. */
export function streamBody(
  request: IncomingMessage,
  { bytesMax, idleMsMax, begun }: BodyLimits & { readonly begun?: Uint8Array | undefined },
): StreamedBody {
  let refusal: "too-large" | "slow" | undefined;
  let size = begun?.byteLength ?? 0;
  const take = (chunk: Buffer): void => {
    timer.refresh();
    size += chunk.byteLength;
    if (size > bytesMax) refuse("too-large");
    else if (!stream.push(chunk)) request.pause();
  };
  const finish = (): void => void stream.push(null);
  const leave = (): void => {
    if (!request.complete) stream.destroy(new Error("The client went away."));
  };
  const refuse = (why: "too-large" | "slow"): void => {
    refusal = why;
    stream.destroy(new Error("The body was refused."));
  };
  const stream = new Readable({
    read: () => void request.resume(),
    destroy: (error, done) => {
      clearTimeout(timer);
      request.off("data", take).off("end", finish).off("close", leave);
      done(error);
    },
  });
  const checkIdle = (): void => {
    // A paused request waits for the upstream, not for the client.
    if (request.isPaused()) timer.refresh();
    else refuse("slow");
  };
  const timer = setTimeout(checkIdle, idleMsMax);
  if (size > 0) stream.push(begun);
  request.on("data", take).on("end", finish).on("close", leave);
  return { stream, refusal: () => refusal };
}
