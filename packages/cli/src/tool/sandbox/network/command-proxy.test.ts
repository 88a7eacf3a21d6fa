import { createServer, request, type RequestListener } from "node:http";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../../../test/contract/temporary-folder.ts";
import { type Net, openNet } from "../../web/get-page.ts";
import type { HostAccess, HostTarget } from "./session-hosts.ts";
import { proxyHeaderBytesMax, refusalsKeptMax } from "../limits.ts";
import { proxyConnectionsMax } from "./carrier.ts";
import { openOnLoopback } from "./command-network.ts";
import { CommandProxy } from "./command-proxy.ts";

interface Opened {
  readonly proxy: CommandProxy;
  readonly socketPath: string;
  readonly asked: HostTarget[];
}

/** Every name leads to this machine, which may be connected to. */
const here: Net = { resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]), mayConnect: () => true };

function watched(given: Partial<HostAccess> = {}): { readonly hosts: HostAccess; readonly asked: HostTarget[] } {
  const asked: HostTarget[] = [];
  const { decide = async () => ({ kind: "open" }), isNamed = () => false } = given;
  const hosts: HostAccess = {
    isNamed,
    decide: (target, signal) => {
      asked.push(target);
      return decide(target, signal);
    },
  };
  return { hosts, asked };
}

async function opened(options: { net?: Net; hosts?: Partial<HostAccess> } = {}): Promise<Opened> {
  const { hosts, asked } = watched(options.hosts);
  const proxy = new CommandProxy({ net: options.net ?? here, hosts });
  const socketPath = join(await temporaryFolder(), "p.sock");
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket));
  await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
  onTestFinished(() => {
    proxy.close();
    server.close();
  });
  return { proxy, socketPath, asked };
}

const portOf = (server: Server): number => {
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
};

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return portOf(server);
}

async function web(answer: RequestListener): Promise<{ port: number; heads: string[][] }> {
  const heads: string[][] = [];
  const server = createServer((incoming, response) => {
    heads.push([`${incoming.method} ${incoming.url}`, ...incoming.rawHeaders]);
    answer(incoming, response);
  });
  return { port: await listening(server), heads };
}

/** Answers each piece with the same in capitals, and its end with "!". */
const capitals = (): Promise<number> =>
  listening(
    createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on("data", (chunk) => void socket.write(chunk.toString().toUpperCase()));
      socket.on("end", () => socket.end("!"));
      socket.on("error", () => undefined);
    }),
  );

/** What comes back for these bytes, until the other side ends; `closes`: our own side once all is sent. */
async function said(where: string | number, sent: string, { closes = false } = {}): Promise<string> {
  const socket = typeof where === "string" ? connect(where) : connect(where, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  if (closes) socket.end(sent);
  else socket.write(sent);
  return textOf(socket);
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

const connectTo = (authority: string, headers = ""): string =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${headers}\r\n`;

test("CONNECT passes bytes in both directions, also those behind the end of one", async () => {
  const port = await capitals();
  const { socketPath, asked } = await opened();
  const text = await said(socketPath, `${connectTo(`Registry.Example.org.:${port}`)}hello`, { closes: true });
  expect(text).toBe("HTTP/1.1 200 Connection established\r\n\r\nHELLO!");
  expect(asked).toEqual([{ host: "registry.example.org", port }]);
});

test("a plain request is handed on for the host of its address, without what is between program and proxy", async () => {
  const { port, heads } = await web((_request, response) =>
    response.writeHead(201, ["Set-Cookie", "a", "Set-Cookie", "b"]).end("made"),
  );
  const { socketPath, asked } = await opened();
  const text = await said(
    socketPath,
    `POST http://a.org:${port}/x?y HTTP/1.1\r\nHost: other.org\r\nProxy-Authorization: secret\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-Own: 2\r\nContent-Length: 2\r\n\r\nhi`,
  );
  expect(text).toMatch(/^HTTP\/1\.1 201 Created\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n/);
  expect(text).toContain("made");
  expect(asked).toEqual([{ host: "a.org", port }]);
  expect(heads).toEqual([
    ["POST /x?y", "X-Own", "2", "Content-Length", "2", "host", `a.org:${port}`, "connection", "close"],
  ]);
});

test("a host that is refused is answered with 403 and one line that says why, and no name is looked up", async () => {
  const looked: string[] = [];
  const net: Net = { resolve: async (host) => (looked.push(host), []), mayConnect: () => true };
  const decide = async () => ({ kind: "refused", why: "the user said no:\r\nX: é" }) as const;
  const { proxy, socketPath } = await opened({ net, hosts: { decide } });
  const line = "palimpsest: no connection to a.org: the user said no: X: é";
  for (const sent of [connectTo("a.org:443"), "GET http://a.org:443/ HTTP/1.1\r\nHost: a.org\r\n\r\n"]) {
    const text = await said(socketPath, sent);
    expect(text).toMatch(/^HTTP\/1\.1 403 palimpsest: no connection to a\.org: the user said no: X: \?\r\n/);
    expect(text.split("\r\n\r\n")[1]).toBe(line);
  }
  expect(proxy.refusals()).toEqual([{ host: "a.org", port: 443, why: "the user said no: X: é" }]);
  expect(looked).toEqual([]);
});

