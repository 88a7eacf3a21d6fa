import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { request as tlsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveGateway, type ServeGatewayOptions } from "@palimpsest/gateway";
import { type GatewayConfig, readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import { gatewayProof } from "@palimpsest/gateway/internal/operate/gateway-proof";
import type { ConversationRow } from "@palimpsest/gateway/internal/operate/gateway-state";
import type { GatewayEvent } from "@palimpsest/gateway/internal/operate/gateway-event";
import { hashKey } from "@palimpsest/gateway/internal/operate/users";
import { serveSimulator, Simulator } from "@palimpsest/simulator";
import { afterEach, describe, expect, it } from "vitest";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const secret = "s".repeat(64);

async function openGateway(change: Partial<GatewayConfig> = {}, options: Partial<ServeGatewayOptions> = {}) {
  const upstream = await serveSimulator(new Simulator(), { port: 0 });
  if (upstream.kind === "failed") throw new Error(upstream.message);
  closers.push(() => upstream.close());
  const read = readConfig({ env: {}, overrides: { port: 0, upstream: { anthropic: upstream.url } } });
  if (read.kind !== "config") throw new Error(read.message);
  const config = { ...read.config, ...change };
  const events: GatewayEvent[] = [];
  const gateway = await serveGateway({ secret, onEvent: (event) => events.push(event), ...options, config });
  if (gateway.kind === "failed") throw new Error(gateway.message);
  closers.push(() => gateway.close({ drainMs: 0 }));
  const get = (path: string, key?: string) =>
    fetch(`${gateway.url}${path}`, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  const post = (headers: Record<string, string>) =>
    fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01", "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "claude-sonnet-5-5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }),
    });
  return { ...gateway, config, events, get, post };
}

const users = (["ada", "eve"] as const).map((name) => ({
  name,
  keySha256: hashKey(`plk_${name}`),
  upstreamKeys: { anthropic: `sk-${name}` },
}));

const row = (user: string): ConversationRow => ({
  id: `c-${user}`,
  user,
  client: "claude-code",
  project: `/home/${user}/secret-project`,
  model: "claude-sonnet-5-5",
  requests: 3,
  inputTokensSent: 100,
  inputTokensUsed: 40,
  savedUsd: 0.5,
  edits: 2,
  windowShareMax: 0.5,
  lastAt: 1,
  since: 0,
});

const state = {
  conversations: ({ user }: { readonly user?: string | undefined }) =>
    ["ada", "eve"].filter((name) => user === undefined || user === name).map(row),
};

