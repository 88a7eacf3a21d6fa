import { randomUUID } from "node:crypto";
import { Server as TlsServer } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { Exchange } from "../exchange/exchange.ts";
import { passExchange } from "../exchange/pass-through.ts";
import { findProblem } from "../operate/config-problem.ts";
import { applyLiveKeys, compareConfigs, type ConfigDifference } from "../operate/follow-config.ts";
import type { GatewayConfig } from "../operate/gateway-config.ts";
import type { GatewayEvent, GatewayListener } from "../operate/gateway-event.ts";
import { type GatewayState, noConversations } from "../operate/gateway-state.ts";
import { Metrics } from "../operate/metrics.ts";
import { StatusBoard } from "../operate/status.ts";
import { localUser, type SpendToday, UserRegistry } from "../operate/users.ts";
import { type Upstream, UpstreamPools, type UpstreamTimeouts } from "../upstream/upstream.ts";
import { type AllowedNames, loopbackNames } from "./check-request.ts";
import { RequestHandler } from "./handle-request.ts";
import { serveGatewayPage } from "./gateway-pages.ts";
import { serveHttp } from "./serve-http.ts";

export interface ServeGatewayOptions {
  readonly config: GatewayConfig;
  /** How requests of the model APIs are answered. By default they pass unchanged. */
  readonly createExchange?: ((deps: ExchangeDeps) => Exchange) | undefined;
  readonly state?: GatewayState | undefined;
  /** Charged with each `reply-cost`. Without one, limits of spend are not kept. */
  readonly spend?: (SpendToday & { charge(user: string, nanos: number | null): void }) | undefined;
  /** Gives access to status and metrics. Without one, nobody can see them. */
  readonly secret?: string | undefined;
  /** Shown in the status. */
  readonly version?: string | undefined;
  readonly onEvent?: GatewayListener | undefined;
  readonly now?: (() => number) | undefined;
  /** Shorter ones, for tests. */
  readonly timeouts?: (UpstreamTimeouts & GatewayTimeouts) | undefined;
}

interface GatewayTimeouts {
  readonly requestHeadMs?: number | undefined;
  readonly bodyMs?: number | undefined;
  readonly bodyIdleMs?: number | undefined;
  readonly stalledMs?: number | undefined;
}

export interface ExchangeDeps {
  readonly upstream: Upstream;
  /** The effective config: a reload may change it. */
  readonly config: () => GatewayConfig;
  readonly onEvent: GatewayListener;
}

export interface RunningGateway {
  readonly kind: "serving";
  readonly url: string;
  readonly port: number;
  /** Applies what can change at run time, and returns what needs a restart. If the result would be invalid, nothing changes. */
  reload(config: GatewayConfig): ConfigDifference;
  /** Accepts no more requests, waits up to `drainMs` for running replies, then closes. */
  close(options?: CloseOptions): Promise<void>;
}

interface CloseOptions {
  /** By default as the config says. */
  readonly drainMs?: number | undefined;
}

export type GatewayOutcome =
  | RunningGateway
  /** `code`: of the system, such as EADDRINUSE. */
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

export async function serveGateway(options: ServeGatewayOptions): Promise<GatewayOutcome> {
  const services = createServices(options);
  const { pools, handler, users, onEvent } = services;
  const { timeouts = {} } = options;
  const { config } = services;
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
  const reload = (next: GatewayConfig): ConfigDifference => {
    const running = services.config;
    const difference = compareConfigs(running, next);
    const effective = applyLiveKeys(running, next);
    // The new users may fit only the new address, which needs a restart.
    const refused = findProblem(effective);
    if (refused !== undefined) return { changed: [], afterRestart: [], refused };
    users.replace(effective.users);
    services.names = allowedNames(effective);
    const { tls } = effective;
    if (difference.changed.includes("tls") && tls !== undefined && server instanceof TlsServer)
      server.setSecureContext(tls);
    services.config = effective;
    return difference;
  };
  const close = async ({ drainMs = services.config.drainSeconds * 1_000 }: CloseOptions = {}): Promise<void> => {
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
  return { kind: "serving", url, port, reload, close };
}

interface GatewayServices {
  readonly pools: UpstreamPools;
  readonly handler: RequestHandler;
  readonly users: UserRegistry;
  readonly onEvent: GatewayListener;
  names: AllowedNames;
  /** The effective config. */
  config: GatewayConfig;
}

/** Everything except the server itself. */
function createServices(options: ServeGatewayOptions): GatewayServices {
  const { config, timeouts = {}, state = noConversations, now = Date.now } = options;
  const { spend = { usdToday: () => 0, unpricedToday: () => 0, charge: () => undefined } } = options;
  const metrics = new Metrics();
  const users = new UserRegistry({ users: config.users, now, spend });
  const status = new StatusBoard({
    version: options.version ?? "",
    now,
    state,
    spend,
    upstream: () => ({ ...config.upstream }),
    users: () => (users.hasUsers ? users.names : [localUser]),
  });
  const onEvent = (event: GatewayEvent): void => {
    metrics.record(event);
    status.record(event);
    if (event.kind === "reply-cost") spend.charge(event.user, event.nanos);
    options.onEvent?.(event);
  };
  const hop = randomUUID();
  const pools = new UpstreamPools({
    urls: config.upstream,
    timeouts,
    hop,
    onOutcome: (outcome) => onEvent({ kind: "upstream", ...outcome }),
  });
  const { createExchange = ({ upstream }: ExchangeDeps) => passExchange(upstream) } = options;
  const pages = { status, metrics, state, users, secret: options.secret, isDraining: () => handler.isDraining };
  const handler: RequestHandler = new RequestHandler({
    exchange: createExchange({ upstream: pools, config: () => services.config, onEvent }),
    upstream: pools,
    users,
    names: () => services.names,
    onlyProvider: () => onlyProvider(config.upstream),
    servePage: (page, http) => serveGatewayPage(pages, { page, http }),
    onEvent,
    bodyIdleMs: timeouts.bodyIdleMs,
    stalledMs: timeouts.stalledMs,
    paths: () => services.config.paths ?? [],
    hop,
  });
  const services: GatewayServices = { pools, handler, users, onEvent, names: allowedNames(config), config };
  return services;
}

function allowedNames({ host, names, origins }: GatewayConfig): AllowedNames {
  const hostName = host.includes(":") ? `[${host}]` : host;
  return {
    hosts: new Set([...loopbackNames, hostName, ...names].map((name) => name.toLowerCase())),
    origins: new Set(origins.map((origin) => origin.toLowerCase())),
  };
}

const onlyProvider = ({ anthropic, openai }: GatewayConfig["upstream"]): Provider | undefined => {
  if (anthropic !== undefined && openai !== undefined) return undefined;
  return openai === undefined ? "anthropic" : "openai-chat";
};
