import { connect } from "node:net";
import { createServer } from "node:http";
import { serveGateway, type ServeGatewayOptions } from "@palimpsest/gateway";
import { type GatewayConfig, readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import type { ClientRequest } from "@palimpsest/gateway/internal/exchange/exchange";
import type { GatewayEvent } from "@palimpsest/gateway/internal/operate/gateway-event";
import { hashKey } from "@palimpsest/gateway/internal/operate/users";
import { afterEach, describe, expect, it } from "vitest";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** An upstream that writes down what it gets, and a gateway before it. */
async function openGateway(change: Partial<GatewayConfig> = {}, options: Partial<ServeGatewayOptions> = {}) {
  const received: { readonly line: string; readonly headers: readonly string[]; body: string }[] = [];
  const server = createServer((request, response) => {
    const seen = { line: `${request.method} ${request.url}`, headers: request.rawHeaders, body: "" };
    received.push(seen);
    request.on("data", (chunk: Buffer) => (seen.body += chunk.toString()));
    request.on("end", () => response.end("from upstream"));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const anthropic = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const read = readConfig({ env: {}, overrides: { port: 0, upstream: { anthropic, openai: anthropic } } });
  if (read.kind !== "config") throw new Error(read.message);
  const events: GatewayEvent[] = [];
  const config = { ...read.config, ...change };
  const onEvent = (event: GatewayEvent): void => void events.push(event);
  const gateway = await serveGateway({ secret: "s".repeat(64), onEvent, ...options, config });
  if (gateway.kind === "failed") throw new Error(gateway.message);
  closers.push(() => gateway.close({ drainMs: 0 }));
  return { ...gateway, received, events };
}

/** Sends bytes as they are; resolves with all that came back until the connection ended, or was quiet after an answer. */
function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1"));
    const settle = (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(10_000, settle);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      socket.setTimeout(300);
    });
    socket.on("close", settle).on("error", settle);
  });
}

const head = (lines: readonly string[]): string => `${lines.join("\r\n")}\r\n\r\n`;
const post = "POST /v1/messages HTTP/1.1";
const host = "Host: 127.0.0.1\r\nConnection: close";
const statuses = (answer: string): readonly string[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = ""]) => status);

describe("tricks with paths", () => {
  it("neither reach another place of the upstream nor the gateway's own pages", async () => {
    const { port, received } = await openGateway();
    for (const path of [
      "/v1/../palimpsest/status.json",
      "/v1/%2e%2e/admin",
      "/v1/messages/..%2f..%2fadmin",
      "//evil.example/v1/messages",
      "/v1//messages",
      "/v1\\..\\admin",
      "/v1/messages%00",
      "http://evil.example/v1/messages",
      "http://127.0.0.1/v1/messages",
      "/project/Li4/../../v1/messages",
      "/project//v1/messages",
    ]) {
      const answer = await sendRaw(port, head([`GET ${path} HTTP/1.1`, host]));
      expect(statuses(answer), path).toEqual(["400"]);
    }
    expect(await sendRaw(port, head(["CONNECT evil.example:443 HTTP/1.1", host]))).not.toContain("200");
    expect(received).toEqual([]);
  });

  it("that only look like the gateway's own pages do not open them", async () => {
    const { port, received } = await openGateway();
    for (const path of ["/palimpsest/status.json", "/palimpsest/metrics", "/project/YQ/palimpsest/metrics"])
      expect(statuses(await sendRaw(port, head([`GET ${path} HTTP/1.1`, host]))), path).toEqual(["401"]);
    expect(received).toEqual([]);
  });
});

