import type { IncomingMessage } from "node:http";
import type { OwnError } from "../exchange/error-reply.ts";

export interface Refusal {
  readonly error: OwnError;
  readonly message: string;
}

export interface AllowedNames {
  /** Names of this server, in lower case and without a port: `127.0.0.1`, `[::1]`, `gateway.example.org`. */
  readonly hosts: ReadonlySet<string>;
  /** Pages whose scripts may send requests: `https://app.example.org`. */
  readonly origins: ReadonlySet<string>;
}

export const loopbackNames = ["127.0.0.1", "localhost", "[::1]"] as const;

/** If there are two of them, two servers may each take another. */
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
 * A page in a browser can reach this address, and by a name of its own that leads here even read the answers. It can change
 * neither Host nor Origin. The parser has refused malformed heads before.
 */
export function checkRequest(
  { headers, rawHeaders, httpVersion }: Pick<IncomingMessage, "headers" | "rawHeaders" | "httpVersion">,
  { hosts, origins }: AllowedNames,
): Refusal | undefined {
  if (httpVersion !== "1.1") return { error: "wrong-request", message: "Speak HTTP/1.1." };
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const double = names.find((name, at) => singleHeaders.has(name) && names.indexOf(name) !== at);
  if (double !== undefined) return { error: "wrong-request", message: `The header ${double} stands there twice.` };
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && (encoding.toLowerCase() !== "chunked" || headers["content-length"] !== undefined))
    return { error: "wrong-request", message: "A body is either chunked or has a content-length." };
  const host = headers.host?.toLowerCase().replace(/:\d{1,5}$/, "");
  if (host === undefined || !hosts.has(host))
    return { error: "forbidden", message: "This Host is not served here: use the address that the gateway prints." };
  const { origin } = headers;
  if (origin !== undefined && !origins.has(origin.toLowerCase()))
    return { error: "forbidden", message: "Requests of web pages (Origin) are refused unless the config allows them." };
  return undefined;
}

/** Not if it came through a proxy on this machine, as far as the proxy shows itself. */
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

/** HTTP/2 without TLS is offered by some clients, who go on if nobody answers; a WebSocket client waits. */
export const asksForWebSocket = ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
  (headers.upgrade ?? "").toLowerCase().includes("websocket");
