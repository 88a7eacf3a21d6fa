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

/** A body that is sent on while it comes. Ends with a `BodyRefused` when a limit is reached. */
export function streamBody(request: IncomingMessage, limits: BodyLimits): Readable {
  return Readable.from(takeChunks(request, limits), { objectMode: false, highWaterMark: 64 * 1024 });
}

export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  readonly kind: "too-large" | "slow";

  constructor(kind: "too-large" | "slow") {
    super(kind);
    this.kind = kind;
  }
}

async function* takeChunks(request: IncomingMessage, { bytesMax, idleMsMax }: BodyLimits): AsyncGenerator<Buffer> {
  let size = 0;
  const timer = setTimeout(() => request.destroy(new BodyRefused("slow")), idleMsMax);
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      size += chunk.byteLength;
      if (size > bytesMax) throw new BodyRefused("too-large");
      yield chunk;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}
