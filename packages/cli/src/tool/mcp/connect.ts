import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import type { Connected, ConnectServer } from "palimpsest/internal/ports/tool-servers";
import type { RemoteServer } from "palimpsest/internal/schema/tool-server";
import { boundedFetch } from "./bounded-fetch.ts";
import { handshakeMs, sdkLoadDelayMs } from "./limits.ts";
import { ProcessTransport } from "./process-transport.ts";
import { type SdkClient, type SdkParts, serverOf } from "./sdk-client.ts";

export interface ConnectorInput {
  /** Ours, as servers are told it. */
  readonly version: string;
}

/** Servers by the protocol's SDK, which is loaded when the first of them is asked for: it costs a third of a second. */
export function serverConnector({ version }: ConnectorInput): ConnectServer {
  let loading: ReturnType<typeof loadClient> | undefined;
  return async (start, signal) => {
    const { definition, env, cwd, record, enter } = start;
    loading ??= loadClient();
    const { Client } = await loading;
    if (signal.aborted) return { kind: "failed", why: "nobody waits for it any more" };
    const fresh = (): Client => new Client({ name: "palimpsest", version }, { capabilities: {} });
    if (definition.kind !== "stdio") return await connectRemote({ definition, signal, fresh });
    const { deserializeMessage } = await import("@modelcontextprotocol/sdk/shared/stdio.js");
    const transport = new ProcessTransport({ definition, env, cwd, record, enter, parse: deserializeMessage });
    return await connected({
      client: fresh(),
      transport,
      signal,
      whyOf: (error) => transport.why(wordsOf(error)),
    });
  };
}

async function loadClient() {
  await wait(sdkLoadDelayMs);
  return await import("@modelcontextprotocol/sdk/client/index.js");
}

interface Connecting {
  readonly client: Client;
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly whyOf: (error: unknown) => string;
}

async function connected({ client, transport, signal, whyOf }: Connecting): Promise<Connected> {
  try {
    await client.connect(transport, { signal, timeout: handshakeMs });
  } catch (error) {
    // First: what the server wrote at its end belongs to the reason.
    await transport.close().catch(() => undefined);
    return { kind: "failed", why: whyOf(error) };
  }
  const { ToolListChangedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  return {
    kind: "connected",
    server: serverOf({
      client: sdkClient({ client, whyOf }),
      onToolsChanged: (listener) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => listener()),
    }),
  };
}

/**
 * Requests go past the client's own methods: those refuse a whole list for one tool of no known form, and compile the
 * schemas of strangers. What answers is parsed by `serverOf`.
 */
function sdkClient({ client, whyOf }: Pick<Connecting, "client" | "whyOf">): SdkParts["client"] {
  const asked = async (ask: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await ask();
    } catch (error) {
      if (isGone(error)) void client.close().catch(() => undefined);
      throw new Error(whyOf(error), { cause: error });
    }
  };
  const sdk: SdkClient = {
    listTools: (params, options) => asked(() => client.request({ method: "tools/list", params }, anyResult, options)),
    callTool: (params, _, options) => asked(() => client.request({ method: "tools/call", params }, anyResult, options)),
    getInstructions: () => client.getInstructions(),
    close: () => client.close(),
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onclose = () => sdk.onclose?.();
  return sdk;
}

const anyResult = z.looseObject({});

/** A remote server has no process that ends: it is gone where nobody answers, or where it does not know us any more. */
const isGone = (error: unknown): boolean =>
  statusOf(error) === 404 || (error instanceof TypeError && error.message === "fetch failed");

interface Remote {
  readonly definition: RemoteServer;
  readonly signal: AbortSignal;
  readonly fresh: () => Client;
}

/** Servers of the protocol's first years know only event streams: they refuse the first message with a 4xx. */
async function connectRemote({ definition, signal, fresh }: Remote): Promise<Connected> {
  const { url, headers, kind } = definition;
  if (!URL.canParse(url)) return { kind: "failed", why: "its address is no URL" };
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch };
  if (kind === "http") {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    let status: number | undefined;
    const whyOf = (error: unknown): string => {
      status = statusOf(error);
      return remoteWords(error);
    };
    const tried = await connected({ client: fresh(), transport: transport, signal, whyOf });
    if (tried.kind === "connected" || !isOldServer(status) || signal.aborted) return tried;
    const older = await connectEvents({ url, options, signal, fresh });
    return older.kind === "connected" ? older : tried;
  }
  return await connectEvents({ url, options, signal, fresh });
}

interface Events extends Pick<Remote, "signal" | "fresh"> {
  readonly url: string;
  readonly options: { readonly requestInit: RequestInit; readonly fetch: typeof boundedFetch };
}

async function connectEvents({ url, options, signal, fresh }: Events): Promise<Connected> {
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const transport = new SSEClientTransport(new URL(url), options);
  return await connected({ client: fresh(), transport: transport, signal, whyOf: remoteWords });
}

const isOldServer = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;

function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "number" && code > 0 ? code : undefined;
}

function remoteWords(error: unknown): string {
  switch (statusOf(error)) {
    case 401:
      return "it wants to know who asks (401): put a token into its headers";
    case 403:
      return "it refuses who asks (403)";
    case undefined:
    default:
      return wordsOf(error);
  }
}

/** `fetch failed` says nothing; its cause does. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const words = error.message.replace(/^MCP error -?\d+: /, "");
  return cause instanceof Error ? `${words}: ${cause.message}` : words;
}
