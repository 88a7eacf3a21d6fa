import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { bodyBytesMax } from "../limits.ts";
import { type Refusal, refusal } from "../refusal.ts";

export interface BodySource {
  /** A web stream, or the server's own, which is faster. */
  readonly body: AsyncIterable<Uint8Array> | null;
  readonly headers: Headers;
}

type ReadBodyOutcome = { readonly kind: "text"; readonly text: string } | Refusal;

/** Reads the whole body as text. Never holds more of it in memory than the API accepts. */
export async function readBody({ body, headers }: BodySource): Promise<ReadBodyOutcome> {
  if (Number(headers.get("content-length") ?? 0) > bodyBytesMax) return tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the stream: the rest is not read.
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > bodyBytesMax) return tooLarge();
    chunks.push(chunk);
  }
  const decoded = await decodeBody(Buffer.concat(chunks), headers.get("content-encoding") ?? "identity");
  if (!(decoded instanceof Uint8Array)) return decoded;
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(decoded) };
  } catch {
    return refusal("invalid_request_error", "The request body is not valid UTF-8");
  }
}

const tooLarge = (): Refusal =>
  refusal("request_too_large", `Request exceeds the maximum allowed number of bytes: ${bodyBytesMax}`);

const decoders = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

async function decodeBody(bytes: Uint8Array, encoding: string): Promise<Uint8Array | Refusal> {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return bytes;
  if (!isDecoder(name)) {
    return refusal("invalid_request_error", `Content-Encoding ${JSON.stringify(encoding)} is not supported`, {
      errorCode: "request_body_encoding_unsupported",
    });
  }
  try {
    return await decoders[name](bytes, { maxOutputLength: bodyBytesMax });
  } catch (error) {
    const isOver = error instanceof RangeError;
    return isOver
      ? { ...tooLarge(), errorCode: "request_body_too_large_after_decoding" }
      : refusal("invalid_request_error", `The request body is not valid ${name}`, {
          errorCode: "request_body_encoding_invalid",
        });
  }
}

const isDecoder = (name: string): name is keyof typeof decoders => Object.hasOwn(decoders, name);