test("of many refusals the first are kept", async () => {
  const { proxy, socketPath } = await opened({ hosts: { decide: async () => ({ kind: "refused", why: "no" }) } });
  for (let at = 0; at < refusalsKeptMax + 5; at += 1) await said(socketPath, connectTo(`h${at}.org:443`));
  expect(proxy.refusals().map(({ host }) => host)).toEqual(
    Array.from({ length: refusalsKeptMax }, (_, at) => `h${at}.org`),
  );
});

test.each([
  ["127.0.0.1", "127.0.0.1 is not on the open net"],
  ["2130706433", "127.0.0.1 is not on the open net"],
  ["0x7f.1", "127.0.0.1 is not on the open net"],
  ["[::1]", "[::1] is not on the open net"],
  ["[::ffff:127.0.0.1]", "[::ffff:7f00:1] is not on the open net"],
  ["10.1.2.3", "10.1.2.3 is not on the open net"],
  ["169.254.169.254", "169.254.169.254 is an address that is never opened"],
  ["[fd00:ec2::254]", "[fd00:ec2::254] is an address that is never opened"],
  ["0.0.0.0", "0.0.0.0 is an address that is never opened"],
])("%s is not connected to, though it was decided to be open", async (host, why) => {
  const { socketPath, proxy } = await opened({ net: openNet });
  expect(await said(socketPath, connectTo(`${host}:9`))).toContain(why);
  expect(proxy.refusals()).toHaveLength(1);
});

test("a name that leads to a private address is refused, also where only one of its addresses is", async () => {
  const port = await capitals();
  const addresses = [
    { address: "93.184.216.34", family: 4 },
    { address: "127.0.0.1", family: 4 },
  ];
  const { socketPath } = await opened({ net: { ...openNet, resolve: async () => addresses } });
  expect(await said(socketPath, connectTo(`a.org:${port}`))).toContain(
    "a.org leads to 127.0.0.1, which is not on the open net",
  );
});

test("a rule opens the private address that it names, also under a name that leads there; metadata it does not", async () => {
  const port = await capitals();
  const leadsTo = (address: string): Net => ({ ...openNet, resolve: async () => [{ address, family: 4 }] });
  const isNamed = (host: string): boolean => host === "127.0.0.1" || host === "169.254.169.254";
  const local = await opened({ net: leadsTo("127.0.0.1"), hosts: { isNamed } });
  expect(await said(local.socketPath, `${connectTo(`127.0.0.1:${port}`)}a`, { closes: true })).toMatch(/A!$/);
  expect(await said(local.socketPath, `${connectTo(`a.org:${port}`)}a`, { closes: true })).toMatch(/A!$/);
  const cloud = await opened({ net: leadsTo("169.254.169.254"), hosts: { isNamed } });
  expect(await said(cloud.socketPath, connectTo("a.org:80"))).toContain("never opened");
  expect(await said(cloud.socketPath, connectTo("169.254.169.254:80"))).toContain("never opened");
});

test("localhost opens loopback where a rule names it, and nothing else that it may lead to", async () => {
  const port = await capitals();
  const leadsTo = (address: string): Net => ({ ...openNet, resolve: async () => [{ address, family: 4 }] });
  const isNamed = (host: string): boolean => host === "localhost";
  const { socketPath } = await opened({ net: leadsTo("127.0.0.1"), hosts: { isNamed } });
  expect(await said(socketPath, `${connectTo(`localhost:${port}`)}a`, { closes: true })).toMatch(/A!$/);
  const elsewhere = await opened({ net: leadsTo("10.0.0.1"), hosts: { isNamed } });
  expect(await said(elsewhere.socketPath, connectTo(`localhost:${port}`))).toContain("403");
});

test("a name is looked up once, and what was judged is what is connected to", async () => {
  const port = await capitals();
  let looks = 0;
  const net: Net = {
    resolve: async () => [{ address: (looks += 1) === 1 ? "127.0.0.1" : "127.0.0.9", family: 4 }],
    mayConnect: (address) => address === "127.0.0.1",
  };
  const { socketPath } = await opened({ net });
  expect(await said(socketPath, `${connectTo(`no-such-name.invalid:${port}`)}a`, { closes: true })).toMatch(/A!$/);
  expect(looks).toBe(1);
  expect(await said(socketPath, connectTo(`no-such-name.invalid:${port}`))).toContain("127.0.0.9");
});

