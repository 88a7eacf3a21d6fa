import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { shortHash } from "../prompt/canonical-block.ts";
import type { RecordedRequest } from "./cassette.ts";
import { comparedCassettesMax, recordedBodyBytesMax } from "../limits.ts";
import { textDifference } from "../trace/block-change.ts";
import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import type { Connection } from "../http/event-body.ts";
import { requestContent } from "./request-content.ts";
import { pickRequestHeaders } from "./credentials.ts";
import { createMasker } from "./masker.ts";
import { type BodySource, readBody } from "../http/read-body.ts";

/** What two requests are compared by. */
export interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

type MaskedRequest = Pick<RecordedRequest, "method" | "path" | "body">;

/** A masked request without what differs from run to run. */
export function toComparable({ method, path, body }: MaskedRequest): Comparable {
  const [place = "", query] = path.split(/\?(.*)/s);
  const sorted = query === undefined ? "" : `?${query.split("&").toSorted().join("&")}`;
  return { method, path: `${place}${sorted}`, body: comparableBody(body) };
}

/**
 * The same for the same request: the order of fields and the kind of a masked secret do not matter, the order of lists
 * does.
 */
export const requestKey = ({ method, path, body }: Comparable): string =>
  shortHash(withoutSecretKinds(JSON.stringify([method, path, sortJson(body)])));

/**
 * A key that a header revealed and one that a rule found by the name before it are masked as different kinds, but are
 * the same key.
 */
const withoutSecretKinds = (masked: string): string => masked.replaceAll(/\[secret: [a-z-]+\]/g, "[secret]");

function comparableBody(body: MaskedRequest["body"]): Json {
  if (body === null) return null;
  if (!("json" in body)) return "text" in body ? body.text : body.base64;
  return isObject(body.json) ? withoutVolatile(body.json) : body.json;
}

/** Sent for statistics and routing: two runs of one program differ only in them. */
const volatileFields: ReadonlySet<string> = new Set(["user", "safety_identifier", "prompt_cache_key"]);

function withoutVolatile(body: { readonly [name: string]: Json }): Json {
  const stable = Object.entries(body).filter(([name]) => !volatileFields.has(name));
  return Object.fromEntries(
    stable.flatMap(([name, value]) => (name === "metadata" ? withoutUser(value) : [[name, value]])),
  );
}

/** Metadata that only names the user counts as absent. */
function withoutUser(metadata: Json): readonly (readonly [string, Json])[] {
  if (!isObject(metadata)) return [["metadata", metadata]];
  const { user_id: _, ...rest } = metadata;
  return Object.keys(rest).length === 0 ? [] : [["metadata", rest]];
}

function sortJson(value: Json): Json {
  if (isArray(value)) return value.map((item) => sortJson(item));
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  // A list of pairs: an object would put numeric names first and lose `__proto__`.
  return { "": names.map((name) => [name, sortJson(value[name] ?? null)]) };
}

interface Candidate {
  readonly file: string;
  readonly request: Comparable;
}

/** The message for a client whose request was not recorded. */
export function formatMiss(request: Comparable, candidates: readonly Candidate[]): string {
  const what = `No cassette answers ${request.method} ${request.path}.`;
  const nearest = findNearest(request, candidates);
  if (nearest === undefined) return `${what} ${listRecordedEndpoints(candidates)}`;
  const { path, recorded, now } = findDifferences(nearest.request.body, request.body).next().value ?? noDifference;
  return `${what} The nearest is ${nearest.file}; the first difference is at ${path}: ${formatDifference(recorded, now)}.`;
}

function listRecordedEndpoints(candidates: readonly Candidate[]): string {
  const places = [...new Set(candidates.map(({ request }) => `${request.method} ${request.path}`))];
  if (places.length === 0) return "The folder holds none at all.";
  const more = places.length > placesShownMax ? ` and ${places.length - placesShownMax} more` : "";
  return `Recorded: ${places.slice(0, placesShownMax).join(", ")}${more}.`;
}

const placesShownMax = 5;

/** The fewest differences, then the most text in common where they differ; among equals the one recorded first. */
function findNearest(missed: Comparable, candidates: readonly Candidate[]): Candidate | undefined {
  const sameEndpoint = candidates.filter(
    ({ request }) => request.method === missed.method && request.path === missed.path,
  );
  let best: (Distance & { readonly candidate: Candidate }) | undefined;
  for (const candidate of sameEndpoint.slice(-comparedCassettesMax)) {
    const differences = findDifferences(candidate.request.body, missed.body);
    const distance = measureDistance(differences, best?.count ?? Number.POSITIVE_INFINITY);
    if (best === undefined || isNearer(distance, best)) best = { candidate, ...distance };
  }
  return best?.candidate;
}

interface Distance {
  readonly count: number;
  readonly sharedChars: number;
}

const isNearer = (one: Distance, other: Distance): boolean =>
  one.count === other.count ? one.sharedChars > other.sharedChars : one.count < other.count;

/** Counts no further than what can decide. */
function measureDistance(differences: Iterable<Difference>, countMax: number): Distance {
  let count = 0;
  let sharedChars = 0;
  for (const { recorded, now } of differences) {
    count += 1;
    if (count > countMax) break;
    if (typeof recorded === "string" && typeof now === "string") sharedChars += countSharedChars(recorded, now);
  }
  return { count, sharedChars };
}

/** At the beginning and at the end of both. */
function countSharedChars(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let start = 0;
  while (start < length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < length - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return start + end;
}

interface Difference {
  readonly path: string;
  readonly recorded: Json | undefined;
  readonly now: Json | undefined;
}

const noDifference: Difference = { path: "body", recorded: undefined, now: undefined };

/** Leaf by leaf, in the order of the recorded fields, new fields after them. */
function* findDifferences(
  recorded: Json | undefined,
  now: Json | undefined,
  path = "",
): Generator<Difference, undefined> {
  if (isArray(recorded) && isArray(now)) {
    for (let at = 0; at < Math.max(recorded.length, now.length); at += 1)
      yield* findDifferences(recorded[at], now[at], childPath(path, String(at)));
  } else if (isObject(recorded) && isObject(now)) {
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(now)]))
      yield* findDifferences(recorded[name], now[name], childPath(path, name));
  } else if (recorded !== now && !isSameMasked(recorded, now)) {
    yield { path: path === "" ? noDifference.path : path, recorded, now };
  }
}

const isSameMasked = (one: Json | undefined, other: Json | undefined): boolean =>
  typeof one === "string" && typeof other === "string" && withoutSecretKinds(one) === withoutSecretKinds(other);

const childPath = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function formatDifference(recorded: Json | undefined, now: Json | undefined): string {
  const difference = textDifference(formatValue(recorded), formatValue(now));
  if (difference === undefined) return "nothing that can be shown";
  const { before, old, now: next, after } = difference;
  return `recorded ${before}${old}${after}, asked ${before}${next}${after}`;
}

const formatValue = (value: Json | undefined): string => (value === undefined ? "nothing" : JSON.stringify(value));

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