describe("a head that two servers could read in two ways", () => {
  const smuggled = "GET /v1/admin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  it.each([
    ["a length and chunks", [post, host, "Content-Length: 5", "Transfer-Encoding: chunked"], `0\r\n\r\n${smuggled}`],
    ["chunks and a length", [post, host, "Transfer-Encoding: chunked", "Content-Length: 5"], `0\r\n\r\n${smuggled}`],
    ["two lengths", [post, host, "Content-Length: 2", "Content-Length: 60"], `{}${smuggled}`],
    ["two lengths in one", [post, host, "Content-Length: 2, 60"], `{}${smuggled}`],
    ["a signed length", [post, host, "Content-Length: +2"], `{}${smuggled}`],
    ["a hidden encoding", [post, host, "Transfer-Encoding: xchunked"], `0\r\n\r\n${smuggled}`],
    ["two encodings", [post, host, "Transfer-Encoding: chunked, identity"], `0\r\n\r\n${smuggled}`],
    ["another encoding before chunks", [post, host, "Transfer-Encoding: gzip, chunked"], `0\r\n\r\n${smuggled}`],
    [
      "an encoding with a tab",
      [post, host, "Transfer-Encoding:\tchunked", "Content-Length: 5"],
      `0\r\n\r\n${smuggled}`,
    ],
    ["a space before the colon", [post, host, "Content-Length : 2"], `{}${smuggled}`],
    ["a folded line", [post, host, "X-A: 1\r\n Transfer-Encoding: chunked"], ""],
    ["a bare line feed", [`${post}\nX-A: 1`, host], ""],
    ["a bare carriage return", [post, host, "X-A: 1\rTransfer-Encoding: chunked"], ""],
    ["a zero byte", [post, host, "X-A: 1\u0000"], ""],
    ["two hosts", [post, host, "Host: evil.example"], ""],
    ["no host", [post, "Connection: close"], ""],
    ["two keys", [post, host, "X-Api-Key: a", "X-Api-Key: b"], ""],
    ["two tokens", [post, host, "Authorization: Bearer a", "Authorization: Bearer b"], ""],
    ["a wrong chunk size", [post, host, "Transfer-Encoding: chunked"], `0x5\r\nhello\r\n0\r\n\r\n${smuggled}`],
    ["an old version", ["POST /v1/messages HTTP/1.0", host], ""],
  ])("is refused: %s", async (_, lines, body) => {
    const { port, received } = await openGateway();
    const answer = await sendRaw(port, head(lines) + body);
    expect(statuses(answer)[0]).toMatch(/^4\d\d$/);
    expect(answer).not.toContain("from upstream");
    expect(received).toEqual([]);
  });

  it("does not carry headers of the connection upstream, nor those that it lists", async () => {
    const { port, received } = await openGateway();
    const lines = [
      post,
      "Host: 127.0.0.1",
      "Connection: close, X-Listed, X-Api-Key",
      "X-Listed: 1",
      "X-Api-Key: secret",
      "Proxy-Authorization: Basic x",
      "TE: trailers",
      "Keep-Alive: timeout=5",
      "X-Palimpsest-Key: plk_x",
      "X-Kept: 1",
      "Content-Length: 2",
    ];
    expect(statuses(await sendRaw(port, `${head(lines)}{}`))).toEqual(["200"]);
    const names = (received[0]?.headers ?? []).filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names).toContain("x-kept");
    for (const name of ["x-listed", "x-api-key", "proxy-authorization", "te", "keep-alive", "x-palimpsest-key"])
      expect(names).not.toContain(name);
    expect(received[0]?.headers.join(" ")).not.toContain("127.0.0.1 X-Listed");
  });

  it("does not let one request's body become another request", async () => {
    const { port, received } = await openGateway();
    const body = smuggled;
    const first = head([post, "Host: 127.0.0.1", `Content-Length: ${body.length}`]) + body;
    const answer = await sendRaw(port, first + head(["GET /v1/models HTTP/1.1", host]));
    expect(statuses(answer)).toEqual(["200", "200"]);
    expect(received.map(({ line }) => line).toSorted()).toEqual(["GET /v1/models", "POST /v1/messages"]);
    expect(received.find(({ line }) => line.startsWith("POST"))?.body).toBe(body);
  });

  it("ends with its connection if it is huge", async () => {
    const { port, received } = await openGateway();
    expect(statuses(await sendRaw(port, head([post, host, `X-A: ${"a".repeat(100_000)}`])))).toEqual(["431"]);
    expect(received).toEqual([]);
  });
});

