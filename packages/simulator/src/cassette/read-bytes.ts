import { recordedBodyBytesMax } from "../limits.ts";
import type { BodySource } from "../http/body.ts";
import { readBody } from "../http/body.ts";

export type BytesRead =
  | {
      readonly kind: "bytes";
      readonly bytes: Uint8Array;
      /** Unpacked, where the client packed them in a way that is known. */
      readonly unpacked: Uint8Array;
    }
  | { readonly kind: "too-large" };

/** The whole body as it was sent, and never more of it in memory than passes through the recorder. */
export async function readBytes({ body, headers }: BodySource): Promise<BytesRead> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > recordedBodyBytesMax) return { kind: "too-large" };
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (!headers.has("content-encoding")) return { kind: "bytes", bytes, unpacked: bytes };
  const read = await readBody({ body: once(bytes), headers });
  return { kind: "bytes", bytes, unpacked: read.kind === "text" ? Buffer.from(read.text, "utf8") : bytes };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
