import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import type { Connection } from "../http/connection.ts";
import { requestContent } from "./content.ts";
import { keptRequestHeaders } from "./headers.ts";
import type { RecordedRequest } from "./line.ts";
import { createMasker } from "./mask.ts";
import { readBytes } from "./read-bytes.ts";
import { type Comparable, comparable, requestKey } from "./request-key.ts";

/** A request as it may be kept: recorder and player make it alike, so that they recognise the same one. */
export interface AskedRequest {
  readonly kind: "asked";
  readonly recorded: RecordedRequest;
  readonly compared: Comparable;
  /** As they were sent, for the upstream. */
  readonly bytes: Uint8Array;
}

export interface Asking {
  readonly request: Request;
  readonly connection: Connection;
  readonly mask: MaskText;
  /** Secrets that are known as such: those of the request's own headers, and what else the caller has seen. */
  readonly credentials: readonly string[];
}

export async function askedRequest({
  request,
  connection,
  mask,
  credentials,
}: Asking): Promise<AskedRequest | { readonly kind: "too-large" }> {
  const { method, headers } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  const read = await readBytes({ body: hasBody ? (connection.incoming ?? request.body) : null, headers });
  if (read.kind === "too-large") return read;
  const masker = createMasker({ mask, credentials });
  const content = requestContent(read.unpacked);
  const { pathname, search } = new URL(request.url);
  const asked = {
    method,
    path: masker.path(`${pathname}${search}`),
    body: content === null ? null : masker.content(content),
  };
  const compared = comparable(asked);
  const kept = Object.entries(keptRequestHeaders(headers)).map(([name, value]) => [name, masker.text(value)] as const);
  const { body, ...line } = asked;
  const recorded = { ...line, key: requestKey(compared), headers: Object.fromEntries(kept), body };
  return { kind: "asked", recorded, compared, bytes: read.bytes };
}
