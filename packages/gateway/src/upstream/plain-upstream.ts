import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";
import type { Upstream, UpstreamReply } from "./upstream.ts";

/** Asks for replies that are not compressed, and decompresses one that is compressed all the same. */
export const plainUpstream = (upstream: Upstream): Upstream => ({
  send: async (request) => {
    const headers = { ...request.headers, "accept-encoding": "identity" };
    const outcome = await upstream.send({ ...request, headers });
    return outcome.kind === "reply" ? decodeReply(outcome) : outcome;
  },
});

/** Returns the reply as it came if it can't be decoded. */
function decodeReply(reply: UpstreamReply): UpstreamReply {
  const { "content-encoding": encodings = "", "content-length": _length, ...headers } = reply.headers;
  const names = String(encodings)
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  const decoders = names.map((name) => decoderByName.get(name)).filter((one) => one !== undefined);
  if (names.length === 0 || names.length > encodingsMax || decoders.length < names.length) return reply;
  const body = decoders.reduceRight<AsyncIterable<Uint8Array>>(decode, reply.body);
  return { ...reply, headers, body };
}

/** Servers compress once. */
const encodingsMax = 2;

type CreateDecoder = (first: Uint8Array) => Transform;

const decoderByName: ReadonlyMap<string, CreateDecoder> = new Map<string, CreateDecoder>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  // Some servers leave out the head that the standard asks for.
  ["deflate", ([first = 0]) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress()],
]);

/** Yields events as the server flushed them. If the body breaks off, this throws like the body itself. */
async function* decode(body: AsyncIterable<Uint8Array>, create: CreateDecoder): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done === true) return;
  const decoder = create(first.value);
  const rest: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => chunks };
  async function* whole(head: Uint8Array): AsyncGenerator<Uint8Array, void> {
    yield head;
    yield* rest;
  }
  pipeline(Readable.from(whole(first.value)), decoder, () => undefined);
  try {
    yield* decoder;
  } finally {
    // A consumer that stops early ends the request at once, and not when its next bytes come.
    await chunks.return?.();
  }
}