describe("a body", () => {
  const limited = {
    name: "ada",
    keySha256: hashKey("plk_ada"),
    upstreamKeys: { anthropic: "sk-operator", openai: "sk-operator" },
  };

  it("that says it is too large is refused before it is read, if it is sent with the operator's key", async () => {
    const { port, received } = await openGateway({ users: [limited] });
    const answer = await sendRaw(port, `${head([post, host, "x-api-key: plk_ada", "Content-Length: 33554433"])}{`);
    expect(statuses(answer)).toEqual(["413"]);
    expect(answer).toContain('"request_too_large"');
    expect(received).toEqual([]);
  });

  it.each(["content-length", "chunked"])(
    "that is larger than what is read is passed on as it comes (%s)",
    async (form) => {
      const { url, received, events } = await openGateway();
      const [piece, count] = [Buffer.alloc(1024 * 1024, "a"), 40];
      const pieces = Array.from({ length: count }, () => piece);
      const body =
        form === "chunked"
          ? new ReadableStream({
              pull: (controller) => {
                const next = pieces.pop();
                if (next === undefined) controller.close();
                else controller.enqueue(next);
              },
            })
          : Buffer.concat(pieces);
      const reply = await fetch(`${url}/v1/responses`, { method: "POST", body, duplex: "half" });
      expect([reply.status, await reply.text()]).toEqual([200, "from upstream"]);
      expect(received.map((one) => [one.line, one.body.length])).toEqual([["POST /v1/responses", count * 1024 * 1024]]);
      expect(events).toContainEqual(expect.objectContaining({ kind: "failed-open", step: "body" }));
    },
  );

  it("that grows too large is refused in the provider's form, and the client gets to read it", async () => {
    const { url, received } = await openGateway({ users: [limited] });
    const headers = { authorization: "Bearer plk_ada" };
    const chunk = Buffer.alloc(1024 * 1024, "a");
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(chunk),
    });
    const reply = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body, duplex: "half" });
    expect(reply.status).toBe(413);
    expect(await reply.json()).toMatchObject({ error: { code: "too_large" } });
    expect(received).toEqual([]);
  });

  it("that stands still is not waited for", async () => {
    const { port, received } = await openGateway({}, { timeouts: { bodyIdleMs: 150 } });
    const answer = await sendRaw(port, `${head([post, host, "Content-Length: 100"])}{"a"`);
    expect(statuses(answer)).toEqual(["408"]);
    expect(answer).toContain('"timeout_error"');
    expect(received).toEqual([]);
  });

  it("of a passed request that stands still is cut as well", async () => {
    const { port, events } = await openGateway({}, { timeouts: { bodyIdleMs: 150 } });
    const answer = await sendRaw(port, `${head(["POST /v1/files HTTP/1.1", host, "Content-Length: 100"])}abc`);
    expect(statuses(answer)).toEqual(["408"]);
    expect(events).toContainEqual(expect.objectContaining({ operation: "pass", status: 408, error: "slow-body" }));
  });

  it("that comes byte by byte is not waited for longer than all bodies", async () => {
    const { port } = await openGateway({}, { timeouts: { bodyMs: 1_000, requestHeadMs: 500 } });
    const startedAt = performance.now();
    await new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(head([post, host, "Content-Length: 1000"])));
      const drip = setInterval(() => socket.write("a"), 50);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          clearInterval(drip);
          resolve();
        });
      socket.resume();
    });
    expect(performance.now() - startedAt).toBeLessThan(6_000);
  });

  it("is not reached by a head that comes byte by byte", async () => {
    const { port, events } = await openGateway({}, { timeouts: { requestHeadMs: 300 } });
    expect(statuses(await sendRaw(port, `${post}\r\nX-A: `))).toEqual(["408"]);
    expect(events).toContainEqual({ kind: "malformed", code: "ERR_HTTP_REQUEST_TIMEOUT" });
  });
});

describe("a page in a browser", () => {
  it("is refused by its Host, however its name leads here", async () => {
    const { port, received } = await openGateway();
    for (const name of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example:80",
      "127.0.0.1@evil",
      "0",
      "",
    ])
      expect(statuses(await sendRaw(port, head([post, `Host: ${name}`, "Connection: close"])))[0], name).toMatch(
        /^40[03]$/,
      );
    expect(received).toEqual([]);
    for (const name of [`localhost:${port}`, "127.0.0.1", `[::1]:${port}`, "LOCALHOST:9"])
      expect(
        statuses(await sendRaw(port, head(["GET /v1/models HTTP/1.1", `Host: ${name}`, "Connection: close"]))),
        name,
      ).toEqual(["200"]);
  });

  it("is refused by its Origin, unless the config has it", async () => {
    const origins = ["https://app.example.org"];
    const { port, received } = await openGateway({ origins, names: ["gw.example.org"] });
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1", "https://app.example.org.evil.example"])
      expect(statuses(await sendRaw(port, head([post, host, `Origin: ${origin}`]))), origin).toEqual(["403"]);
    expect(received).toEqual([]);
    const allowed = [
      "GET /v1/models HTTP/1.1",
      "Host: gw.example.org\r\nConnection: close",
      "Origin: https://app.example.org",
    ];
    expect(statuses(await sendRaw(port, head(allowed)))).toEqual(["200"]);
  });
});

