import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  httpBodyBytesMax,
  httpClientsMax,
  httpConnectionsMax,
  httpIdleMs,
  httpLookMs,
  httpTokenCharsMin,
} from "./limits.ts";

export interface McpHttpOptions {
  /** Called for each client: a server serves one. */
  readonly createServer: () => Promise<McpServer>;
  /** Clients send it as `Authorization: Bearer …`. At least 32 characters. */
  readonly token: string;
  /** By default any that is free. */
  readonly port?: number | undefined;
  /** By default 127.0.0.1: nobody outside of this machine. */
  readonly host?: string | undefined;
  /** Names in the header Host beside the address itself, with their port, if there is a proxy: `mcp.example.org`. */
  readonly allowedHosts?: readonly string[] | undefined;
}

export type McpHttpOutcome =
  | {
      readonly kind: "serving";
      readonly url: string;
      /** Ends every client, then the server. */
      readonly close: () => Promise<void>;
    }
  /** `code`: of the system, such as EADDRINUSE. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

/**
 * Streamable HTTP at `/mcp`. A request passes these checks, in this order:
 *
 *   Host is ours (403) → no Origin of a page of another (403) → path (404) → token (401) → client known (404) → transport
 *
 *   absent ──initialize──▶ open ──DELETE, idle, close──▶ absent
 */
export async function serveMcpHttp(options: McpHttpOptions): Promise<McpHttpOutcome> {
  if (options.token.length < httpTokenCharsMin)
    throw new TypeError(`The token needs at least ${httpTokenCharsMin} characters.`);
  const clients = new HttpClients(options.createServer);
  const http = createHttpServer((request, response) => {
    const { address, port } = listeningAddress(http);
    const refusal = checkRequest(request, { ...options, origins: ownNames(address, port) });
    if (refusal !== undefined) return refuse(response, refusal);
    clients.handle(request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else refuse(response, { status: 500, message: "The request failed." });
    });
  });
  http.maxConnections = httpConnectionsMax;
  const failure = await listen(http, { port: options.port ?? 0, host: options.host ?? "127.0.0.1" });
  if (failure !== undefined) return failure;
  const { address, port } = listeningAddress(http);
  const look = setInterval(() => void clients.endIdle(), httpLookMs);
  look.unref();
  return {
    kind: "serving",
    url: `http://${address.includes(":") ? `[${address}]` : address}:${port}/mcp`,
    close: async () => {
      clearInterval(look);
      const closed = new Promise<void>((resolve) => {
        http.close(() => resolve());
      });
      await clients.endAll();
      http.closeAllConnections();
      await closed;
    },
  };
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

interface CheckInput extends Pick<McpHttpOptions, "token" | "allowedHosts"> {
  /** Names with the port. */
  readonly origins: readonly string[];
}

/**
 * A page in a browser can reach this address, and by a name of its own that leads here even read the answers. It can
 * change neither Host nor Origin.
 */
export function checkRequest(
  { headers, url = "/" }: Pick<IncomingMessage, "headers" | "url">,
  { token, allowedHosts = [], origins }: CheckInput,
): Refusal | undefined {
  const { host, origin, authorization } = headers;
  const names = [...origins, ...allowedHosts.map((name) => name.toLowerCase())];
  if (host === undefined || !names.includes(host.toLowerCase()))
    return {
      status: 403,
      message: "This Host is not served here: use the address that `palimpsest mcp --http` prints.",
    };
  if (
    origin !== undefined &&
    !names.some((name) => [`http://${name}`, `https://${name}`].includes(origin.toLowerCase()))
  )
    return { status: 403, message: "Requests of other pages (Origin) are refused." };
  if (url.split("?")[0] !== "/mcp") return { status: 404, message: "The server is at /mcp." };
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  return isSame(given, token)
    ? undefined
    : { status: 401, message: "Send the token: `Authorization: Bearer <token>`." };
}

/** Takes the same time wherever they differ. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(hash(one), hash(other));
const hash = (text: string): Buffer => createHash("sha256").update(text).digest();

const loopback = new Set(["127.0.0.1", "::1"]);

const ownNames = (address: string, port: number): readonly string[] => {
  const names = loopback.has(address) ? ["127.0.0.1", "localhost", "[::1]"] : [];
  return [...names, address.includes(":") ? `[${address}]` : address].map((name) => `${name}:${port}`);
};

function refuse(response: ServerResponse, { status, message }: Refusal): void {
  response.writeHead(status, {
    "content-type": "application/json",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
  });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}

interface HttpClient {
  readonly server: McpServer;
  readonly transport: StreamableHTTPServerTransport;
  requests: number;
  usedAt: number;
}

/** The clients of one server, by the ids that they were given. */
class HttpClients {
  readonly #createServer: McpHttpOptions["createServer"];
  readonly #clientById = new Map<string, HttpClient>();
  #opening = 0;

  constructor(createServer: McpHttpOptions["createServer"]) {
    this.#createServer = createServer;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? this.#clientById.get(id) : undefined;
    if (known !== undefined) return await this.#pass(known, { request, response });
    // The protocol's way to say: begin anew.
    if (id !== undefined)
      return refuse(response, { status: 404, message: "This session has ended: initialize again." });
    if (request.method !== "POST") return refuse(response, { status: 400, message: "Begin with initialize, by POST." });
    if (this.#clientById.size + this.#opening >= httpClientsMax) await this.endIdle();
    if (this.#clientById.size + this.#opening >= httpClientsMax)
      return refuse(response, { status: 503, message: `${httpClientsMax} clients are connected: try again later.` });
    await this.#open(request, response);
  }

  async endIdle(): Promise<void> {
    const last = Date.now() - httpIdleMs;
    await this.#end([...this.#clientById].filter(([, { requests, usedAt }]) => requests === 0 && usedAt < last));
  }

  async endAll(): Promise<void> {
    await this.#end([...this.#clientById]);
  }

  /** A client that does not begin with `initialize` is answered by the transport and forgotten. */
  async #open(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#opening += 1;
    try {
      const server = await this.#createServer();
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        maxRequestBodySize: httpBodyBytesMax,
        onsessioninitialized: (id) => void this.#clientById.set(id, client),
        onsessionclosed: (id) => void this.#clientById.delete(id),
      });
      const client: HttpClient = { server, transport, requests: 0, usedAt: Date.now() };
      await server.connect(transport);
      await this.#pass(client, { request, response });
      if (transport.sessionId === undefined) await server.close();
    } finally {
      this.#opening -= 1;
    }
  }

  async #pass(
    client: HttpClient,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): Promise<void> {
    client.requests += 1;
    response.once("close", () => {
      client.requests -= 1;
      client.usedAt = Date.now();
    });
    await client.transport.handleRequest(request, response);
  }

  async #end(clients: readonly (readonly [string, HttpClient])[]): Promise<void> {
    for (const [id, { server }] of clients) {
      this.#clientById.delete(id);
      await server.close();
    }
  }
}

function listeningAddress(http: Server): { readonly address: string; readonly port: number } {
  const bound = http.address();
  return typeof bound === "object" && bound !== null ? bound : { address: "", port: 0 };
}

async function listen(
  http: Server,
  where: { readonly port: number; readonly host: string },
): Promise<Extract<McpHttpOutcome, { kind: "failed" }> | undefined> {
  return await new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      resolve({ kind: "failed", code: error.code ?? "unknown", message: error.message });
    http.once("error", failed);
    http.listen(where, () => {
      http.off("error", failed);
      resolve(undefined);
    });
  });
}
