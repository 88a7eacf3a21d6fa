import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import type {
  ConnectOutcome,
  ConnectServer,
  ListToolsOutcome,
  OfferedTool,
  ServerCallOutcome,
  ToolServer,
} from "palimpsest/internal/ports/tool-server";
import type { RemoteServer } from "palimpsest/internal/schema/server-definition";
import {
  handshakeMs,
  sdkLoadDelayMs,
  messageBytesMax,
  callMs,
  listMs,
  listPagesMax,
  toolsPerServerMax,
} from "./limits.ts";
import { ProcessTransport } from "./process-transport.ts";
import { anyJson } from "palimpsest/internal/schema/any-json";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";

interface ConnectorInput {
  /** Our version, which servers are told. */
  readonly version: string;
}

/**
 * Connects through the protocol's SDK, which is loaded when the first server is needed: loading takes a third of a
 * second.
 */
export function serverConnector({ version }: ConnectorInput): ConnectServer {
  let loading: ReturnType<typeof loadClient> | undefined;
  return async (start, signal) => {
    const { definition, env, cwd, record, enter } = start;
    loading ??= loadClient();
    const { Client } = await loading;
    if (signal.aborted) return { kind: "failed", why: "nobody waits for it any more" };
    const newClient = (): Client => new Client({ name: "palimpsest", version }, { capabilities: {} });
    if (definition.kind !== "stdio") return await connectRemote({ definition, signal, newClient });
    const { deserializeMessage } = await import("@modelcontextprotocol/sdk/shared/stdio.js");
    const transport = new ProcessTransport({ definition, env, cwd, record, enter, parse: deserializeMessage });
    return await connectClient({
      client: newClient(),
      transport,
      signal,
      whyOf: (error) => transport.why(errorText(error)),
    });
  };
}

async function loadClient() {
  await wait(sdkLoadDelayMs);
  return await import("@modelcontextprotocol/sdk/client/index.js");
}

interface ConnectInput {
  readonly client: Client;
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly whyOf: (error: unknown) => string;
}

async function connectClient({ client, transport, signal, whyOf }: ConnectInput): Promise<ConnectOutcome> {
  try {
    await client.connect(transport, { signal, timeout: handshakeMs });
  } catch (error) {
    // Closed first: the server's last output is part of the reason.
    await transport.close().catch(() => undefined);
    return { kind: "failed", why: whyOf(error) };
  }
  const { ToolListChangedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  return {
    kind: "connected",
    server: createToolServer({
      client: adaptClient({ client, whyOf }),
      onToolsChanged: (listener) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => listener()),
    }),
  };
}

/**
 * Bypasses the client's own methods: those reject a whole list because of one malformed tool, and compile untrusted
 * schemas. `createToolServer` parses the answers.
 */
function adaptClient({ client, whyOf }: Pick<ConnectInput, "client" | "whyOf">): SdkConnection["client"] {
  const send = async (ask: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await ask();
    } catch (error) {
      if (isGone(error)) void client.close().catch(() => undefined);
      throw new Error(whyOf(error), { cause: error });
    }
  };
  const sdk: SdkClient = {
    listTools: (params, options) => send(() => client.request({ method: "tools/list", params }, anyResult, options)),
    callTool: (params, _, options) => send(() => client.request({ method: "tools/call", params }, anyResult, options)),
    getInstructions: () => client.getInstructions(),
    close: () => client.close(),
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onclose = () => sdk.onclose?.();
  return sdk;
}

const anyResult = z.looseObject({});

/**
 * A remote server has no process that ends: it is gone if the connection fails, or if it no longer knows our session.
 */
const isGone = (error: unknown): boolean =>
  httpStatus(error) === 404 || (error instanceof TypeError && error.message === "fetch failed");

interface RemoteInput {
  readonly definition: RemoteServer;
  readonly signal: AbortSignal;
  readonly newClient: () => Client;
}

/** Early servers of the protocol only support event streams: they refuse the first message with a 4xx. */
async function connectRemote({ definition, signal, newClient }: RemoteInput): Promise<ConnectOutcome> {
  const { url, headers, kind } = definition;
  if (!URL.canParse(url)) return { kind: "failed", why: "its address is no URL" };
  const options = { requestInit: { headers: { ...headers } }, fetch: fetchBounded };
  if (kind === "http") {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    let status: number | undefined;
    const whyOf = (error: unknown): string => {
      status = httpStatus(error);
      return remoteErrorText(error);
    };
    const modern = await connectClient({ client: newClient(), transport, signal, whyOf });
    if (modern.kind === "connected" || !isOldServer(status) || signal.aborted) return modern;
    const older = await connectEventStream({ url, options, signal, newClient });
    return older.kind === "connected" ? older : modern;
  }
  return await connectEventStream({ url, options, signal, newClient });
}

interface EventStreamInput extends Pick<RemoteInput, "signal" | "newClient"> {
  readonly url: string;
  readonly options: { readonly requestInit: RequestInit; readonly fetch: typeof fetchBounded };
}

async function connectEventStream({ url, options, signal, newClient }: EventStreamInput): Promise<ConnectOutcome> {
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const transport = new SSEClientTransport(new URL(url), options);
  return await connectClient({ client: newClient(), transport, signal, whyOf: remoteErrorText });
}

const isOldServer = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;

function httpStatus(error: unknown): number | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "number" && code > 0 ? code : undefined;
}