it("a request that comes back to its own gateway is refused, and not sent round for ever", async () => {
  const relay = createServer((request, response) => {
    const { host: _, ...headers } = request.headers;
    const send = async (): Promise<void> => {
      const reply = await fetch(`${back}${request.url}`, { headers: headers as Record<string, string> });
      response.writeHead(reply.status, { "x-palimpsest-error": reply.headers.get("x-palimpsest-error") ?? "" });
      response.end(await reply.text());
    };
    void send();
  });
  await new Promise<void>((resolve) => {
    relay.listen(0, "127.0.0.1", resolve);
  });
  closers.push(async () => void relay.close());
  const address = relay.address();
  const anthropic = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const gateway = await openGateway({ upstream: { anthropic } });
  const back = gateway.url;
  const reply = await fetch(`${gateway.url}/v1/models`);
  expect([reply.status, reply.headers.get("x-palimpsest-error")]).toEqual([508, "loop"]);
});

it("a client that does not read its reply is not waited for without end", async () => {
  let isOver = false;
  const { port, events } = await openGateway(
    {},
    {
      timeouts: { stalledMs: 100 },
      createExchange: () => async (request, reply) => {
        reply.head(200, {});
        while (!request.signal.aborted) await reply.write(Buffer.alloc(1024 * 1024));
        isOver = true;
      },
    },
  );
  const socket = connect(port, "127.0.0.1", () => socket.write(`${head([post, host, "Content-Length: 2"])}{}`));
  closers.push(async () => void socket.destroy());
  socket.on("error", () => undefined).pause();
  await expect.poll(() => isOver, { timeout: 5_000 }).toBe(true);
  await expect.poll(() => events.find(({ kind }) => kind === "request-end")).toMatchObject({ outcome: "client-gone" });
});

it("a token for one API never goes to the other, also behind a project in the path", async () => {
  const elsewhere = await openGateway();
  const { url, received } = await openGateway();
  const gateway = await openGateway({ upstream: { anthropic: url, openai: elsewhere.url } });
  for (const path of ["/api/oauth/profile", "/project/L3A/api/oauth/profile", "/project/L3A/v1/skills"])
    await fetch(`${gateway.url}${path}`, { headers: { authorization: "Bearer a-login" } });
  expect(received.map(({ line }) => line)).toEqual([
    "GET /api/oauth/profile",
    "GET /api/oauth/profile",
    "GET /v1/skills",
  ]);
  expect(elsewhere.received).toEqual([]);
});

describe("another user", () => {
  const users = ["ada", "eve"].map((name) => ({
    name,
    keySha256: hashKey(`plk_${name}`),
    upstreamKeys: { anthropic: `sk-up-${name}` },
  }));

  it("is not taken for the one whose session id, project or name it sends", async () => {
    const seen: ClientRequest[] = [];
    const { url } = await openGateway(
      { users },
      {
        createExchange: () => async (request, reply) => {
          seen.push(request);
          reply.head(200, {});
          await reply.end();
        },
      },
    );
    const project = Buffer.from("/home/ada/project").toString("base64url");
    await fetch(`${url}/project/${project}/v1/messages`, {
      method: "POST",
      body: "{}",
      headers: { "x-api-key": "plk_eve", "x-claude-code-session-id": "session-of-ada", "x-palimpsest-user": "ada" },
    });
    expect(seen.map(({ user, headers }) => [user, headers["x-api-key"]])).toEqual([["eve", "sk-up-eve"]]);
  });

  it("with no key, a wrong key, the hash of a key or an upstream's key gets nothing", async () => {
    const { url, received } = await openGateway({ users });
    for (const key of ["", "wrong", hashKey("plk_ada"), "sk-up-ada", "s".repeat(64)])
      for (const path of ["/v1/messages", "/v1/models", "/v1/responses", "/api/hello"]) {
        const reply = await fetch(`${url}${path}`, { method: "POST", body: "{}", headers: { "x-api-key": key } });
        expect(reply.status, `${key} ${path}`).toBe(401);
        expect(await reply.text()).not.toContain("sk-up");
      }
    expect(received).toEqual([]);
  });

  it("leaves neither keys nor bodies in what is told of it", async () => {
    const { url, events } = await openGateway({ users });
    const send = (key: string) =>
      fetch(`${url}/v1/messages?token=query-secret`, {
        method: "POST",
        body: '{"text":"body-secret"}',
        headers: { "x-api-key": key },
      });
    await (await send("plk_ada")).text();
    await send("plk_wrong");
    const text = JSON.stringify(events);
    expect(text).toContain('"user":"ada"');
    for (const secret of ["plk_", "sk-up", "body-secret", "query-secret"]) expect(text).not.toContain(secret);
  });
});
