import { oneLine } from "palimpsest/internal/text/to-printable";
import { timingSafeEqual } from "node:crypto";
import type { LookupAddress } from "node:dns";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as requestHttp,
} from "node:http";
import { type Socket, connect, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import type { Net } from "../../web/get-page.ts";
import { parseHost } from "../../permission/rule.ts";
import { bareHost, checkAddresses, isAddress, type HostAccess, type HostTarget } from "./session-hosts.ts";
import {
  proxyConnectMs,
  proxyHeaderBytesMax,
  proxyHeadersMs,
  refusalCharsMax,
  refusalsKeptMax,
  proxyIdleMs,
} from "../limits.ts";
import { proxyConnectionsMax } from "./carrier.ts";
import { errorCode } from "../../error-code.ts";

export interface ProxyDeps {
  readonly net: Net;
  readonly hosts: HostAccess;
}

interface ProxyOptions {
  /** Required in each request: for an address at which every user of the machine can connect. */
  readonly token?: string;
}

export interface Refusal extends HostTarget {
  readonly why: string;
}

/**
 * An HTTP proxy for the programs of one command: CONNECT, and plain requests. A refused request is answered with 403
 * and a line that says why. It does not look into tunnels.
 */
export class CommandProxy {
  readonly #deps: ProxyDeps;
  readonly #token: string | undefined;
  readonly #server: Server;
  readonly #streams = new Set<Duplex>();
  readonly #timerByConnection = new Map<Duplex, NodeJS.Timeout>();
  #connections = 0;
  readonly #ended = new AbortController();
  readonly #refusals = new Map<string, Refusal>();

  constructor(deps: ProxyDeps, { token }: ProxyOptions = {}) {
    this.#deps = deps;
    this.#token = token;
    this.#server = createServer({ maxHeaderSize: proxyHeaderBytesMax });
    this.#server.on("connect", (request, socket, head) => void this.#connect({ request, socket, head }));
    this.#server.on("request", (request, response) => void this.#forward(request, response));
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Takes a program's connection, over any transport. Excess connections are ended. */
  accept(connection: Duplex): void {
    if (this.#ended.signal.aborted || this.#connections >= proxyConnectionsMax) {
      connection.destroy();
      return;
    }
    this.#connections += 1;
    this.#watch(connection);
    this.#timerByConnection.set(
      connection,
      setTimeout(() => connection.destroy(), proxyHeadersMs),
    );
    connection.once("close", () => {
      this.#stopTimer(connection);
      this.#connections -= 1;
    });
    this.#server.emit("connection", connection);
  }

  /** Refusals so far, each host and reason once, oldest first; beyond the limit only the first ones. */
  refusals(): readonly Refusal[] {
    return [...this.#refusals.values()];
  }

  /** Ends every connection and aborts pending decisions. */
  close(): void {
    this.#ended.abort();
    for (const stream of this.#streams) stream.destroy();
  }

  #watch(stream: Duplex): void {
    this.#streams.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => this.#streams.delete(stream));
  }

  /** From now on only the command's own time limit applies: the user may be asked. */
  #stopTimer(connection: Duplex): void {
    clearTimeout(this.#timerByConnection.get(connection));
    this.#timerByConnection.delete(connection);
  }

  async #connect({
    request,
    socket,
    head,
  }: {
    readonly request: IncomingMessage;
    readonly socket: Duplex;
    readonly head: Buffer;
  }): Promise<void> {
    this.#stopTimer(socket);
    const route = this.#isUnknown(request) ? needsToken : await this.#route(connectTarget(request.url ?? ""));
    if (socket.destroyed) return;
    if (route.kind === "answer") {
      socket.end(rawAnswer(route));
      return;
    }
    openTunnel({ socket, head, ...route, watch: (upstream: Socket) => this.#watch(upstream) });
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#stopTimer(request.socket);
    const url = plainUrl(request.url ?? "");
    const route = this.#isUnknown(request)
      ? needsToken
      : url === undefined
        ? notPlain
        : await this.#route(urlTarget(url));
    if (response.destroyed) return;
    if (route.kind === "route" && url !== undefined) {
      forwardRequest({ request, response, url, ...route });
      return;
    }
    const { status, why, headers } = route.kind === "answer" ? route : notPlain;
    // The rest of the request is not read, so the connection can't be reused.
    response.writeHead(status, reasonPhrase(why), { ...textHeaders(why), ...headers, connection: "close" });
    response.end(why);
  }

  #isUnknown(request: IncomingMessage): boolean {
    if (this.#token === undefined) return false;
    const presented = Buffer.from(request.headers["proxy-authorization"] ?? "");
    const expected = Buffer.from(`Basic ${Buffer.from(`${proxyUser}:${this.#token}`).toString("base64")}`);
    return presented.length !== expected.length || !timingSafeEqual(presented, expected);
  }

  async #route(target: HostTarget | undefined): Promise<Route | Answer> {
    if (target === undefined) return { kind: "answer", status: 400, why: "palimpsest: this is no host and port" };
    const { net, hosts } = this.#deps;
    const { signal } = this.#ended;
    const answer = await hosts.decide(target, signal);
    if (answer.kind === "refused") return this.#refuse(target, answer.why);
    const found = await this.#lookUp(target.host);
    if (found === undefined) return unreachableAnswer(target, "its name can't be looked up");
    const checked = checkAddresses(
      { host: target.host, addresses: found },
      { mayConnect: net.mayConnect, isNamed: (host) => hosts.isNamed(host) },
    );
    if (checked.kind === "refused") return this.#refuse(target, checked.why);
    return { kind: "route", target, addresses: checked.addresses };
  }

  /** Undefined: there is no such name, or no answer in time. */
  async #lookUp(host: string): Promise<readonly LookupAddress[] | undefined> {
    const hostName = bareHost(host);
    if (isAddress(host)) return [{ address: hostName, family: hostName.includes(":") ? 6 : 4 }];
    const timeout = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => timeout.resolve(undefined), proxyConnectMs);
    const found = this.#deps.net.resolve(hostName).catch(() => undefined);
    return Promise.race([found, timeout.promise]).finally(() => clearTimeout(timer));
  }

  #refuse(target: HostTarget, reason: string): Answer {
    const why = oneLine(reason).slice(0, refusalCharsMax);
    const key = `${target.host}:${target.port} ${why}`;
    if (!this.#ended.signal.aborted && this.#refusals.size < refusalsKeptMax)
      this.#refusals.set(key, { ...target, why });
    return { kind: "answer", status: 403, why: `palimpsest: no connection to ${target.host}: ${why}` };
  }
}

/** The user name that goes with the token: programs write both into the proxy's address. */
export const proxyUser = "palimpsest";

interface Route {
  readonly kind: "route";
  readonly target: HostTarget;
  readonly addresses: readonly LookupAddress[];
}

interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly why: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const needsToken: Answer = {
  kind: "answer",
  status: 407,
  why: "palimpsest: this proxy belongs to another program",
  headers: { "proxy-authenticate": "Basic" },
};

const notPlain: Answer = {
  kind: "answer",
  status: 400,
  why: "palimpsest: the proxy takes CONNECT, and requests for addresses that begin with http://",
};

const unreachableAnswer = ({ host }: HostTarget, why: string): Answer => ({
  kind: "answer",
  status: 502,
  why: `palimpsest: ${host} is not reached: ${why}`,
});

function plainUrl(written: string): URL | undefined {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  return url?.protocol === "http:" ? url : undefined;
}

/** Parses `host:port`, normalised as rules compare it: `2130706433` is 127.0.0.1. */
function connectTarget(authority: string): HostTarget | undefined {
  const [, name = "", port = ""] = /^([^@/?#\\\s]+):(\d{1,5})$/.exec(authority) ?? [];
  const host = name === "" ? undefined : parseHost(`http://${name}`);
  return host === undefined || Number(port) > portMax || new URL(`http://${name}`).port !== ""
    ? undefined
    : { host, port: Number(port) };
}

function urlTarget(url: URL): HostTarget | undefined {
  const host = parseHost(url.href);
  // Programs differ on whether a name before an @ is the host.
  if (host === undefined || url.username !== "" || url.password !== "") return undefined;
  return { host, port: url.port === "" ? 80 : Number(url.port) };
}

const portMax = 65_535;

/** Characters allowed in a status line: some programs show nothing else. */
const reasonPhrase = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?");

const textHeaders = (text: string): Readonly<Record<string, string>> => ({
  "content-type": "text/plain; charset=utf-8",
  "content-length": String(Buffer.byteLength(text)),
});

function rawAnswer({ status, why, headers = {} }: Answer): string {
  const lines = Object.entries({ ...textHeaders(why), ...headers, connection: "close" });
  return [
    `HTTP/1.1 ${status} ${reasonPhrase(why)}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    "",
    why,
  ].join("\r\n");
}

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
function openTunnel({ socket, head, target, addresses, watch }: TunnelInput): void {
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
function forwardRequest({ request, response, url, target, addresses }: ForwardInput): void {
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