test.each([
  ["no port", connectTo("a.org")],
  ["a port that is none", connectTo("a.org:70000")],
  ["a name in front of an @", connectTo("a.org@b.org:443")],
  ["two ports", connectTo("a.org:1:443")],
  ["a zone of a link", connectTo("[fe80::1%25lo]:443")],
  ["a path of this proxy itself", "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"],
  ["a request to be encrypted by the proxy", "GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"],
  ["a file", "GET file:///etc/passwd HTTP/1.1\r\nHost: a.org\r\n\r\n"],
  ["a password in the address", "GET http://u:p@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"],
])("%s is answered with 400, and nobody is asked", async (_name, sent) => {
  const { socketPath, asked } = await opened();
  expect(await said(socketPath, sent)).toMatch(/^HTTP\/1\.1 400 /);
  expect(asked).toEqual([]);
});

test("two lengths of one request are taken for an attack", async () => {
  const { socketPath, asked } = await opened();
  const sent =
    "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  expect(await said(socketPath, sent)).toBe("");
  expect(asked).toEqual([]);
});

test("a head that is too long ends the connection", async () => {
  const { socketPath, asked } = await opened();
  expect(await said(socketPath, connectTo("a.org:443", `X: ${"x".repeat(proxyHeaderBytesMax)}\r\n`))).toBe("");
  expect(asked).toEqual([]);
});

test("a host that takes no connection is answered with 502", async () => {
  const server = createTcpServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  const { socketPath, proxy } = await opened();
  const line = `palimpsest: a.org:${port} is not reached: ECONNREFUSED`;
  expect(await said(socketPath, connectTo(`a.org:${port}`))).toMatch(new RegExp(`^HTTP/1.1 502 [^]*${line}$`));
  const plain = `GET http://a.org:${port}/ HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\n`;
  expect(await said(socketPath, plain)).toContain(line);
  expect(proxy.refusals()).toEqual([]);
});

test("on loopback, where every user can connect, a request without the token is not even looked at", async () => {
  const port = await capitals();
  const { hosts, asked } = watched();
  const made = await openOnLoopback({ net: here, hosts });
  if (made.kind === "failed") throw new Error(made.why);
  onTestFinished(() => made.proxy.close());
  const token = new URL(made.url).password;
  const withToken = (given: string): string =>
    connectTo(
      `a.org:${port}`,
      `Proxy-Authorization: Basic ${Buffer.from(`palimpsest:${given}`).toString("base64")}\r\n`,
    );
  for (const sent of [connectTo(`a.org:${port}`), withToken("other"), withToken(`${token}2`)])
    expect(await said(made.port, sent)).toMatch(/^HTTP\/1\.1 407 /);
  expect(asked).toEqual([]);
  expect(await said(made.port, `${withToken(token)}a`, { closes: true })).toMatch(/A!$/);
});

test("its end ends tunnels and what still waits for an answer, which it calls off", async () => {
  const port = await capitals();
  const aborted = Promise.withResolvers<void>();
  const decide: HostAccess["decide"] = ({ host }, signal) =>
    host === "fast.org"
      ? Promise.resolve({ kind: "open" })
      : new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            aborted.resolve();
            resolve({ kind: "refused", why: "interrupted" });
          }),
        );
  const { proxy, socketPath } = await opened({ hosts: { decide } });
  const tunnel = connect(socketPath);
  tunnel.write(connectTo(`fast.org:${port}`));
  await new Promise((resolve) => tunnel.once("data", resolve));
  const waiting = said(socketPath, connectTo(`slow.org:${port}`));
  const over = textOf(tunnel);
  await new Promise((resolve) => setTimeout(resolve, 20));
  proxy.close();
  expect([await over, await waiting]).toEqual(["", ""]);
  await aborted.promise;
  expect(proxy.refusals()).toEqual([]);
  expect(await said(socketPath, connectTo(`fast.org:${port}`))).toBe("");
});

test("more connections than the limit are not taken", async () => {
  const { socketPath } = await opened({ hosts: { decide: () => new Promise(() => undefined) } });
  const held = Array.from({ length: proxyConnectionsMax }, () => connect(socketPath));
  onTestFinished(() => held.forEach((socket) => void socket.destroy()));
  await Promise.all(held.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  expect(await said(socketPath, connectTo("a.org:443"))).toBe("");
});

test("several requests on one connection are each decided", async () => {
  const { port } = await web((_request, response) => response.end("ok"));
  const { socketPath, asked } = await opened();
  const get = (host: string, rest = ""): string =>
    `GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}\r\n${rest}\r\n`;
  expect(await said(socketPath, get("a.org") + get("b.org", "Connection: close\r\n"))).toMatch(/ok[^]*ok/);
  expect(asked.map(({ host }) => host)).toEqual(["a.org", "b.org"]);
});

test("an upload and a download larger than any buffer come whole", async () => {
  const size = 3 * 2 ** 20;
  const { port } = await web((incoming, response) => incoming.pipe(response));
  const { socketPath } = await opened();
  const sent = request({ socketPath, method: "POST", path: `http://a.org:${port}/` });
  sent.end(Buffer.alloc(size, "x"));
  const answer = await new Promise<AsyncIterable<Buffer>>((resolve) => sent.once("response", resolve));
  let got = 0;
  for await (const chunk of answer) got += chunk.length;
  expect(got).toBe(size);
});
