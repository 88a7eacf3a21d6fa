import type { LookupAddress } from "node:dns";
import { request as requestHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type LookupFunction, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorCode } from "../../error-code.ts";
import { bareHost } from "./check-addresses.ts";
import type { HostTarget } from "./session-hosts.ts";
import { proxyConnectMs, proxyIdleMs } from "./limits.ts";

interface CheckedTarget {
  readonly target: HostTarget;
  /** The checked addresses: nothing else is connected to. */
  readonly addresses: readonly LookupAddress[];
}

interface TunnelInput extends CheckedTarget {
  /** The program's connection. */
  readonly socket: Duplex;
  /** Bytes that it has sent after its request. */
  readonly head: Buffer;
  readonly watch: (upstream: Socket) => void;
}

/** Connects the program with the host. From then on bytes pass in both directions uninspected. */
export function openTunnel({ socket, head, target, addresses, watch }: TunnelInput): void {
  const upstream = connect({
    host: bareHost(target.host),
    port: target.port,
    lookup: lookupFrom(addresses),
    allowHalfOpen: true,
  });
  watch(upstream);
  let isConnected = false;
  const timer = setTimeout(() => upstream.destroy(new Error("no answer in time")), proxyConnectMs);
  upstream.once("connect", () => {
    isConnected = true;
    clearTimeout(timer);
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.write(head);
    upstream.setTimeout(proxyIdleMs, () => upstream.destroy());
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  upstream.once("error", (error) => {
    if (!isConnected && !socket.destroyed) socket.end(badGateway(target, error));
  });
  upstream.once("close", () => {
    clearTimeout(timer);
    if (isConnected) socket.destroy();
  });
  socket.once("close", () => upstream.destroy());
}

interface ForwardInput extends CheckedTarget {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/** The host is taken from the address: the program's `Host` header is not forwarded. */
export function forwardRequest({ request, response, url, target, addresses }: ForwardInput): void {
  const outgoing = requestHttp({
    method: request.method,
    host: bareHost(target.host),
    port: target.port,
    path: `${url.pathname}${url.search}`,
    headers: [...endToEnd(request.rawHeaders), "host", url.host, "connection", "close"],
    lookup: lookupFrom(addresses),
    // A new connection: one that is kept open may lead to where the name led before.
    agent: false,
    timeout: proxyIdleMs,
  });
  outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time")));
  outgoing.once("response", (answer) => {
    const { statusCode = 502, statusMessage, rawHeaders } = answer;
    response.writeHead(statusCode, statusMessage, endToEnd(rawHeaders));
    answer.pipe(response);
    answer.once("error", () => response.destroy());
  });
  outgoing.once("error", (error) => {
    if (response.headersSent || response.destroyed) response.destroy();
    else response.writeHead(502, { "content-type": "text/plain" }).end(unreachableText(target, error));
  });
  // The host switches to another protocol, which was not requested.
  outgoing.once("upgrade", (_answer, socket) => socket.destroy());
  response.once("close", () => outgoing.destroy());
  request.pipe(outgoing);
}

function lookupFrom(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, answer) => {
    const [first] = addresses;
    if (all === true) answer(null, [...addresses]);
    else answer(null, first?.address ?? "", first?.family);
  };
}

/** Without headers of the connection (RFC 9110, 7.6.1) and of the proxy. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as const] : []));
  const named = pairs.flatMap(([name, value]) =>
    name.toLowerCase() === "connection" ? value.split(",").map((one) => one.trim().toLowerCase()) : [],
  );
  const dropped = new Set([...hopByHop, ...named]);
  return pairs.flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}

const hopByHop: readonly string[] = [
  "connection",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const unreachableText = ({ host, port }: HostTarget, error: Error): string =>
  `palimpsest: ${host}:${port} is not reached: ${errorCode(error) ?? error.message}`;

function badGateway(target: HostTarget, error: Error): string {
  const why = unreachableText(target, error);
  return `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(why)}\r\nconnection: close\r\n\r\n${why}`;
}