describe("the gateway's own pages", () => {
  it("say to all that it serves, and prove to those with a nonce that it is the one with the secret", async () => {
    const { get } = await openGateway();
    expect(await (await get("/palimpsest/health")).json()).toEqual({ status: "serving" });
    const nonce = "ab".repeat(16);
    expect(await (await get(`/palimpsest/health?nonce=${nonce}`)).json()).toEqual({
      status: "serving",
      proof: gatewayProof(secret, nonce),
    });
    expect(await (await get("/palimpsest/health?nonce=x")).json()).toEqual({ status: "serving" });
  });

  it("show figures to the operator only", async () => {
    const { get, post } = await openGateway({}, { state });
    await (await post({ "x-api-key": "k" })).text();
    for (const page of ["status.json", "metrics"])
      for (const key of [undefined, "wrong", "k"])
        expect((await get(`/palimpsest/${page}`, key)).status, `${page} ${key}`).toBe(401);
    const status = await (await get("/palimpsest/status.json", secret)).json();
    expect(status).toMatchObject({
      requests: 1,
      running: 0,
      upstream: [{ api: "anthropic", health: "healthy", lastStatus: 200 }],
      totals: { conversations: 2, inputTokensSent: 200, inputTokensUsed: 80, savedUsd: 1 },
      conversations: [{ id: "c-ada" }, { id: "c-eve" }],
    });
    const metrics = await (await get("/palimpsest/metrics", secret)).text();
    expect(metrics).toContain("palimpsest_gateway_conversations_saved_usd 1\n");
    expect(metrics).toContain('operation="create",status="200",outcome="done"} 1\n');
  });

  it("release a session for the operator alone", async () => {
    const asked: string[] = [];
    const release = async (id: string): Promise<"released"> => {
      asked.push(id);
      return "released";
    };
    const { url, get } = await openGateway({ users }, { state: { ...state, release } });
    const post = (key: string | undefined) =>
      fetch(`${url}/palimpsest/release?session=c-ada`, {
        method: "POST",
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      });
    for (const key of [undefined, "wrong", "plk_ada"]) expect((await post(key)).status, key).toBe(401);
    expect((await get("/palimpsest/release?session=c-ada", secret)).status).toBe(404);
    expect(asked).toEqual([]);
    expect(await (await post(secret)).json()).toEqual({ outcome: "released" });
    expect(asked).toEqual(["c-ada"]);
  });

  it("forget deleted sessions for the operator alone", async () => {
    const asked: (readonly string[])[] = [];
    const forget = async (ids: readonly string[]) => {
      asked.push(ids);
      return "forgotten" as const;
    };
    const { url } = await openGateway({ users }, { state: { ...state, forget } });
    const post = (key: string | undefined) =>
      fetch(`${url}/palimpsest/forget?session=c-ada&session=c-eve`, {
        method: "POST",
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      });
    for (const key of [undefined, "wrong", "plk_ada"]) expect((await post(key)).status, key).toBe(401);
    expect(asked).toEqual([]);
    expect(await (await post(secret)).json()).toEqual({ outcome: "forgotten" });
    expect(asked).toEqual([["c-ada", "c-eve"]]);
  });

  it("show a user that user's own conversations and money alone", async () => {
    const { get, post, config } = await openGateway({ users }, { state });
    for (const key of ["plk_ada", "plk_eve", "plk_eve"]) await (await post({ "x-api-key": key })).text();
    await post({ "x-api-key": "unknown" });
    const text = await (await get("/palimpsest/status.json", "plk_ada")).text();
    expect(text).toContain("c-ada");
    expect(text).not.toContain("eve");
    expect(JSON.parse(text)).toMatchObject({ requests: 1, running: 0, gatewayErrors: 0, upstream: [] });
    expect(text).not.toContain(config.upstream.anthropic);
    expect(await (await get("/palimpsest/status.json", secret)).json()).toMatchObject({
      requests: 3,
      refused: 1,
      gatewayErrors: 0,
    });
    expect((await get("/palimpsest/metrics", "plk_ada")).status).toBe(401);
  });

  it("need no other server: the page allows itself alone", async () => {
    const { get } = await openGateway();
    const reply = await get("/palimpsest/status");
    expect(reply.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    const html = await reply.text();
    expect(html).toContain('name="viewport"');
    expect(html).toContain("prefers-color-scheme: dark");
    expect(html.match(/https?:\/\//g)).toBeNull();
  });
});

describe("a request without a key", () => {
  const message = async (sent: Response) => {
    const { error } = (await sent.json()) as { readonly error: { readonly type: string; readonly message: string } };
    return [sent.status, sent.headers.get("x-palimpsest-error"), error.type, error.message];
  };

  it("that the upstream refuses is told where a key can be set", async () => {
    const { post, get } = await openGateway();
    expect(await message(await post({}))).toEqual([
      401,
      "unknown-key",
      "authentication_error",
      "The request has no API key, and the upstream needs one. Set ANTHROPIC_API_KEY for the client: the gateway passes its key on.",
    ]);
    expect(await (await get("/palimpsest/status.json", secret)).json()).toMatchObject({ refused: 1, gatewayErrors: 0 });
    expect((await post({ "x-api-key": "k" })).status).toBe(200);
  });

  it("of a user is told that the operator can set it", async () => {
    const { post } = await openGateway({ users: users.map((user) => ({ ...user, upstreamKeys: {} })) });
    const [, , , said] = await message(await post({ "x-api-key": "plk_ada" }));
    expect(said).toContain("The gateway has no API key of ada for this upstream. The operator sets it");
    expect((await post({ "x-palimpsest-key": "plk_ada", "x-api-key": "sk" })).status).toBe(200);
  });
});

describe("several users", () => {
  it("reach the upstream with its key, and never with their own", async () => {
    const seen: unknown[] = [];
    const { post } = await openGateway(
      { users },
      {
        createExchange: () => async (request, reply) => {
          seen.push([request.user, request.headers["x-api-key"], request.headers.authorization]);
          reply.head(200, {});
          await reply.end();
        },
      },
    );
    expect((await post({ "x-api-key": "plk_ada" })).status).toBe(200);
    expect((await post({ authorization: "Bearer plk_eve" })).status).toBe(200);
    const refused = await post({ "x-api-key": "sk-ada" });
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { type: "authentication_error", message: "Unknown gateway key." } },
    ]);
    const keyless = await post({});
    expect([keyless.status, await keyless.json()]).toMatchObject([
      401,
      {
        error: {
          message: expect.stringMatching(/^This gateway needs a gateway key\. .*x-api-key.*authorization/) as string,
        },
      },
    ]);
    expect(seen).toEqual([
      ["ada", "sk-ada", undefined],
      ["eve", "sk-eve", undefined],
    ]);
  });

  it("have limits of their own, for requests and for money", async () => {
    const spent = new Map<string, number>();
    const spend = {
      usdToday: (user: string) => spent.get(user) ?? 0,
      unpricedToday: () => 0,
      charge: (user: string, nanos: number | null) => void spent.set(user, (spent.get(user) ?? 0) + (nanos ?? 0) / 1e9),
    };
    const limited = users.map((user) =>
      user.name === "ada" ? { ...user, requestsPerMinute: 1 } : { ...user, usdPerDay: 1 },
    );
    const { post } = await openGateway(
      { users: limited },
      {
        spend,
        createExchange:
          ({ onEvent }) =>
          async ({ user }, reply) => {
            onEvent({
              kind: "reply-cost",
              user,
              model: "m",
              nanos: 1e9,
              inputTokens: 1,
              outputTokens: 1,
              source: "said",
            });
            reply.head(200, {});
            await reply.end();
          },
      },
    );
    const statuses: unknown[] = [];
    for (const key of ["plk_ada", "plk_ada", "plk_eve", "plk_eve"]) {
      const reply = await post({ "x-api-key": key });
      statuses.push([reply.status, reply.headers.get("x-palimpsest-error"), reply.headers.get("x-should-retry")]);
      if (reply.status === 429) expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(statuses).toEqual([
      [200, null, null],
      [429, "rate-limit", null],
      [200, null, null],
      [429, "spend-limit", "false"],
    ]);
  });
});

it("a request whose exchange fails has ended, in the status and the metrics", async () => {
  const { get, post, events } = await openGateway(
    {},
    {
      createExchange: () => async () => {
        throw new Error("a bug with /home/ada/secret-project in its message");
      },
    },
  );
  expect((await post({ "x-api-key": "k" })).status).toBe(500);
  expect(await (await get("/palimpsest/status.json", secret)).json()).toMatchObject({ running: 0, requests: 1 });
  expect(await (await get("/palimpsest/metrics", secret)).text()).toContain("palimpsest_gateway_running 0\n");
  expect(events.find(({ kind }) => kind === "request-end")).toMatchObject({ outcome: "broken", error: "bug" });
  expect(JSON.stringify(events)).not.toContain("secret-project");
});

it("a new config is taken over by the running gateway", async () => {
  const gateway = await openGateway();
  expect((await gateway.post({ "x-api-key": "plk_ada" })).status).toBe(200);
  const difference = gateway.reload({ ...gateway.config, users, port: 1, names: ["gw.example.org"] });
  expect(difference).toEqual({ changed: ["users", "names"], afterRestart: ["port"] });
  expect((await gateway.post({ "x-api-key": "other" })).status).toBe(401);
  expect((await gateway.post({ "x-api-key": "plk_ada" })).status).toBe(200);
});

it("the address of a gateway on all addresses is one that a client can use", async () => {
  const gateway = await openGateway({ host: "0.0.0.0", insecure: true, users });
  expect(gateway.url).toBe(`http://127.0.0.1:${gateway.port}`);
});

it("a new config that would open a running gateway to strangers changes nothing", async () => {
  const gateway = await openGateway({ host: "0.0.0.0", insecure: true, users });
  const { config } = await openGateway();
  expect(gateway.reload({ ...config, names: ["gw.example.org"] })).toMatchObject({
    changed: [],
    refused: expect.stringContaining("list users with keys") as string,
  });
  const ask = (key: string) =>
    fetch(`${gateway.url}/v1/models`, { headers: { "x-api-key": key, "anthropic-version": "1" } });
  expect((await ask("anything")).status).toBe(401);
  expect((await ask("plk_ada")).status).not.toBe(401);
});

/** PEM texts of a certificate and its key. */
async function makeCertificate(name: string) {
  const folder = await mkdtemp(join(tmpdir(), "gateway-tls-"));
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
  const subject = ["-subj", `/CN=${name}`, "-days", "1", "-nodes"];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"].concat(
      ["-keyout", key, "-out", cert],
      subject,
    ),
    { stdio: "ignore" },
  );
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8"), paths: { key, cert } };
}

