import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { ByteQueue } from "./byte-queue.ts";
import { plainUpstream } from "./plain-upstream.ts";
import { forwardHeaders, returnHeaders } from "./headers.ts";
import {
  UpstreamBroken,
  UpstreamPools,
  type UpstreamRequest,
  type UpstreamSummary,
  type UpstreamTimeouts,
} from "./upstream.ts";
import { isPlainText, parseUpstreamUrl } from "./upstream-url.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

function pools(url: string, options: UpstreamTimeouts = {}) {
  const outcomes: UpstreamSummary[] = [];
  const opened = new UpstreamPools({
    urls: { anthropic: url },
    timeouts: options,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  closers.push(() => opened.close());
  return { opened, outcomes };
}

const request = (fields: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  provider: "anthropic",
  method: "POST",
  path: "/v1/messages?beta=true",
  headers: { "content-type": "application/json" },
  body: [Buffer.from('{"a":'), Buffer.from("1}")],
  signal: new AbortController().signal,
  ...fields,
});

async function text(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("a request to the upstream", () => {
  it("does not wait for ever for a connection, and is not sent when one is free at last", async () => {
    const seen: string[] = [];
    const { url } = await serve((incoming, response) => {
      seen.push(incoming.url ?? "");
      response.write("begun");
      setTimeout(() => response.end(), 300);
    });
    const { opened } = pools(url, { connections: 1, waitMs: 50 });
    const first = await opened.send(request({ path: "/first" }));
    expect(await opened.send(request({ path: "/second" }))).toMatchObject({ kind: "failed", why: "timeout" });
    if (first.kind === "reply") expect(await text(first.body)).toBe("begun");
    const third = await opened.send(request({ path: "/third" }));
    if (third.kind === "reply") await text(third.body);
    expect(seen).toEqual(["/first", "/third"]);
  });

  it("has its path behind that of the base URL, its pieces as one body, and its reply as it came", async () => {
    const { url } = await serve((incoming, response) => {
      let body = "";
      incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
      incoming.on("end", () => {
        response.writeHead(201, { "x-any": "kept", "keep-alive": "timeout=3", "alt-svc": 'h3=":443"' });
        response.end(`${incoming.url} ${incoming.headers["content-length"]} ${body}`);
      });
    });
    const { opened, outcomes } = pools(`${url}/base/v1/`);
    const reply = await opened.send(request());
    if (reply.kind !== "reply") throw new Error(reply.message);
    expect(await text(reply.body)).toBe('/base/v1/messages?beta=true 7 {"a":1}');
    expect(reply.status).toBe(201);
    expect(reply.headers["x-any"]).toBe("kept");
    expect(Object.keys(reply.headers)).not.toEqual(expect.arrayContaining(["keep-alive"]));
    expect(reply.headers["alt-svc"]).toBeUndefined();
    expect(outcomes).toMatchObject([{ provider: "anthropic", status: 201 }]);
  });

  it("takes a connection that is open already", async () => {
    const ports = new Set<number | undefined>();
    const { url } = await serve((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.end("x");
    });
    const { opened } = pools(url);
    for (let turn = 0; turn < 10; turn += 1) {
      const reply = await opened.send(request());
      if (reply.kind === "reply") await text(reply.body);
    }
    // The next request may be there before the last one's connection is free.
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  it("is sent once more if the upstream closed the idle connection under it", async () => {
    let count = 0;
    const { url } = await serve((incoming, response) => {
      count += 1;
      if (count === 2) incoming.socket.destroy();
      else response.end(String(count));
    });
    const { opened } = pools(url);
    const first = await opened.send(request());
    if (first.kind === "reply") await text(first.body);
    const second = await opened.send(request());
    expect(second.kind === "reply" ? await text(second.body) : second.message).toBe("3");
  });
});

describe("a failure is data", () => {
  it("says that nobody listens, that nobody answers, and that there is no such upstream", async () => {
    const { url, server } = await serve(() => undefined);
    const slow = pools(url, { headMs: 50 });
    expect(await slow.opened.send(request())).toMatchObject({ kind: "failed", why: "timeout" });
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
    expect(await slow.opened.send(request())).toMatchObject({ kind: "failed", why: "unreachable" });
    expect(await slow.opened.send(request({ provider: "openai-chat" }))).toMatchObject({ why: "absent" });
    expect(slow.outcomes.map(({ why }) => why)).toEqual(["timeout", "unreachable"]);
  });

  it("of a reply that breaks is thrown after what came", async () => {
    const { url } = await serve((_, response) => {
      response.write("part");
      setTimeout(() => response.destroy(), 20);
    });
    const reply = await pools(url).opened.send(request());
    if (reply.kind !== "reply") throw new Error(reply.message);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of reply.body) seen.push(Buffer.from(chunk).toString());
    })();
    await expect(reading).rejects.toBeInstanceOf(UpstreamBroken);
    expect(seen).toEqual(["part"]);
  });

  it("of a reply that stands still is a timeout", async () => {
    const { url } = await serve((_, response) => response.write("part"));
    const reply = await pools(url, { idleMs: 60 }).opened.send(request());
    if (reply.kind !== "reply") throw new Error(reply.message);
    await expect(text(reply.body)).rejects.toMatchObject({ why: "timeout" });
  });

  it("ends the upstream's request when the client has gone, before and in its reply", async () => {
    let closed = 0;
    const { url } = await serve((incoming, response) => {
      response.on("close", () => (closed += 1));
      if (incoming.url === "/in") response.write("part");
    });
    const { opened } = pools(url);
    const before = new AbortController();
    const waiting = opened.send(request({ path: "/before", signal: before.signal }));
    await wait(50);
    before.abort();
    expect(await waiting).toMatchObject({ kind: "failed", why: "cancelled" });
    const during = new AbortController();
    const reply = await opened.send(request({ path: "/in", signal: during.signal }));
    during.abort();
    await expect(reply.kind === "reply" ? text(reply.body) : "no reply").rejects.toMatchObject({ why: "cancelled" });
    await expect.poll(() => closed).toBe(2);
    expect(await opened.send(request({ signal: during.signal }))).toMatchObject({ why: "cancelled" });
  });
});

it("holds the upstream back while the client does not read", async () => {
  let sent = 0;
  const { url } = await serve((_, response) => {
    const push = (): void => {
      while (sent < 64 * 1024 * 1024) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once("drain", push);
      }
      response.end();
    };
    push();
  });
  const reply = await pools(url).opened.send(request());
  if (reply.kind !== "reply") throw new Error(reply.message);
  await wait(150);
  expect(sent).toBeLessThan(32 * 1024 * 1024);
  let bytes = 0;
  for await (const chunk of reply.body) bytes += chunk.byteLength;
  expect(bytes).toBe(64 * 1024 * 1024);
});

