import { setTimeout as wait } from "node:timers/promises";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { Exchange } from "../exchange/exchange.ts";
import { passExchange } from "../exchange/pass-through.ts";
import type { GatewayConfig } from "../operate/gateway-config.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import type { GatewayState } from "../operate/gateway-state.ts";
import { type SpendToday, UserRegistry } from "../operate/users.ts";
import { type Upstream, UpstreamPools, type UpstreamTimeouts } from "../upstream/upstream.ts";
import { type AllowedNames, loopbackNames } from "./check-request.ts";
import { RequestHandler } from "./handle-request.ts";
import { serveHttp } from "./serve-http.ts";

export interface ServeGatewayOptions {
  readonly config: GatewayConfig;
  /** How requests of the model APIs are answered. By default they pass unchanged. */
  readonly createExchange?: ((deps: ExchangeDeps) => Exchange) | undefined;
  readonly state?: GatewayState | undefined;
  readonly spend?: SpendToday | undefined;
  readonly onEvent?: GatewayListener | undefined;
  readonly now?: (() => number) | undefined;
  /** Shorter ones, for tests. */
  readonly timeouts?: (UpstreamTimeouts & GatewayTimeouts) | undefined;
}

interface GatewayTimeouts {
  readonly requestHeadMs?: number | undefined;
  readonly bodyMs?: number | undefined;
  readonly bodyIdleMs?: number | undefined;
}

export interface ExchangeDeps {
  readonly upstream: Upstream;
  readonly onEvent: GatewayListener;
}

export interface RunningGateway {
  readonly kind: "serving";
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, lets running replies end for `drainMs`, then closes. */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

export type GatewayOutcome =
  | RunningGateway
  /** `code`: of the system, such as EADDRINUSE. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

export async function serveGateway(options: ServeGatewayOptions): Promise<GatewayOutcome> {
  const { config, timeouts = {}, onEvent = () => undefined } = options;
  const pools = new UpstreamPools({
    urls: config.upstream,
    timeouts,
    onOutcome: (outcome) => onEvent({ kind: "upstream", ...outcome }),
  });
  const { createExchange = ({ upstream }: ExchangeDeps) => passExchange(upstream) } = options;
  const users = new UserRegistry({
    users: config.users,
    now: options.now ?? Date.now,
    spend: options.spend ?? { usdToday: () => 0 },
  });
  const names = allowedNames(config);
  const handler = new RequestHandler({
    exchange: createExchange({ upstream: pools, onEvent }),
    upstream: pools,
    users,
    names: () => names,
    onlyProvider: () => onlyProvider(config.upstream),
    servePage: (_page, { response }) => void response.writeHead(404).end(),
    onEvent,
    bodyIdleMs: timeouts.bodyIdleMs,
  });
  const serving = await serveHttp({
    ...config,
    listener: (request, response) => handler.handle({ request, response }),
    onEvent,
    timeouts: { headMs: timeouts.requestHeadMs, bodyMs: timeouts.bodyMs },
  });
  if (serving.kind === "failed") {
    await pools.close();
    return serving;
  }
  const { server, url, port } = serving;
  onEvent({ kind: "listening", address: url });
  const close = async ({ drainMs = 0 }: { readonly drainMs?: number | undefined } = {}): Promise<void> => {
    handler.drain();
    onEvent({ kind: "drain-start", running: handler.running.size });
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    server.closeIdleConnections();
    // A connection whose reply has ended is idle a moment later.
    for (const response of handler.running)
      response.once("close", () => setImmediate(() => server.closeIdleConnections()));
    await Promise.race([closed, wait(drainMs, undefined, { ref: false })]);
    onEvent({ kind: "drain-end", cut: handler.running.size });
    server.closeAllConnections();
    await closed;
    await pools.close();
  };
  return { kind: "serving", url, port, close };
}

function allowedNames({ host, names, origins }: GatewayConfig): AllowedNames {
  const own = host.includes(":") ? `[${host}]` : host;
  return {
    hosts: new Set([...loopbackNames, own, ...names].map((name) => name.toLowerCase())),
    origins: new Set(origins.map((origin) => origin.toLowerCase())),
  };
}

const onlyProvider = ({ anthropic, openai }: GatewayConfig["upstream"]): Provider | undefined => {
  if (anthropic !== undefined && openai !== undefined) return undefined;
  return openai === undefined ? "anthropic" : "openai-chat";
};
