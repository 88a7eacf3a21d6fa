import type { GatewayState } from "../operate/gateway-state.ts";
import { gatewayProof, nonceShape } from "../operate/gateway-proof.ts";
import type { Metrics } from "../operate/metrics.ts";
import type { StatusBoard } from "../operate/status.ts";
import { statusPage, statusPageHeaders } from "../operate/status-page.ts";
import { isSameSecret, sentKey, type UserRegistry } from "../operate/users.ts";
import type { HttpPair } from "./handle-request.ts";
import type { GatewayPage } from "./route.ts";

export interface GatewayPagesDeps {
  readonly status: StatusBoard;
  readonly metrics: Metrics;
  readonly state: GatewayState;
  readonly users: UserRegistry;
  /** A caller who knows it may see everything. Without one, nobody may. */
  readonly secret: string | undefined;
  readonly isDraining: () => boolean;
}

/** Health and the page itself are for all who reach the address; figures only for those with a key. */
export function serveGatewayPage(
  deps: GatewayPagesDeps,
  { page, http }: { readonly page: GatewayPage; readonly http: HttpPair },
): void {
  const { request } = http;
  switch (page) {
    case "health": {
      const nonce = new URLSearchParams(request.url?.split("?")[1]).get("nonce") ?? "";
      const proof =
        deps.secret !== undefined && nonceShape.test(nonce) ? { proof: gatewayProof(deps.secret, nonce) } : {};
      const isDraining = deps.isDraining();
      return sendJson(http, {
        status: isDraining ? 503 : 200,
        value: { status: isDraining ? "draining" : "serving", ...proof },
      });
    }
    case "status":
      return send(http, { status: 200, headers: statusPageHeaders, body: statusPage });
    case "status.json": {
      const viewer = findViewer(deps, http);
      if (viewer === undefined) return refuse(http);
      return sendJson(http, { status: 200, value: deps.status.read({ user: viewer.user }) });
    }
    case "metrics": {
      const viewer = findViewer(deps, http);
      // Metrics count all users together, so only the operator sees them.
      if (viewer === undefined || viewer.user !== undefined) return refuse(http);
      const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };
      return send(http, { status: 200, headers, body: deps.metrics.render(deps.state) });
    }
    case "release":
      if (!isOperator(deps, http)) return refuse(http);
      return void release(deps, http);
    case "forget":
      if (!isOperator(deps, http)) return refuse(http);
      return void forget(deps, http);
  }
}

/** Used by commands that edit a session, such as `palimpsest undo`. `POST /palimpsest/release?session=<id>`. */
async function release({ state }: GatewayPagesDeps, http: HttpPair): Promise<void> {
  const session = new URLSearchParams(http.request.url?.split("?")[1]).get("session") ?? "";
  const outcome = await state.release?.(session).catch(() => undefined);
  sendJson(http, { status: 200, value: { outcome: outcome ?? "not-active" } });
}

/** For `palimpsest sessions delete`. `POST /palimpsest/forget?session=<id>&session=<id>`. */
async function forget({ state }: GatewayPagesDeps, http: HttpPair): Promise<void> {
  const sessions = new URLSearchParams(http.request.url?.split("?")[1]).getAll("session");
  try {
    const outcome = (await state.forget?.(sessions)) ?? "forgotten";
    sendJson(http, { status: outcome === "running" ? 409 : 200, value: { outcome } });
  } catch {
    sendJson(http, { status: 500, value: { outcome: "failed" } });
  }
}

const isOperator = ({ secret }: GatewayPagesDeps, { request: { headers } }: HttpPair): boolean => {
  const key = sentKey(headers);
  return key !== undefined && secret !== undefined && isSameSecret(key, secret);
};

/** `user` is undefined for the operator, who sees all. */
function findViewer(deps: GatewayPagesDeps, http: HttpPair): { readonly user: string | undefined } | undefined {
  const { users } = deps;
  if (isOperator(deps, http)) return { user: undefined };
  if (!users.hasUsers) return undefined;
  const identity = users.identify(http.request.headers, "anthropic");
  return identity.kind === "user" ? { user: identity.name } : undefined;
}

const refuse = (http: HttpPair): void =>
  sendJson(http, {
    status: 401,
    value: { error: "Unauthorized: send the gateway's secret or your gateway key as `Authorization: Bearer …`." },
  });

const sendJson = (http: HttpPair, { status, value }: { readonly status: number; readonly value: unknown }): void =>
  send(http, {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    },
    body: JSON.stringify(value),
  });

function send(
  { request, response }: HttpPair,
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: Record<string, string>; readonly body: string },
): void {
  response.writeHead(status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
  response.end(request.method === "HEAD" ? undefined : body);
  request.resume();
}