describe("with TLS", () => {
  it("a certificate that does not fit its key is refused, at the start and while it runs", async () => {
    const [first, second] = [await makeCertificate("first"), await makeCertificate("second")];
    const path = join(await mkdtemp(join(tmpdir(), "gateway-")), "gateway.json");
    await writeFile(path, JSON.stringify({ tls: { cert: first.paths.cert, key: second.paths.key } }));
    expect(readConfig({ path, env: {} })).toMatchObject({
      kind: "wrong",
      message: expect.stringMatching(/gateway\.json: tls: /) as string,
    });
    const gateway = await openGateway({ tls: first });
    const mixed = { cert: second.cert, key: first.key };
    expect(gateway.reload({ ...gateway.config, tls: mixed, users })).toMatchObject({
      changed: [],
      refused: expect.stringMatching(/^tls: /) as string,
    });
    // Nothing else was taken over either.
    expect(gateway.reload({ ...gateway.config, users }).changed).toEqual(["users"]);
  });

  it("is served by a certificate, which can be renewed while it runs", async () => {
    const gateway = await openGateway({ tls: await makeCertificate("first") });
    const ask = () =>
      new Promise((resolve, reject) => {
        tlsRequest(
          { port: gateway.port, path: "/palimpsest/health", rejectUnauthorized: false, agent: false },
          (reply) => {
            const { socket } = reply;
            resolve([
              reply.statusCode,
              "getPeerCertificate" in socket
                ? (socket as import("node:tls").TLSSocket).getPeerCertificate().subject.CN
                : "",
            ]);
            reply.resume();
          },
        )
          .on("error", reject)
          .end();
      });
    expect(gateway.url).toMatch(/^https:/);
    expect(await ask()).toEqual([200, "first"]);
    expect(gateway.reload({ ...gateway.config, tls: await makeCertificate("second") }).changed).toEqual(["tls"]);
    expect(await ask()).toEqual([200, "second"]);
  });
});
