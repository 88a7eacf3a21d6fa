import type { IncomingMessage } from "node:http";
import type { GatewayError } from "../exchange/error-reply.ts";

export interface Refusal {
  readonly error: GatewayError;
  readonly message: string;
}

export interface AllowedNames {
  /** Names of this server, in lower case and without a port: `127.0.0.1`, `[::1]`, `gateway.example.org`. */
  readonly hosts: ReadonlySet<string>;
  /** Pages whose scripts may send requests: `https://app.example.org`. */
  readonly origins: ReadonlySet<string>;
}

export const loopbackNames = ["127.0.0.1", "localhost", "[::1]"] as const;

/** Two servers could each use a different copy of these, so each may appear only once. */
const singleHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "authorization",
  "x-api-key",
  "x-palimpsest-key",
  "origin",
]);

/**
 * Protects against browsers: a web page can reach this address, and by DNS rebinding even read the answers, but it can't
 * forge Host or Origin. The HTTP parser has already rejected malformed headers.
 */
export function checkRequest(
  { headers, rawHeaders, httpVersion }: Pick<IncomingMessage, "headers" | "rawHeaders" | "httpVersion">,
  { hosts, origins }: AllowedNames,
): Refusal | undefined {
  if (httpVersion !== "1.1") return { error: "wrong-request", message: "Only HTTP/1.1 is supported." };
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const double = names.find((name, at) => singleHeaders.has(name) && names.indexOf(name) !== at);
  if (double !== undefined) return { error: "wrong-request", message: `The ${double} header appears twice.` };
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && (encoding.toLowerCase() !== "chunked" || headers["content-length"] !== undefined))
    return {
      error: "wrong-request",
      message: "A body must be sent either chunked or with a content-length.",
    };
  const host = headers.host?.toLowerCase().replace(/:\d{1,5}$/, "");
  if (host === undefined || !hosts.has(host))
    return { error: "forbidden", message: "Unknown Host header: use the address that the gateway prints." };
  const { origin } = headers;
  if (origin !== undefined && !origins.has(origin.toLowerCase()))
    return {
      error: "forbidden",
      message: "Requests from web pages are refused unless the config lists their Origin in `origins`.",
    };
  return undefined;
}

/** False if it came through a proxy on this machine, as far as the proxy's headers show. */
export function isOnThisMachine({ headers, socket }: Pick<IncomingMessage, "headers" | "socket">): boolean {
  const host = headers.host?.toLowerCase().replace(/:\d{1,5}$/, "");
  return (
    loopbackAddress.test(socket.remoteAddress ?? "") &&
    loopbackNames.some((name) => name === host) &&
    proxyHeaders.every((name) => headers[name] === undefined)
  );
}

const loopbackAddress = /^(?:::ffff:)?127\.|^::1$/;

const proxyHeaders = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/** Other upgrades are ignored: clients that offer HTTP/2 without TLS go on with HTTP/1.1, but a WebSocket client waits for an answer. */
export const asksForWebSocket = ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
  (headers.upgrade ?? "").toLowerCase().includes("websocket");
