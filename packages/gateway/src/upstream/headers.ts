import type { IncomingHttpHeaders } from "node:http";

export type Headers = Record<string, string | string[]>;

/** They belong to one connection (RFC 9110, 7.6.1), or are written anew for the next one. */
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

/** The last two speak of the upstream's own address: a client must not take them for ours. */
const notReturned: ReadonlySet<string> = new Set([...connectionHeaders, "alt-svc", "strict-transport-security"]);

/** Headers of ours, such as the gateway's key, are for the gateway alone. */
const ownHeaderPrefix = "x-palimpsest-";

/** By which a gateway knows its own requests, if they lead back to it. */
export const hopHeader = "x-palimpsest-hop";

/** What a client sent, without what is for its connection to us. Everything unknown passes. */
export const forwardHeaders = (headers: IncomingHttpHeaders): Headers =>
  pick(headers, (name) => !notForwarded.has(name) && !name.startsWith(ownHeaderPrefix));

/** What an upstream sent, without what is for its connection to us. */
export const returnHeaders = (headers: IncomingHttpHeaders): Headers => pick(headers, (name) => !notReturned.has(name));

/** With values that the `anthropic-beta` header needs besides those that it has. */
export function addBetas(headers: Headers, betas: readonly string[]): Headers {
  if (betas.length === 0) return headers;
  const given = [headers["anthropic-beta"] ?? []].flat().flatMap((value) => value.split(",").map((one) => one.trim()));
  return { ...headers, "anthropic-beta": [...new Set([...given, ...betas])].filter((one) => one !== "").join(",") };
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
