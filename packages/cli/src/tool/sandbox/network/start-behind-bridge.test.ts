import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTcpServer, type Server } from "node:net";
import { readdir, stat } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { needsBubblewrap, noBubblewrap } from "../../../../../../test/fixture/sandbox-available.ts";
import type { Net } from "../../web/get-page.ts";
import { startBehindBridge } from "./start-behind-bridge.ts";
import type { HostAccess } from "./session-hosts.ts";
import { openOnPipes } from "./command-network.ts";

/** Every name leads to this machine, which may be connected to. */
const here: Net = { resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]), mayConnect: () => true };

let web: Server;
const seen: IncomingMessage[] = [];
const portOf = (server: Server): number => {
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
};

beforeAll(async () => {
  web = createServer((request, response) => {
    seen.push(request);
    response.end(`hello ${request.headers.host} ${request.url}\n`);
  });
  await new Promise<void>((resolve) => void web.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void web.close());

interface Inside {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
  /** What came on descriptor 3. */
  readonly third: string;
  readonly refused: readonly string[];
}

interface Running {
  readonly hosts?: Partial<HostAccess>;
  readonly env?: Readonly<Record<string, string>>;
  readonly program?: string;
  /** Called once it has said something. */
  readonly onOutput?: (sandbox: ChildProcess) => void;
}

/** Runs a line behind the bridge in a sandbox with nothing but loopback. */
async function inside(
  line: string,
  { hosts = {}, env = {}, program = "/bin/bash", onOutput }: Running = {},
): Promise<Inside> {
  const { decide = async () => ({ kind: "open" }), isNamed = () => false } = hosts;
  const made = await openOnPipes({ net: here, hosts: { decide, isNamed } });
  if (made.kind === "failed") throw new Error(made.why);
  onTestFinished(() => made.proxy.close());
  const start = startBehindBridge(
    { program, args: ["-c", line], cwd: "/", env: { PATH: process.env["PATH"] ?? "", ...env } },
    { folder: "/run/net" },
  );
  const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"];
  const walls = ["--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", made.folder, "/run/net", "--"];
  const child = spawn("bwrap", [...mounts, ...walls, start.program, ...start.args], {
    env: start.env,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const texts = ["", "", "", ""];
  for (const at of [1, 2, 3]) child.stdio[at]?.on("data", (chunk: Buffer) => (texts[at] += chunk.toString()));
  if (onOutput !== undefined) child.stdio[1]?.once("data", () => onOutput(child));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once("close", (...how) => resolve(how)),
  );
  const refused = made.proxy.refusals().map(({ host, why }) => `${host}: ${why}`);
  await made.proxy.close();
  return { code, signal, out: texts[1] ?? "", err: texts[2] ?? "", third: texts[3] ?? "", refused };
}

const url = (path: string): string => `http://registry.test:${portOf(web)}${path}`;
const node = JSON.stringify(process.execPath);
const fetching = (to: string): string =>
  `${node} -e 'fetch("${to}").then(async (a) => console.log(a.status, await a.text()), (e) => console.log(e.cause?.message ?? e.message))'`;

describe.skipIf(noBubblewrap)(`in a sandbox: ${needsBubblewrap("bubblewrap")}`, () => {
  test("node's fetch, curl and git reach a host that is open", async () => {
    const tried = [
      fetching(url("/by-node")),
      `if command -v curl >/dev/null; then curl -s ${url("/by-curl")}; else echo no curl; fi`,
      `git ls-remote ${url("/by-git")} 2>&1; true`,
    ];
    const { out } = await inside(tried.join("\n"));
    expect(out).toMatch(/^200 hello registry\.test:\d+ \/by-node\n/);
    expect(out).toMatch(/hello registry\.test:\d+ \/by-curl|no curl/);
    expect(seen.map((request) => request.url)).toContain("/by-git/info/refs?service=git-upload-pack");
  });

  test("what is refused fails, with the reason, and is known outside", async () => {
    const plain = `${node} -e 'const { port } = new URL(process.env.HTTP_PROXY); require("http").get({ port, path: "${url("/no")}" }, (a) => { console.log(a.statusCode, a.statusMessage); a.pipe(process.stdout); })'`;
    const { out, refused } = await inside(`${plain}; ${fetching("https://other.test/")}`, {
      hosts: { decide: async () => ({ kind: "refused", why: "the user said no" }) },
    });
    const line = "palimpsest: no connection to registry.test: the user said no";
    expect(out).toMatch(new RegExp(`^403 ${line}\\n${line}.*cancelled`, "s"));
    expect(refused).toEqual(["registry.test: the user said no", "other.test: the user said no"]);
    expect(seen.map((request) => request.url)).not.toContain("/no");
  });

  test("a connection past the proxy leads nowhere, and loopback is the sandbox's own", async () => {
    const direct = (host: string): string =>
      `(exec 5<>/dev/tcp/${host}/${portOf(web)}) 2>/dev/null && echo reached ${host} || echo none ${host}`;
    const served = `${node} -e 'require("http").createServer((q, a) => a.end("own")).listen(0, "127.0.0.1", async function () { console.log(await (await fetch("http://127.0.0.1:" + this.address().port)).text()); process.exit() })'`;
    const { out, refused } = await inside([direct("127.0.0.1"), direct("192.0.2.1"), served].join("\n"));
    expect(out).toBe("none 127.0.0.1\nnone 192.0.2.1\nown\n");
    expect(refused).toEqual([]);
  });

  test("streams, descriptor 3, folder, environment and exit code are the program's own", async () => {
    const line = `echo out; echo err >&2; echo third >&3; pwd; echo "$NODE_OPTIONS|$NODE_DEBUG|$MINE"; env | grep -c PALIMPSEST_; ls /proc/$$/fd; exit 7`;
    const env = { NODE_OPTIONS: "--require=/none.js", NODE_DEBUG: "net", MINE: "x=y z" };
    const got = await inside(line, { env });
    expect(got).toMatchObject({ code: 7, err: "err\n", third: "third\n" });
    const [out, folder, values, ours, ...descriptors] = got.out.trimEnd().split("\n");
    expect([out, folder, values, ours]).toEqual(["out", process.cwd(), "--require=/none.js|net|x=y z", "0"]);
    // Higher ones are bash's own, or those of whoever runs the tests.
    expect(descriptors.filter((one) => Number(one) < 10)).toEqual(["0", "1", "2", "3"]);
  });

  test("programs are told of the proxy in every way they know", async () => {
    const { out } = await inside("env", { env: { HTTPS_PROXY: "http://other", JAVA_TOOL_OPTIONS: "-Xmx1g" } });
    const values = new Map(
      out.split("\n").map((line) => [line.split("=", 1)[0] ?? "", line.slice(line.indexOf("=") + 1)]),
    );
    const proxy = values.get("HTTP_PROXY") ?? "";
    expect(proxy).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const name of [
      "HTTPS_PROXY",
      "ALL_PROXY",
      "http_proxy",
      "https_proxy",
      "all_proxy",
      "npm_config_proxy",
      "npm_config_https_proxy",
    ])
      expect([name, values.get(name)]).toEqual([name, proxy]);
    expect(values.get("NODE_USE_ENV_PROXY")).toBe("1");
    expect(values.get("NO_PROXY")).toBe("localhost,127.0.0.1,::1");
    expect(values.get("JAVA_TOOL_OPTIONS")).toMatch(
      /^-Xmx1g -Dhttp\.proxyHost=127\.0\.0\.1 -Dhttp\.proxyPort=\d+ -Dhttps/,
    );
  });

  test("a signal reaches the program, which has the last word", async () => {
    // The bridge is the second process of the namespace; it is asked, not the program.
    const bridge = `kill -TERM $PPID`;
    const caught = await inside(
      `trap 'echo caught; exit 5' TERM; ${bridge}; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done`,
    );
    expect(caught).toMatchObject({ code: 5, out: "caught\n" });
    const ignored = await inside(`trap '' TERM; ${bridge}; sleep 0.1; echo alive`);
    expect(ignored).toMatchObject({ code: 0, out: "alive\n" });
    expect(await inside(`${bridge}; sleep 5`)).toMatchObject({ code: 128 + 15 });
    expect(await inside("kill -KILL $$")).toMatchObject({ code: 128 + 9 });
  });

  test("nothing is left when the sandbox is killed", async () => {
    const before = performance.now();
    const got = await inside("sleep 30 & echo started; sleep 30", {
      onOutput: (sandbox) => void sandbox.kill("SIGKILL"),
    });
    expect(got.signal).toBe("SIGKILL");
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  test("a program that is not there is told, as a shell tells it", async () => {
    const { code, err } = await inside("", { program: "/no/such" });
    expect(code).toBe(127);
    expect(err).toContain("can't start /no/such");
  });

  test("many connections at once, and megabytes, come through whole", async () => {
    const sent = randomBytes(2 ** 20);
    const big = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.end(sent);
    });
    await new Promise<void>((resolve) => void big.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void big.close());
    const script = `
    const net = require("net"); const { createHash } = require("crypto"); const { port } = new URL(process.env.HTTP_PROXY);
    const one = () => new Promise((done) => { const hash = createHash("sha256"); const s = net.connect(port, "127.0.0.1");
      s.write("CONNECT big.test:${portOf(big)} HTTP/1.1\\r\\n\\r\\n"); s.on("data", (c) => hash.update(c)); s.on("close", () => done(hash.digest("hex"))); });
    Promise.all(Array.from({ length: 40 }, one)).then((all) => console.log([...new Set(all)].join(" ")));`;
    const { out } = await inside(`${node} -e '${script}'`);
    const whole = createHash("sha256").update("HTTP/1.1 200 Connection established\r\n\r\n").update(sent).digest("hex");
    expect(out).toBe(`${whole}\n`);
  });
});

test("the pipes are in a folder that nobody else can enter, and go with the proxy", async () => {
  const made = await openOnPipes({
    net: here,
    hosts: { decide: async () => ({ kind: "open" }), isNamed: () => false },
  });
  if (made.kind === "failed") throw new Error(made.why);
  expect((await stat(made.folder)).mode & 0o777).toBe(0o700);
  expect(await readdir(made.folder)).toHaveLength(2);
  await made.proxy.close();
  await expect(stat(made.folder)).rejects.toThrow(/ENOENT/);
});