function remoteErrorText(error: unknown): string {
  switch (httpStatus(error)) {
    case 401:
      return "it requires authentication (401): put a token into its headers";
    case 403:
      return "it refuses access (403)";
    case undefined:
    default:
      return errorText(error);
  }
}

/** `fetch failed` says nothing, but its cause does. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const text = error.message.replace(/^MCP error -?\d+: /, "");
  return cause instanceof Error ? `${text}: ${cause.message}` : text;
}

/**
 * `fetch` whose responses fail if a message in them exceeds the limit, because the reader holds each message as a
 * whole. In an event stream an empty line ends a message; any other response, including an error, is one message.
 */
export async function fetchBounded(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const isStream = /^\s*text\/event-stream\b/i.test(headers.get("content-type") ?? "");
  const bound = limitMessages({ bytesMax: messageBytesMax, ends: isStream ? "empty-line" : "never" });
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
}

export interface MessageLimits {
  readonly bytesMax: number;
  /** What ends a message before the response ends. */
  readonly ends: "empty-line" | "never";
}

export function limitMessages({ bytesMax, ends }: MessageLimits): TransformStream<Uint8Array, Uint8Array> {
  let messageBytes = 0;
  let lineBytes = 0;
  let before = 0;
  /** False if a message is too long. */
  const isWithin = (chunk: Uint8Array): boolean => {
    if (ends === "never") return (messageBytes += chunk.length) <= bytesMax;
    for (const byte of chunk) {
      messageBytes += 1;
      if (messageBytes > bytesMax) return false;
      // Lines end with CR, LF or both.
      if (byte === newline && before === carriageReturn) lineBytes = 0;
      else if (byte === newline || byte === carriageReturn) {
        if (lineBytes === 0) messageBytes = 0;
        lineBytes = 0;
      } else lineBytes += 1;
      before = byte;
    }
    return true;
  };
  return new TransformStream({
    transform: (chunk, controller) => {
      if (isWithin(chunk)) controller.enqueue(chunk);
      else controller.error(new Error(`a message of over ${bytesMax} bytes`));
    },
  });
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** The parts that we use of a connected client of the protocol's SDK. */
export interface SdkClient {
  listTools(params: { cursor?: string }, options: SdkOptions): Promise<unknown>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    schema: undefined,
    options: SdkOptions,
  ): Promise<unknown>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
}

interface SdkOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

interface SdkConnection {
  readonly client: SdkClient;
  /** Calls the listener whenever the server reports that its list of tools has changed. */
  readonly onToolsChanged: (listener: () => void) => void;
}

/** Wraps a connected client as a tool server: errors become outcomes, and answers are parsed. */
export function createToolServer({ client, onToolsChanged }: SdkConnection): ToolServer {
  return {
    instructions: client.getInstructions() ?? "",
    listTools: async (signal) => await catchFailure(() => listAllTools(client, signal)),
    call: async ({ tool, input }, signal) =>
      await catchFailure(async () =>
        parseAnswer(
          await client.callTool({ name: tool, arguments: { ...input } }, undefined, { signal, timeout: callMs }),
        ),
      ),
    onChange: (listener) => {
      notifyOnClose(client, () => listener("closed"));
      onToolsChanged(() => listener("tools"));
    },
    close: async () => {
      notifyOnClose(client, undefined);
      // It is gone either way.
      await client.close().catch(() => undefined);
    },
  };
}

/** The client is not an event target: it has a single callback. */
function notifyOnClose(client: SdkClient, listener: (() => void) | undefined): void {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onclose = listener;
}

interface SdkFailure {
  readonly kind: "failed";
  readonly why: string;
}

/** Everything a client throws is about the server or the connection to it. */
async function catchFailure<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | SdkFailure> {
  try {
    return await act();
  } catch (error) {
    return { kind: "failed", why: error instanceof Error ? error.message : String(error) };
  }
}

const jsonObject = z.record(z.string(), anyJson);

const listShape = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const toolShape = z.object({ name: z.string(), description: z.string().default(""), inputSchema: jsonObject });

/** A tool of unknown form is left out; the others are kept. */
async function listAllTools(client: SdkClient, signal: AbortSignal): Promise<ListToolsOutcome> {
  const tools: OfferedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < listPagesMax && tools.length < toolsPerServerMax; page += 1) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { signal, timeout: listMs });
    const read = listShape.safeParse(answer);
    if (!read.success) return { kind: "failed", why: "its list of tools has no known form" };
    tools.push(...read.data.tools.flatMap((tool) => toolShape.safeParse(tool).data ?? []));
    cursor = read.data.nextCursor;
    if (cursor === undefined) break;
  }
  return { kind: "listed", tools };
}

const answerShape = z.object({
  content: z.array(anyJson).default([]),
  isError: z.boolean().default(false),
  structuredContent: jsonObject.optional(),
});

/** If an answer has only structured data, that becomes its text; if it has a text too, servers say the same in both. */
function parseAnswer(answer: unknown): ServerCallOutcome {
  const read = answerShape.safeParse(answer);
  if (!read.success) return { kind: "failed", why: "its answer has no known form" };
  const { content, isError, structuredContent } = read.data;
  const hasOnlyData = content.length === 0 && structuredContent !== undefined;
  return { kind: "answer", content: hasOnlyData ? [textPart(structuredContent)] : content, isError };
}

const textPart = (data: JsonObject): Json => ({ type: "text", text: JSON.stringify(data) });
