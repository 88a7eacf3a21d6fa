import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

export interface BodyLimits {
  readonly bytesMax: number;
  readonly idleMsMax: number;
}

export type BodyOutcome =
  | { readonly kind: "body"; readonly bytes: Uint8Array }
  | { readonly kind: "too-large" | "slow" | "gone" };

/** Takes no more than the limit, in bytes and in time between two chunks. The whole time is limited by the server. */
export function readBody(request: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits): Promise<BodyOutcome> {
  const expected = Number(request.headers["content-length"] ?? 0);
  if (expected > bytesMax) return Promise.resolve({ kind: "too-large" });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (outcome: BodyOutcome): void => {
      clearTimeout(timer);
      request.off("data", take).off("end", finish).off("error", leave).off("close", leave);
      resolve(outcome);
    };
    const take = (chunk: Buffer): void => {
      timer.refresh();
      size += chunk.byteLength;
      if (size > bytesMax) settle({ kind: "too-large" });
      else chunks.push(chunk);
    };
    const [finish, leave] = [
      () =>
        settle({
          kind: "body",
          bytes: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size),
        }),
      () => settle({ kind: "gone" }),
    ];
    const timer = setTimeout(() => settle({ kind: "slow" }), idleMsMax);
    request.on("data", take).on("end", finish).on("error", leave).on("close", leave);
  });
}

export interface StreamedBody {
  readonly stream: Readable;
  /** Why the stream was ended by us. */
  readonly refusal: () => "too-large" | "slow" | undefined;
}

/** A body that is sent on while it comes. The stream fails when a limit is reached. */
export function streamBody(request: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits): StreamedBody {
  let refusal: "too-large" | "slow" | undefined;
  let size = 0;
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
  const look = (): void => {
    // It is the upstream that takes its time.
    if (request.isPaused()) timer.refresh();
    else refuse("slow");
  };
  const timer = setTimeout(look, idleMsMax);
  request.on("data", take).on("end", finish).on("close", leave);
  return { stream, refusal: () => refusal };
}