describe("headers", () => {
  it("of a connection, and those that it lists, do not pass; all others do", () => {
    const sent = {
      host: "here",
      connection: "close, X-Listed",
      "x-listed": "secret",
      "transfer-encoding": "chunked",
      te: "trailers",
      "proxy-authorization": "Basic x",
      "content-length": "3",
      "x-palimpsest-key": "plk_1",
      "anthropic-beta": "unknown-2099-01-01",
      "x-api-key": "k",
      "accept-encoding": "br",
    };
    const passed = { "anthropic-beta": "unknown-2099-01-01", "x-api-key": "k", "accept-encoding": "br" };
    expect(forwardHeaders(sent)).toEqual(passed);
    expect(returnHeaders({ connection: "x-a", "x-a": "1", "content-encoding": "gzip", "content-length": "3" })).toEqual(
      {
        "content-encoding": "gzip",
        "content-length": "3",
      },
    );
  });
});

describe("the bytes of a reply", () => {
  it("are one chunk if they have come together, and none is lost before the end or an error", async () => {
    let taken = 0;
    const queue = new ByteQueue({ onTake: () => (taken += 1), onCancel: () => undefined });
    for (const text of ["a", "b", "c"]) queue.push(Buffer.from(text));
    expect(queue.bytes).toBe(3);
    queue.end(new Error("broken"));
    expect(Buffer.from((await queue.next()).value ?? []).toString()).toBe("abc");
    expect([queue.bytes, taken]).toEqual([0, 1]);
    await expect(queue.next()).rejects.toThrow("broken");
  });
});

describe("a compressed reply", () => {
  it("is decoded as it comes, and ends its request when nobody reads it any more", async () => {
    let isCancelled = false;
    const queue = new ByteQueue({ onTake: () => undefined, onCancel: () => void (isCancelled = true) });
    const packed = gzipSync("data: 1\n\ndata: 2\n\n", { level: 0 });
    queue.push(packed.subarray(0, -8));
    const headers = { "content-encoding": "GZIP", "content-length": "99", "x-a": "1" };
    const reply = { kind: "reply", status: 200, headers, body: queue } as const;
    const outcome = await plainUpstream({ send: () => Promise.resolve(reply) }).send(request());
    if (outcome.kind !== "reply") return expect.unreachable();
    expect(outcome.headers).toEqual({ "x-a": "1" });
    for await (const chunk of outcome.body) {
      expect(Buffer.from(chunk).toString()).toBe("data: 1\n\ndata: 2\n\n");
      break;
    }
    expect(isCancelled).toBe(true);
  });
});

describe("a base URL", () => {
  it("may end in /v1 and have a path before it", () => {
    expect(parseUpstreamUrl("https://api.openai.com/v1")).toEqual({
      kind: "url",
      origin: "https://api.openai.com",
      prefix: "",
    });
    expect(parseUpstreamUrl("http://127.0.0.1:8787/some/path/")).toMatchObject({ prefix: "/some/path" });
  });

  it("holds no credentials, no query and no other scheme", () => {
    for (const wrong of ["api.openai.com", "ftp://x", "https://me:pw@x", "https://x/?a=1", "https://x/#a"])
      expect(parseUpstreamUrl(wrong), wrong).toMatchObject({ kind: "wrong" });
  });

  it("sends keys as plain text if it has no TLS and leaves this machine", () => {
    expect(["http://10.0.0.1", "https://10.0.0.1", "http://127.0.0.1:1", "http://[::1]:1"].map(isPlainText)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
