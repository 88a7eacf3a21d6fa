import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millis } from "palimpsest/internal/schema/brand";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Net, openNet } from "../../tool/web/get-page.ts";
import { addressBytesMax, addressFreshMs } from "../limits.ts";
import { instructionSource } from "./instruction-source.ts";

const folder = mkdtempSync(join(tmpdir(), "addresses-"));
const [keyPath, certPath] = [join(folder, "key.pem"), join(folder, "cert.pem")];
const names = "DNS:rules.test,DNS:other.test,DNS:inner.test";
const start = millis(Date.parse("2026-11-15T12:00:00Z"));

type Answer = (response: ServerResponse, request: IncomingMessage) => void;
const answerByPath = new Map<string, Answer>();
const requests: IncomingMessage[] = [];
let server: Server;
let port = 0;
let net: Net;

beforeAll(async () => {
  const subject = ["-subj", "/CN=rules.test", "-addext", `subjectAltName=${names}`];
  const files = ["-keyout", keyPath, "-out", certPath];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-nodes", "-days", "2", ...subject, ...files], {
    stdio: "ignore",
  });
  server = createServer({ key: readFileSync(keyPath), cert: readFileSync(certPath) }, (request, response) => {
    requests.push(request);
    const answer = answerByPath.get(request.url ?? "");
    if (answer === undefined) response.writeHead(404).end();
    else answer(response, request);
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  port = (server.address() as AddressInfo).port;
  const addressByHost: Readonly<Record<string, string>> = {
    "inner.test": "10.1.2.3",
    "169.254.169.254": "169.254.169.254",
  };
  net = {
    resolve: async (host) => [{ address: addressByHost[host] ?? "127.0.0.1", family: 4 }],
    // The server of this test counts as public; everything else is checked as always.
    mayConnect: (address) => address === "127.0.0.1" || openNet.mayConnect(address),
    ca: readFileSync(certPath, "utf8"),
  };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const text =
  (body: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/markdown", ...headers }).end(body);
  };
const redirect =
  (to: string): Answer =>
  (response) => {
    response.writeHead(302, { location: to }).end();
  };
const address = (path: string, host = "rules.test"): string => `https://${host}:${port}${path}`;

const sourceIn = (home: string, { now = start, over = net, timeoutMs = 4_000 } = {}) => {
  const { fetch } = instructionSource({ net: over, home, now: () => millis(now), timeoutMs });
  if (fetch === undefined) throw new Error("a source fetches");
  return fetch;
};
const newHome = (): string => mkdtempSync(join(folder, "home-"));

describe("an address", () => {
  it("gives its text and the day since which it has it", async () => {
    answerByPath.set("/a.md", text("Be brief."));
    expect(await sourceIn(newHome())(address("/a.md"))).toEqual({
      kind: "text",
      text: "Be brief.",
      fetchedOn: "2026-11-15",
    });
  });

  it.each([
    ["this machine", "127.0.0.1", "127.0.0.1"],
    ["a private net", "192.168.1.1", "192.168.1.1"],
    ["a cloud's own service", "169.254.169.254", "169.254.169.254"],
  ])("that leads to %s is not connected to", async (_, leadsTo, said) => {
    const before = requests.length;
    const over: Net = { ...openNet, resolve: async () => [{ address: leadsTo, family: 4 }] };
    expect(await sourceIn(newHome(), { over })(address("/a.md"))).toEqual({
      kind: "failed",
      why: `rules.test leads to ${said}, which is not on the open net`,
    });
    expect(requests.length).toBe(before);
  });

  it("is connected to where its name led when it was checked", async () => {
    answerByPath.set("/once.md", text("checked"));
    let lookups = 0;
    const resolve: Net["resolve"] = async () => {
      lookups += 1;
      return [{ address: lookups === 1 ? "127.0.0.1" : "10.0.0.1", family: 4 }];
    };
    expect(await sourceIn(newHome(), { over: { ...net, resolve } })(address("/once.md"))).toMatchObject({
      text: "checked",
    });
    expect(lookups).toBe(1);
  });

  it("may redirect three times, also to another host", async () => {
    answerByPath.set("/1", redirect("/2"));
    answerByPath.set("/2", redirect(address("/3", "other.test")));
    answerByPath.set("/3", redirect("/a.md"));
    expect(await sourceIn(newHome())(address("/1"))).toMatchObject({ kind: "text", text: "Be brief." });
  });

  it.each([
    ["four times", () => ["/2", "/3", "/4", "/a.md"], /redirected more than 3 times/],
    ["to a private address", () => [address("/x", "inner.test")], /inner\.test leads to 10\.1\.2\.3/],
    ["to a cloud's own service", () => ["https://169.254.169.254/latest"], /169\.254\.169\.254/],
    ["to plain http", () => [`http://rules.test:${port}/a.md`], /redirects to http:.*no https address/],
  ])("may not redirect %s", async (_, steps, why) => {
    for (const [at, to] of steps().entries()) answerByPath.set(`/${at + 1}`, redirect(to));
    const outcome = await sourceIn(newHome())(address("/1"));
    expect(outcome).toMatchObject({ kind: "failed", why: expect.stringMatching(why) as string });
  });

  it.each([
    ["256 KiB", addressBytesMax, "text"],
    ["a byte more", addressBytesMax + 1, "failed"],
    ["257 KiB", 257 * 1024, "failed"],
  ])("of %s", async (_, size, kind) => {
    answerByPath.set("/long", text("x".repeat(size)));
    expect((await sourceIn(newHome())(address("/long"))).kind).toBe(kind);
  });

  it.each([
    ["that is slow", (response: ServerResponse) => response.write("x"), /took longer than 0\.1 seconds/],
    ["that is no text", (response: ServerResponse) => response.end(Buffer.from([0xff, 0xfe, 0])), /not UTF-8/],
    ["that is not there", (response: ServerResponse) => response.writeHead(404).end(), /answered 404/],
    ["that is a web page", text("<p>", { "content-type": "text/html" }), /a web page/],
  ] as const)("%s gives nothing", async (_, answer, why) => {
    answerByPath.set("/bad", (response, request) => void answer(response, request));
    const outcome = await sourceIn(newHome(), { timeoutMs: 100 })(address("/bad"));
    expect(outcome).toMatchObject({ kind: "failed", why: expect.stringMatching(why) as string });
  });

  it.each([`http://rules.test/a.md`, "https://me:secret@rules.test/", "https://", "ftp://rules.test/"])(
    "like %s is not asked",
    async (url) => {
      expect((await sourceIn(newHome())(url)).kind).toBe("failed");
    },
  );

  it("whose certificate nobody vouches for gives nothing", async () => {
    const { ca: _, ...over } = net;
    expect((await sourceIn(newHome(), { over })(address("/a.md"))).kind).toBe("failed");
  });
});

describe("the copy of an address", () => {
  const hour = 3_600_000;

  it("counts if the address can't be reached, with its age, and only its owner can read it", async () => {
    answerByPath.set("/kept", text("kept"));
    const home = newHome();
    const url = address("/kept");
    await sourceIn(home)(url);
    const [name = ""] = readdirSync(join(home, "instruction-copies"));
    expect(statSync(join(home, "instruction-copies", name)).mode & 0o777).toBe(0o600);
    answerByPath.delete("/kept");
    const outcome = await sourceIn(home, { now: millis(start + 30 * hour) })(url);
    expect(outcome).toEqual({
      kind: "text",
      text: "kept",
      fetchedOn: "2026-11-15",
      notice: `${url}: the host answered 404 Not Found; the copy of 2026-11-15, 30 h old, is used`,
    });
    const offline = instructionSource({ home, now: () => millis(start + 100 * hour) });
    expect(await offline.fetch?.(url)).toMatchObject({ notice: expect.stringContaining("4 days old") as string });
  });

  it("is not asked for again within ten minutes, then only if it changed", async () => {
    answerByPath.set("/same", (response, request) => {
      const isKnown = request.headers["if-none-match"] === '"1"' && request.headers["if-modified-since"] === "then";
      if (isKnown) response.writeHead(304).end();
      else text("same", { etag: '"1"', "last-modified": "then" })(response, request);
    });
    const home = newHome();
    const url = address("/same");
    const count = async (now: number) => {
      const before = requests.length;
      const outcome = await sourceIn(home, { now: millis(now) })(url);
      return [outcome, requests.length - before];
    };
    const same = { kind: "text", text: "same", fetchedOn: "2026-11-15" };
    expect(await count(start)).toEqual([same, 1]);
    expect(await count(start + addressFreshMs - 1)).toEqual([same, 0]);
    expect(await count(start + 48 * hour)).toEqual([same, 1]);
    answerByPath.set("/same", text("other"));
    expect(await count(start + 72 * hour)).toEqual([{ ...same, text: "other", fetchedOn: "2026-11-18" }, 1]);
  });

  it("of the last day is used at once, though the host hangs, and the next session has what came meanwhile", async () => {
    answerByPath.set("/slow", text("first"));
    const home = newHome();
    const url = address("/slow");
    await sourceIn(home)(url);
    const held: ServerResponse[] = [];
    answerByPath.set("/slow", (response) => void held.push(response));
    const later = millis(start + 2 * hour);
    expect(await sourceIn(home, { now: later })(url)).toEqual({
      kind: "text",
      text: "first",
      fetchedOn: "2026-11-15",
    });
    await expect.poll(() => held.length).toBe(1);
    held[0]?.writeHead(200, { "content-type": "text/markdown" }).end("second");
    await expect.poll(() => sourceIn(home, { now: later })(url)).toMatchObject({ text: "second" });
  });
});
