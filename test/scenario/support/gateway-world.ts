import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { Conversations } from "../../../packages/gateway/src/conversation/conversations.ts";
import { ConversationLog } from "../../../packages/gateway/src/conversation/conversation-log.ts";
import type { ReductionOptions } from "../../../packages/gateway/src/conversation/conversation-context.ts";
import { HistoryLog } from "../../../packages/gateway/src/conversation/history/history-log.ts";
import { ToolUsageLog } from "../../../packages/gateway/src/conversation/tools/tool-usage-log.ts";
import { contextExchange } from "../../../packages/gateway/src/exchange/context-exchange.ts";
import type { ExchangeOptions } from "../../../packages/gateway/src/exchange/exchange.ts";
import { serveGateway } from "../../../packages/gateway/src/http/serve-gateway.ts";
import type { GatewayEvent } from "../../../packages/gateway/src/operate/gateway-event.ts";
import type { Store } from "../../../packages/palimpsest/src/ports/store.ts";
import { isObject, type JsonObject, parseJson } from "../../../packages/palimpsest/src/schema/json.ts";
import { memoryStore } from "../../../packages/palimpsest/src/store/memory/store.ts";
import type { Connection } from "../../../packages/simulator/src/http/event-body.ts";
import { createApp } from "../../../packages/simulator/src/http/create-app.ts";
import { serveRequests } from "../../../packages/simulator/src/http/serve-simulator.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";
import type { SimulatorOptions } from "../../../packages/simulator/src/simulator-options.ts";

/** A request as the upstream got it, and how it answered. */
export interface UpstreamTraffic {
  readonly path: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly body: JsonObject;
  status: number;
  usd: number;
}

export interface GatewayWorld {
  /** The base URL for clients. */
  readonly url: string;
  readonly upstreamUrl: string;
  readonly traffic: readonly UpstreamTraffic[];
  readonly events: readonly GatewayEvent[];
  readonly conversations: Conversations;
  readonly store: Store;
  /** From now on conversations that are opened have this window. */
  widen(contextTokens: number): void;
  /** A gateway with the same store and log, after this one was closed. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface GatewayWorldOptions {
  readonly simulator: SimulatorOptions;
  readonly contextTokens?: number;
  readonly reduction?: Partial<ReductionOptions>;
  readonly exchange?: Partial<ExchangeOptions>;
  readonly store?: Store;
  /** Instead of the simulator's answer. */
  readonly answer?: (request: Request) => Promise<Response | undefined>;
}

/** The simulator reads a request from its connection, where it has been read already. */
function again(connection: Connection, bytes: Uint8Array): NonNullable<Connection["incoming"]> {
  const { incoming } = connection;
  if (incoming === undefined) throw new Error("a request without a connection");
  return Object.assign(Readable.from(bytes.length === 0 ? [] : [bytes]), { socket: incoming.socket });
}

/** A simulator as upstream, and a gateway before it, both over HTTP. */
export async function openGatewayWorld(options: GatewayWorldOptions): Promise<GatewayWorld> {
  const traffic: UpstreamTraffic[] = [];
  const app = createApp(new Simulator(options.simulator));
  const upstream = await serveRequests(
    async (request, connection) => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      const copy = new Request(request.url, {
        method: request.method,
        headers: request.headers,
        ...(bytes.length === 0 ? {} : { body: bytes }),
      });
      const body = bytes.length === 0 ? {} : parseJson(new TextDecoder().decode(bytes));
      const seen: UpstreamTraffic = {
        path: new URL(request.url).pathname,
        headers: request.headers,
        bytes,
        body: isObject(body) ? body : {},
        status: 0,
        usd: 0,
      };
      traffic.push(seen);
      const response =
        (await options.answer?.(copy.clone())) ??
        (await app.fetch(copy, { ...connection, incoming: again(connection, bytes) }));
      seen.status = response.status;
      seen.usd = Number(response.headers.get("x-simulator-cost-usd") ?? 0);
      return response;
    },
    { port: 0 },
  );
  if (upstream.kind === "failed") throw new Error(upstream.message);
  const events: GatewayEvent[] = [];
  let { contextTokens } = options;
  const logPath = join(await mkdtemp(join(tmpdir(), "gateway-")), "conversations.jsonl");
  const store = options.store ?? memoryStore();
  const open = async (port: number) => {
    const log = await ConversationLog.open(logPath);
    const conversations = new Conversations({
      log,
      toolUsageLog: await ToolUsageLog.open(join(dirname(logPath), "tools.jsonl")),
      openStore: () => store,
      now: Date.now,
      reduction: () => ({
        recall: "on",
        memory: "off",
        deferTools: "off",
        cacheMarks: "client",
        contextTokens: () => contextTokens,
        ...options.reduction,
      }),
    });
    const gateway = await serveGateway({
      config: {
        upstream: { anthropic: upstream.url, openai: upstream.url },
        host: "127.0.0.1",
        port,
        names: [],
        origins: [],
        insecure: false,
        users: [],
        drainSeconds: 0,
        context: {},
      },
      onEvent: (event) => events.push(event),
      createExchange: (deps) =>
        contextExchange({
          ...deps,
          conversations,
          historyLog: new HistoryLog((user) => join(dirname(logPath), `histories-${user}.jsonl`)),
          options: () => ({ summarizer: "none", usage: "used", threads: "keep", ...options.exchange }),
        }),
    });
    if (gateway.kind === "failed") throw new Error(gateway.message);
    return { gateway, conversations };
  };
  let running = await open(0);
  const { url, port } = running.gateway;
  const stop = async (): Promise<void> => {
    await running.gateway.close();
    await running.conversations.close();
  };
  return {
    url,
    upstreamUrl: upstream.url,
    traffic,
    events,
    get conversations() {
      return running.conversations;
    },
    store,
    widen: (tokens) => void (contextTokens = tokens),
    reopen: async () => {
      await stop();
      running = await open(port);
    },
    close: async () => {
      await stop();
      await upstream.close();
    },
  };
}
