import type { IncomingHttpHeaders } from "node:http";

export type Headers = Record<string, string | string[]>;

/** Headers that belong to one connection (RFC 9110, 7.6.1) or are rewritten for the next. */
const connectionHeaders = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const notForwarded: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  "host",
  "content-length",
  "expect",
  // HTTP/2 by another name: undici has its own.
  "http2-settings",
]);

/** The last two are about the upstream's address and must not be applied to the gateway's. */
const notReturned: ReadonlySet<string> = new Set([...connectionHeaders, "alt-svc", "strict-transport-security"]);

/** The gateway's own headers, such as its key, never go upstream. */
const gatewayHeaderPrefix = "x-palimpsest-";

/** Lets a gateway recognise its own requests if they loop back to it. */
export const hopHeader = "x-palimpsest-hop";

/** The client's headers without those of its connection. Unknown headers pass. */
export const forwardHeaders = (headers: IncomingHttpHeaders): Headers =>
  pick(headers, (name) => !notForwarded.has(name) && !name.startsWith(gatewayHeaderPrefix));

/** The upstream's headers without those of its connection. */
export const returnHeaders = (headers: IncomingHttpHeaders): Headers => pick(headers, (name) => !notReturned.has(name));

/** Adds values to the `anthropic-beta` header. */
export function addBetas(headers: Headers, betas: readonly string[]): Headers {
  if (betas.length === 0) return headers;
  return { ...headers, "anthropic-beta": [...new Set([...readBetas(headers), ...betas])].join(",") };
}

/** The values of the `anthropic-beta` header. */
export function readBetas({ "anthropic-beta": betas = [] }: IncomingHttpHeaders): readonly string[] {
  const values = [betas].flat().flatMap((value) => value.split(","));
  return values.map((value) => value.trim()).filter((value) => value !== "");
}

/** Whether a reply comes event by event. */
export const isStream = (headers: Headers): boolean => String(headers["content-type"] ?? "").includes("event-stream");

function pick(headers: IncomingHttpHeaders, isKept: (name: string) => boolean): Headers {
  const listed = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const kept: Headers = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && isKept(name) && !listed.has(name)) kept[name] = value;
  return kept;
}
