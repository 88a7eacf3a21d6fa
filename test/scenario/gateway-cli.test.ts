import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it } from "vitest";
import { called } from "./support/called.ts";
import { palimpsest } from "./support/command-line.ts";
import { closers, closeWorlds, createWorld, startGateway } from "./support/gateway-cli-world.ts";

afterEach(closeWorlds);

describe("palimpsest gateway", () => {
  it("says its address first, reads its config again at SIGHUP, and ends in order at SIGTERM", async () => {
    const world = await createWorld();
    const gateway = await startGateway(world);
    expect(gateway.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${gateway.url}/palimpsest/health`)).status).toBe(200);
    const modes = await Promise.all(
      ["running.json", "secret"].map(async (name) => (await stat(join(world.home, "gateway", name))).mode & 0o777),
    );
    expect(modes).toEqual([0o600, 0o600]);

    const second = await called(world, "gateway");
    expect([second.code, second.err]).toEqual([
      4,
      expect.stringContaining(`a gateway is already running, at ${gateway.url}`),
    ]);

    await writeFile(join(world.home, "gateway.json"), "{}");
    gateway.child.kill("SIGHUP");
    await expect.poll(gateway.messages, { timeout: 20_000 }).toContain("Restart the gateway to apply: upstream, port.");

    const secret = (await readFile(join(world.home, "gateway", "secret"), "utf8")).trim();
    expect(secret).toHaveLength(64);
    expect(gateway.messages()).not.toContain(secret);
    expect((await called(world, "gateway", "status")).out).toContain(`/palimpsest/status#${secret}`);
    const status = await called(world, "gateway", "status", "--json");
    expect(JSON.parse(status.out)).toMatchObject({ url: gateway.url, requests: 0, upstream: [{ api: "anthropic" }] });
    gateway.child.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    expect((await called(world, "gateway", "status")).code).toBe(3);
  });

  it("stop waits for the one it asked to end; a stopped process is not waited for", async () => {
    const world = await createWorld();
    const gateway = await startGateway(world);
    gateway.child.kill("SIGSTOP");
    const status = await palimpsest(world, "gateway", "status");
    expect([status.code, status.err]).toEqual([5, expect.stringContaining("is not responding")]);
    gateway.child.kill("SIGCONT");
    expect((await called(world, "gateway", "stop")).code).toBe(0);
    expect(await gateway.ended).toBe(0);

    // One whose place another takes before it has ended.
    const path = join(world.home, "gateway", "running.json");
    const next = JSON.stringify({ pid: process.pid, url: "http://127.0.0.1:9" });
    const secret = (await readFile(join(world.home, "gateway", "secret"), "utf8")).trim();
    const script = `
      const { createHmac } = require("node:crypto");
      const { writeFileSync } = require("node:fs");
      const server = require("node:http").createServer(({ url }, response) => {
        const nonce = new URL(url, "http://a").searchParams.get("nonce");
        const proof = createHmac("sha256", "${secret}").update("palimpsest gateway " + nonce).digest("hex");
        response.end(JSON.stringify({ status: "serving", proof }));
      });
      process.on("SIGTERM", () => { writeFileSync(${JSON.stringify(path)}, ${JSON.stringify(next)}); process.exit(0); });
      server.listen(0, "127.0.0.1", () => console.log(server.address().port));
    `;
    const leaving = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    closers.push(() => void leaving.kill("SIGKILL"));
    const port = await new Promise<string>((done) => {
      createInterface(leaving.stdout).once("line", done);
    });
    await writeFile(path, JSON.stringify({ pid: leaving.pid, url: `http://127.0.0.1:${port}` }), { mode: 0o600 });
    expect((await called(world, "gateway", "stop")).code).toBe(0);
    await rm(path);
  });

  it("takes over a config that is written after its start, and keeps it if the file is deleted", async () => {
    const { home, upstream } = await createWorld();
    const path = join(home, "gateway.json");
    await rm(path);
    const gateway = await startGateway({ home }, "--port=0", `--upstream=${upstream}`);
    await writeFile(path, JSON.stringify({ context: { contextTokens: 30_000 } }));
    await expect.poll(gateway.messages, { timeout: 20_000 }).toContain("Config reloaded: context changed.");
    await rm(path);
    await expect
      .poll(gateway.messages, { timeout: 20_000 })
      .toContain(`was rejected, the old one stays in effect: ${path} does not exist`);
    await writeFile(path, JSON.stringify({ context: { contextTokens: 30_000 }, drainSeconds: 1 }));
    await expect.poll(gateway.messages, { timeout: 20_000 }).toContain("Config reloaded: drainSeconds changed.");
  });

  it("lets other commands edit a conversation that it has open, unless a reply is on its way", async () => {
    const world = await createWorld();
    const gateway = await startGateway(world);
    const client = new AbortController();
    const ask = async (said: readonly string[], fault: Record<string, string> = {}) => {
      const sent = await fetch(`${gateway.url}/v1/messages`, {
        method: "POST",
        signal: client.signal,
        headers: {
          "x-api-key": "k",
          "anthropic-version": "2023-06-01",
          "content-type": "application/json",
          "x-palimpsest-session": "one",
          ...fault,
        },
        body: JSON.stringify({
          model: "claude-sonnet-5-5",
          max_tokens: 99,
          tools: [{ name: "read", input_schema: { type: "object" } }],
          messages: said.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })),
        }),
      });
      return await sent.text();
    };
    const running = async () =>
      (JSON.parse((await called(world, "gateway", "status", "--json")).out) as { readonly running: number }).running;
    await ask(["Go", "Gone", "Further"]);
    await ask(["Go", "Gone", "Elsewhere"]);
    const [listed] = JSON.parse((await called(world, "sessions", "list", "--all", "--json")).out) as {
      readonly sessionId: string;
    }[];
    const session = listed?.sessionId ?? "";
    const undone = await called(world, "undo", session, "--json");
    expect([undone.code, JSON.parse(undone.out)]).toMatchObject([0, { session }]);
    expect(undone.out).toContain("branchedAt");

    const gone = ask(["Go", "Gone", "Slowly"], { "x-simulator-fault": "hang" }).catch(() => "gone");
    await expect.poll(running, { timeout: 20_000 }).toBe(1);
    const refused = await called(world, "undo", session);
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining("a reply is on its way to its client")]);
    client.abort();
    await gone;
    await expect.poll(running, { timeout: 20_000 }).toBe(0);
    expect((await called(world, "undo", session)).code).toBe(0);
  });

  it("does not let clear and compact open a conversation as an agent, which would change what its client's model sees", async () => {
    const world = await createWorld();
    const gateway = await startGateway(world);
    const sent = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: JSON.stringify({
        model: "claude-sonnet-5-5",
        max_tokens: 99,
        tools: [{ name: "read", input_schema: { type: "object" } }],
        messages: ["Go", "Gone", "Further"].map((content, at) => ({
          role: at % 2 === 0 ? "user" : "assistant",
          content,
        })),
      }),
    });
    expect(sent.status).toBe(200);
    await sent.text();
    expect((await called(world, "gateway", "stop")).code).toBe(0);
    const [listed] = JSON.parse((await called(world, "sessions", "list", "--all", "--json")).out) as {
      readonly sessionId: string;
    }[];
    const session = listed?.sessionId ?? "";
    const found = await readdir(world.home, { recursive: true });
    const log = join(world.home, found.find((path) => path.endsWith(`${session}.jsonl`)) ?? "");
    const before = await readFile(log, "utf8");
    const commands = [["clear"], ["compact", "--preview"], ["compact", "--yes"]];
    for (const [name = "", ...options] of commands) {
      const refused = await called(world, name, session, ...options);
      expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("belongs to a client of the gateway")]);
      expect(refused.err).toContain("`context.contextTokens` in gateway.json");
    }
    // A gateway forgets the oldest conversations, but the session says who recorded it.
    await rm(join(world.home, "gateway", "conversations.jsonl"));
    for (const [name = "", ...options] of commands) {
      const refused = await called(world, name, session, ...options);
      expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("a program that uses the library")]);
    }
    expect(before).toContain("Further");
    expect(await readFile(log, "utf8")).toBe(before);
  });

  it("status says since when it counts, and of a cost that is not known that it is not", async () => {
    const world = await createWorld();
    const ask = async (url: string, messages: readonly object[]) => {
      const sent = await fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" },
        body: JSON.stringify({ model: "mystery-1", max_tokens: 99, messages }),
      });
      expect(sent.status).toBe(200);
      await sent.text();
    };
    const first = await startGateway(world);
    await ask(first.url, [{ role: "user", content: "Go" }]);
    first.child.kill("SIGTERM");
    await first.ended;
    const second = await startGateway(world);
    const { out } = await called(world, "gateway", "status");
    const since = new Date().toISOString().slice(0, 10);
    expect(out).toMatch(new RegExp(`\nsince its start, ${since} \\d\\d:\\d\\d UTC: 0 requests, 0 running\n`));
    // Of today, also before the restart.
    expect(out).toContain("local: cost not known today (1 reply without a known price)\n");
    expect(out).not.toContain("$0.00");
    await ask(second.url, [
      { role: "user", content: "Go" },
      { role: "user", content: "On" },
    ]);
    const later = (await called(world, "gateway", "status")).out;
    expect(later).toContain(" UTC: 1 request, 0 running\n");
    expect(later).toContain("largest request without edits (% of window)");
    expect(await (await fetch(`${second.url}/palimpsest/status`)).text()).toContain(
      "Largest request without edits (% of window)",
    );
    const { spendToday } = JSON.parse((await called(world, "gateway", "status", "--json")).out) as {
      readonly spendToday: unknown;
    };
    expect(spendToday).toEqual([{ user: "local", usd: null, unpriced: 2 }]);
  });

  it("does not start beyond this machine without TLS and keys, nor with a config that is wrong", async () => {
    const { home } = await createWorld();
    const said = await called({ home }, "gateway", "--host", "0.0.0.0");
    expect([said.code, said.err]).toEqual([5, expect.stringContaining("set tls (cert, key), or pass --insecure")]);
    expect((await called({ home }, "gateway", "--host", "0.0.0.0", "--insecure")).err).toContain(
      "list users with keys",
    );
    expect((await called({ home }, "gateway", "--upstream", "nowhere")).code).toBe(2);
    expect((await called({ home }, "gateway", "--config", "none.json")).code).toBe(3);
    expect((await called({ home }, "gateway", "--port", "x")).code).toBe(2);
    expect((await called({ home }, "gateway", "restart")).code).toBe(2);
  });

  it("has a help of its own for each action", async () => {
    const { home } = await createWorld();
    const help = await called({ home }, "gateway", "status", "--help");
    expect([help.code, help.out]).toEqual([0, expect.stringContaining("\n  palimpsest gateway status [--json]\n")]);
    expect(help.out).not.toContain("--upstream");
    expect((await called({ home }, "gateway", "--help")).out).toContain("--upstream <url>");
  });

  it("makes keys whose hash is for the config", async () => {
    const { home } = await createWorld();
    const { key, keySha256 } = JSON.parse((await called({ home }, "gateway", "key", "--json")).out) as Record<
      string,
      string
    >;
    expect(key).toMatch(/^plk_[\w-]{32}$/);
    expect(keySha256).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("palimpsest run", () => {
  it("starts the gateway, then the client with its base URL, and passes on its exit code and its end by a signal", async () => {
    const world = await createWorld();
    const seen = join(world.folder, "seen");
    await world.addProgram("claude", `printf '%s\\n' "$ANTHROPIC_BASE_URL" "$@" > ${seen}; exit 7`);
    await world.addProgram("codex", "kill -TERM $$");
    const said = await palimpsest(world, "run", "claude", "--", "-p", "two words");
    expect([said.code, said.err]).toEqual([7, ""]);
    const [base = "", ...args] = (await readFile(seen, "utf8")).trim().split("\n");
    expect(args).toEqual(["-p", "two words"]);
    const [, encoded = ""] = /^http:\/\/127\.0\.0\.1:\d+\/project\/([\w-]+)$/.exec(base) ?? [];
    expect(Buffer.from(encoded, "base64url").toString()).toBe(world.cwd);
    const reply = await fetch(`${base}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" },
      body: JSON.stringify({ model: "claude-sonnet-5-5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }),
    });
    expect(reply.status).toBe(200);

    // The same gateway serves the next client.
    expect((await palimpsest(world, "run", "codex")).code).toBe(143);
    const status = JSON.parse((await called(world, "gateway", "status", "--json")).out) as {
      readonly requests: number;
    };
    expect(status.requests).toBe(1);
    const other = await called(world, "run", "claude", "--upstream", "http://127.0.0.1:9");
    expect([other.code, other.err]).toEqual([2, expect.stringContaining("a gateway is already running")]);
    expect((await called(world, "gateway", "stop")).code).toBe(0);
  });

  it("sends a client's requests where the client itself would, never to another server nor to itself", async () => {
    const world = await createWorld();
    await world.addProgram("claude", "exit 0");
    const settings = join(world.cwd, ".claude");
    await mkdir(settings);
    await writeFile(join(settings, "settings.json"), '{"env":{"ANTHROPIC_BASE_URL":"https://company.example"}}');
    // A shell inside of `palimpsest run` has the gateway's own address: it is no upstream.
    const env = { ...world.env, OPENAI_BASE_URL: "http://127.0.0.1:8789/project/L3A/v1" };
    expect((await palimpsest({ ...world, env }, "run", "claude")).code).toBe(0);
    const upstreams = async () => {
      const { out } = await called(world, "gateway", "status", "--json");
      const { upstream } = JSON.parse(out) as { readonly upstream: readonly { readonly address: string }[] };
      return upstream.map(({ address }) => address);
    };
    expect(await upstreams()).toEqual(["https://company.example"]);

    await rm(join(settings, "settings.json"));
    const other = { ...world.env, ANTHROPIC_BASE_URL: "https://other.example" };
    const refused = await palimpsest({ ...world, env: other }, "run", "claude");
    expect([refused.code, refused.err]).toEqual([
      5,
      expect.stringMatching(/ANTHROPIC_BASE_URL has https:\/\/other\.example, but .* https:\/\/company\.example/),
    ]);
    const same = { ...world.env, ANTHROPIC_BASE_URL: "https://company.example/v1/" };
    expect((await palimpsest({ ...world, env: same }, "run", "claude")).code).toBe(0);
  });

  it("starts no client without a base URL through a gateway whose upstream was only named on its command line", async () => {
    const world = await createWorld();
    await world.addProgram("claude", "exit 7");
    await world.addProgram("codex", "exit 8");
    const config = join(world.home, "gateway.json");
    await writeFile(config, JSON.stringify({ port: 0 }));
    await startGateway(world, `--upstream=anthropic=${world.upstream}`);
    const refused = await palimpsest(world, "run", "claude");
    expect([refused.code, refused.err]).toEqual([
      5,
      expect.stringContaining(
        `ANTHROPIC_BASE_URL is not set, so the client's key is for https://api.anthropic.com, but the gateway at`,
      ),
    ]);
    expect(refused.err).toContain(`sends requests to ${world.upstream}`);
    // This gateway has no OpenAI API, so that codex's key goes nowhere.
    expect((await palimpsest(world, "run", "codex")).code).toBe(8);
    const same = { ...world.env, ANTHROPIC_BASE_URL: world.upstream };
    expect((await palimpsest({ ...world, env: same }, "run", "claude")).code).toBe(7);
    await writeFile(config, JSON.stringify({ port: 0, upstream: { anthropic: world.upstream } }));
    expect((await palimpsest(world, "run", "claude")).code).toBe(7);
  });

  it("starts another gateway if the last one was killed, and one for two clients at once", async () => {
    const world = await createWorld();
    await world.addProgram("claude", "exit 0");
    const gateway = await startGateway(world);
    gateway.child.kill("SIGKILL");
    await gateway.ended;
    expect((await called(world, "gateway", "status")).code).toBe(3);
    const both = await Promise.all([palimpsest(world, "run", "claude"), palimpsest(world, "run", "claude")]);
    expect(both.map(({ code, err }) => [code, err])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect((await called(world, "gateway", "status")).code).toBe(0);
  });

  it("hands no key to a stranger that answers at the gateway's address", async () => {
    const world = await createWorld();
    await world.addProgram("claude", "exit 0");
    const gateway = await startGateway(world);
    const stranger = createServer((_, response) => response.end('{"status":"serving","proof":"00"}'));
    await new Promise<void>((done) => {
      stranger.listen(0, "127.0.0.1", done);
    });
    closers.push(() => void stranger.close());
    const path = join(world.home, "gateway", "running.json");
    const record = await readFile(path, "utf8");
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    await writeFile(path, record.replace(gateway.url, url));
    const said = await called(world, "run", "claude");
    expect([said.code, said.err]).toEqual([5, expect.stringContaining("is not the gateway of this home")]);
    await writeFile(path, record);
  });

  it("says what it can't start", async () => {
    const world = await createWorld();
    const option = await called(world, "run", "claude", "-p", "hi");
    expect([option.code, option.err]).toEqual([
      2,
      expect.stringMatching(/unknown option -p .*\n.*The client's own arguments come after --/),
    ]);
    expect((await called(world, "run", "emacs")).err).toContain("Clients: claude, opencode, codex, pi");
    const empty = await palimpsest({ ...world, env: { ...world.env, PATH: join(world.folder, "none") } }, "run", "pi");
    expect([empty.code, empty.err]).toEqual([3, expect.stringContaining("pi can't be started")]);
    // No gateway was started for it.
    expect((await called(world, "gateway", "status")).code).toBe(3);

    await world.addProgram("pi", "exit 0");
    await writeFile(join(world.home, "gateway.json"), '{ "port": 0,\n "context": { "recall": 1 } }');
    const [alone, through] = [await called(world, "gateway"), await called(world, "run", "pi")];
    expect([alone.code, alone.err]).toEqual([
      5,
      expect.stringContaining("gateway.json: context.recall: expected one of"),
    ]);
    expect([through.code, through.err]).toEqual([5, expect.stringContaining("context.recall: expected one of")]);
  });

  it("says which key a client needs, if the gateway has users and the client has none of their keys", async () => {
    const world = await createWorld();
    const users = [{ name: "ada", keySha256: createHash("sha256").update("plk_ada").digest("hex") }];
    const path = join(world.home, "gateway.json");
    await writeFile(path, JSON.stringify({ port: 0, upstream: { anthropic: world.upstream }, users }));
    await world.addProgram("claude", "exit 7");
    const run = (env: Readonly<Record<string, string>>) =>
      palimpsest({ ...world, env: { ...world.env, ...env } }, "run", "claude");
    const said = await run({ ANTHROPIC_API_KEY: "sk-other" });
    expect([said.code, said.err]).toEqual([5, expect.stringContaining("Set ANTHROPIC_API_KEY")]);
    expect((await called(world, "gateway", "status")).code).toBe(3);
    expect((await run({ ANTHROPIC_API_KEY: "plk_ada" })).code).toBe(7);
  });
});
