import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import type { Connection } from "../http/event-body.ts";
import { requestContent } from "./request-content.ts";
import { pickRequestHeaders } from "./credentials.ts";
import type { RecordedRequest } from "./cassette.ts";
import { createMasker } from "./masker.ts";
import { type Comparable, toComparable, requestKey } from "./request-key.ts";
import { recordedBodyBytesMax } from "../limits.ts";
import { type BodySource, readBody } from "../http/read-body.ts";

/** A request as it may be kept. Recorder and player build it alike, so that they recognise the same request. */
export interface RecordableRequest {
  readonly kind: "asked";
  readonly recorded: RecordedRequest;
  readonly compared: Comparable;
  /** As they were sent, for the upstream. */
  readonly bytes: Uint8Array;
}

interface RecordableRequestInput {
  readonly request: Request;
  readonly connection: Connection;
  readonly mask: MaskText;
  /** Known secrets: those of the request's own headers, and others that the caller has seen. */
  readonly credentials: readonly string[];
}

export async function readRecordableRequest({
  request,
  connection,
  mask,
  credentials,
}: RecordableRequestInput): Promise<RecordableRequest | { readonly kind: "too-large" }> {
  const { method, headers } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  const read = await readBytes({ body: hasBody ? (connection.incoming ?? request.body) : null, headers });
  if (read.kind === "too-large") return read;
  const masker = createMasker({ mask, credentials });
  const content = requestContent(read.unpacked);
  const { pathname, search } = new URL(request.url);
  const masked = {
    method,
    path: masker.path(`${pathname}${search}`),
    body: content === null ? null : masker.content(content),
  };
  const compared = toComparable(masked);
  const headersKept = Object.entries(pickRequestHeaders(headers)).map(
    ([name, value]) => [name, masker.text(value)] as const,
  );
  const { body, ...line } = masked;
  const recorded = { ...line, key: requestKey(compared), headers: Object.fromEntries(headersKept), body };
  return { kind: "asked", recorded, compared, bytes: read.bytes };
}

type ReadBytesOutcome =
  | {
      readonly kind: "bytes";
      readonly bytes: Uint8Array;
      /** Decompressed, if the client used a known encoding. */
      readonly unpacked: Uint8Array;
    }
  | { readonly kind: "too-large" };

/** Reads the whole body as it was sent. Never holds more of it in memory than may pass through the recorder. */
async function readBytes({ body, headers }: BodySource): Promise<ReadBytesOutcome> {
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
