import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { errorCode } from "palimpsest/internal/store/files/disk";
import type { GatewayListener } from "../operate/gateway-event.ts";
import {
  bodyMsMax,
  clientConnectionsMax,
  clientIdleMs,
  headBytesMax,
  headMsMax,
  malformedLingerMs,
  timeoutCheckMs,
} from "./limits.ts";

export interface HttpOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly listener: RequestListener;
  readonly onEvent: GatewayListener;
  readonly timeouts?: { readonly headMs?: number | undefined; readonly bodyMs?: number | undefined } | undefined;
}

export type HttpOutcome =
  | { readonly kind: "serving"; readonly url: string; readonly port: number; readonly server: Server }
  /** `code`: of the system, such as EADDRINUSE. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/** A server with strict parsing and a limit on everything. */
export async function serveHttp(options: HttpOptions): Promise<HttpOutcome> {
  const { host, port, tls, listener, onEvent, timeouts = {} } = options;
  const serverOptions: ServerOptions = {
    insecureHTTPParser: false,
    requireHostHeader: true,
    maxHeaderSize: headBytesMax,
    headersTimeout: timeouts.headMs ?? headMsMax,
    requestTimeout: timeouts.bodyMs ?? bodyMsMax,
    connectionsCheckingInterval: timeoutCheckMs,
    keepAliveTimeout: clientIdleMs,
  };
  const server = createFor(tls, { serverOptions, listener });
  server.maxConnections = clientConnectionsMax;
  server.on("clientError", (error, socket) => {
    const code = errorCode(error) ?? "unknown";
    onEvent({ kind: "malformed", code });
    if (!socket.writable || code === "ECONNRESET") return void socket.destroy();
    socket.end(`HTTP/1.1 ${statusByCode.get(code) ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`);
    // Don't wait for a client that keeps sending or doesn't read.
    setTimeout(() => socket.destroy(), malformedLingerMs).unref();
  });
  const failure = await listen(server, { host, port });
  if (failure !== undefined) return { kind: "failed", ...failure };
  const bound = boundPort(server.address());
  const name = anyAddress.get(host) ?? (host.includes(":") ? `[${host}]` : host);
  return { kind: "serving", url: `${tls === undefined ? "http" : "https"}://${name}:${bound}`, port: bound, server };
}

/** Every address of the machine, which is none that a client can connect to: this machine's own is. */
const anyAddress: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
]);

function createFor(
  tls: HttpOptions["tls"],
  { serverOptions, listener }: { readonly serverOptions: ServerOptions; readonly listener: RequestListener },
): Server {
  return tls === undefined
    ? createServer(serverOptions, listener)
    : createTlsServer({ ...serverOptions, ...tls, minVersion: "TLSv1.2" }, listener);
}

const statusByCode: ReadonlyMap<string, string> = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "413 Payload Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

const listen = (
  server: Server,
  where: { readonly host: string; readonly port: number },
): Promise<{ readonly code: string; readonly message: string } | undefined> =>
  new Promise((resolve) => {
    const fail = (error: Error): void => resolve({ code: errorCode(error) ?? "unknown", message: error.message });
    server.once("error", fail);
    server.listen(where, () => {
      server.off("error", fail);
      resolve(undefined);
    });
  });

const boundPort = (address: AddressInfo | string | null): number =>
  typeof address === "object" && address !== null ? address.port : 0;
