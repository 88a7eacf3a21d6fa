import { chmod, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { trace } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, describe, expect, it } from "vitest";
import { openEventLog } from "./event-log.ts";
import { applyLiveKeys, compareConfigs, followConfig } from "./follow-config.ts";
import { type GatewayConfig, readConfig } from "./gateway-config.ts";
import type { GatewayEvent, RequestEnd } from "./gateway-event.ts";
import { noConversations } from "./gateway-state.ts";
import { Metrics } from "./metrics.ts";
import { recordSpans } from "./record-spans.ts";
import { SpendLedger } from "./spend-ledger.ts";
import { describeHealth, describeSavings, formatDollars, formatShare, StatusBoard } from "./status.ts";
import { statusPage } from "./status-page.ts";
import { createGatewayKey, hashKey, localUser, UserRegistry } from "./users.ts";

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "gateway-"));

async function written(config: unknown, mode = 0o600): Promise<string> {
  const path = join(await folder(), "gateway.json");
  await writeFile(path, typeof config === "string" ? config : JSON.stringify(config));
  await chmod(path, mode);
  return path;
}

const end: RequestEnd = {
  kind: "request-end",
  id: 1,
  user: "ada",
  provider: "anthropic",
  operation: "create",
  method: "POST",
  status: 200,
  outcome: "done",
  ms: 30,
  bytesIn: 10,
  bytesOut: 20,
};

describe("users", () => {
  const key = createGatewayKey();
  const ada = { name: "ada", keySha256: hashKey(key), upstreamKeys: { anthropic: "sk-up" } };

  function registry(fields: object = {}, usd = 0) {
    let now = 0;
    const users = new UserRegistry({
      users: [{ ...ada, ...fields }],
      now: () => now,
      spend: { usdToday: () => usd, unpricedToday: () => 0 },
    });
    return { users, pass: (ms: number) => (now += ms) };
  }

  it("without a list are one, whose own credentials pass", () => {
    const users = new UserRegistry({ users: [], now: () => 0, spend: { usdToday: () => 0, unpricedToday: () => 0 } });
    const headers = { authorization: "Bearer mine" };
    expect(users.identify(headers, "anthropic")).toEqual({ kind: "user", name: localUser, headers });
    expect(users.admit(localUser)).toEqual({ kind: "admitted" });
  });

  it("are known by their key, in whichever header it comes; it never goes upstream", () => {
    const { users } = registry();
    for (const headers of [{ "x-api-key": key }, { authorization: `Bearer ${key}` }, { "x-palimpsest-key": key }])
      expect(users.identify({ ...headers, "x-other": "1" }, "anthropic")).toEqual({
        kind: "user",
        name: "ada",
        headers: { "x-other": "1", "x-api-key": "sk-up" },
      });
    expect(users.identify({ "x-api-key": key }, "openai")).toMatchObject({ headers: {} });
    expect(users.identify({ "x-palimpsest-key": key, authorization: "Bearer own" }, "openai")).toEqual({
      kind: "user",
      name: "ada",
      headers: { authorization: "Bearer own" },
    });
  });

  it("with another key, a part of one or its hash are unknown", () => {
    const { users } = registry();
    for (const wrong of ["", key.slice(0, -1), `${key}a`, hashKey(key), "sk-up"])
      expect(users.identify({ "x-api-key": wrong }, "anthropic"), wrong).toEqual({ kind: "unknown" });
    expect(users.identify({}, "anthropic")).toEqual({ kind: "unknown" });
    expect(users.identify({ "x-palimpsest-key": "wrong", "x-api-key": key }, "anthropic")).toEqual({ kind: "unknown" });
  });

  it("may send so many requests a minute, evenly", () => {
    const { users, pass } = registry({ requestsPerMinute: 2 });
    expect([1, 2, 3].map(() => users.admit("ada").kind)).toEqual(["admitted", "admitted", "rate-limit"]);
    expect(users.admit("ada")).toMatchObject({ retryAfter: 30 });
    pass(30_000);
    expect([1, 2].map(() => users.admit("ada").kind)).toEqual(["admitted", "rate-limit"]);
  });

  it("may send less than one request a minute, but do get to send it", () => {
    const { users, pass } = registry({ requestsPerMinute: 0.5 });
    expect([users.admit("ada").kind, users.admit("ada")]).toMatchObject(["admitted", { retryAfter: 120 }]);
    pass(120_000);
    expect(users.admit("ada").kind).toBe("admitted");
  });

  it("are refused once the day's money is spent, until midnight", () => {
    expect(registry({ usdPerDay: 5 }, 4.99).users.admit("ada").kind).toBe("admitted");
    expect(registry({ usdPerDay: 5 }, 5).users.admit("ada")).toMatchObject({ kind: "spend-limit", retryAfter: 86_400 });
  });
});

describe("the spend ledger", () => {
  it("keeps what each user spent today over a restart, readable for its owner alone", async () => {
    const place = await folder();
    let now = Date.UTC(2026, 10, 17, 23);
    const open = () =>
      SpendLedger.open({ folder: place, now: () => now, onError: (error) => expect(error).toBeNull() });
    const ledger = await open();
    ledger.charge("ada", 2_500_000_000);
    ledger.charge("ada", 500_000_000);
    ledger.charge("bob", null);
    await ledger.close();
    const again = await open();
    expect([again.usdToday("ada"), again.usdToday("eve")]).toEqual([3, 0]);
    expect([again.unpricedToday("bob"), again.unpricedToday("ada")]).toEqual([1, 0]);
    expect((await stat(join(place, "spend.json"))).mode & 0o777).toBe(0o600);
    now += 2 * 3_600_000;
    expect(again.usdToday("ada")).toBe(0);
  });

  it("that is damaged is kept beside a new one", async () => {
    const place = await folder();
    await writeFile(join(place, "spend.json"), '{"2026-11-17":{"ada":');
    const ledger = await SpendLedger.open({ folder: place, now: () => 0, onError: () => undefined });
    expect(ledger.usdToday("ada")).toBe(0);
    expect(await readFile(join(place, "spend.json.damaged"), "utf8")).toContain("ada");
  });
});

describe("the config", () => {
  it("has defaults for everything", () => {
    expect(readConfig({ env: {} })).toMatchObject({
      kind: "config",
      config: { host: "127.0.0.1", port: 8789, users: [], upstream: { anthropic: "https://api.anthropic.com" } },
    });
  });

  it("takes keys from the file, the environment and other files; options win over the file", async () => {
    const path = await written({
      port: 1,
      users: [
        { name: "a", keySha256: "0".repeat(64), upstreamKeys: { anthropic: { env: "KEY" }, openai: "sk-2" } },
        { name: "b", keySha256: "1".repeat(64), upstreamKeys: { anthropic: { file: "key.txt" } } },
      ],
    });
    await writeFile(join(path, "../key.txt"), "sk-3\n");
    const read = readConfig({ path, env: { KEY: "sk-1" }, overrides: { port: 2, host: undefined } });
    expect(read).toMatchObject({
      config: {
        port: 2,
        users: [{ upstreamKeys: { anthropic: "sk-1", openai: "sk-2" } }, { upstreamKeys: { anthropic: "sk-3" } }],
      },
    });
  });

  it("has prices of models that are not known, and paths that are open to all users", async () => {
    const prices = { "gpt-9": { input: 2, output: 9, cacheRead: 0.2 } };
    expect(readConfig({ path: await written({ prices, paths: ["/v1/files"] }), env: {} })).toMatchObject({
      config: {
        paths: ["/v1/files"],
        prices: [{ id: "gpt-9", prices: { input: 2, output: 9, cacheRead: 0.2, cacheWrite5m: 2, cacheWrite1h: 2 } }],
      },
    });
  });

  it.each([
    ["{", "is not valid JSON (line 1, column 2)"],
    ['{\n "port": 1,\n "host": }', "is not valid JSON (line 3, column 10)"],
    ["[]", "gateway.json: expected object, received array"],
    [{ prot: 1 }, "gateway.json: prot: there is no such field; did you mean port?"],
    [{ context: { recal: "on" } }, "context.recal: there is no such field; did you mean recall?"],
    [{ contextTokens: 1 }, "contextTokens: there is no such field; did you mean context.contextTokens?"],
    [{ upstream: "http://a" }, 'upstream: expected an object such as { "anthropic": "https://…" }'],
    [{ port: 70_000 }, "port: expected number to be <=65535"],
    [{ port: "x", drainSeconds: "y" }, "port: expected number, received string; drainSeconds: expected number"],
    [{ context: { contextTokens: "x" } }, "context.contextTokens: expected a number of tokens, at least"],
    [{ context: { contextTokens: { m: "x" } } }, "context.contextTokens.m: expected a whole number of tokens"],
    [{ context: { recall: "yes" } }, 'context.recall: expected one of "on"|"off"'],
    [
      { users: [{ name: "a", keySha256: "0".repeat(64), upstreamKeys: { openai: 4 } }] },
      "users[0].upstreamKeys.openai: expected a key, or where it is",
    ],
    [
      { users: [{ name: "a", keySha256: "0".repeat(64), upstreamKeys: { openai: { env: 4 } } }] },
      "users[0].upstreamKeys.openai.env: expected string, received number",
    ],
    [{ upstream: { anthropic: "api.anthropic.com" } }, "upstream.anthropic: use a URL"],
    [
      { upstream: { anthropic: "https://a:b@host.example" } },
      "upstream.anthropic: an upstream URL must not have a user name",
    ],
    [
      { upstream: { openai: "https://host.example/v1?x=1" } },
      "upstream.openai: an upstream URL must not have a user name",
    ],
    [{ users: [{ name: "local", keySha256: "0".repeat(64) }] }, "local is reserved for the user of this machine"],
    [{ upstream: { openai: "http://localhost:8789/v1" } }, "is the gateway's own address"],
    [{ port: 80, names: ["gw.example"], upstream: { openai: "http://gw.example" } }, "is the gateway's own address"],
    [{ upstream: {} }, "gateway.json: no upstream is set"],
    [{ host: "0.0.0.0" }, "set tls (cert, key), or pass --insecure"],
    [{ host: "0.0.0.0", insecure: true }, "list users with keys"],
    [{ tls: { cert: "none.pem", key: "none.pem" } }, "gateway.json: tls.cert: none.pem can't be read (ENOENT)"],
    [{ users: [{ name: "A B", keySha256: "0".repeat(64) }] }, "users[0].name: a name may contain lowercase letters"],
    [{ users: [{ name: "a", keySha256: "plk_key" }] }, "users[0].keySha256: 64 hex digits"],
    [
      { users: [{ name: "a", keySha256: "0".repeat(64), upstreamKeys: { openai: { env: "NONE" } } }] },
      "gateway.json: users[0].upstreamKeys.openai: the variable NONE is not set",
    ],
    [{ users: ["0", "1"].map((digit) => ({ name: "a", keySha256: digit.repeat(64) })) }, "two users are called a"],
    [{ users: ["a", "b"].map((name) => ({ name, keySha256: "0".repeat(64) })) }, "two users have the same key"],
  ])("that is wrong says where: %j", async (config, message) => {
    const read = readConfig({ path: await written(config), env: {} });
    expect(read.kind).toBe("wrong");
    expect(read.kind === "wrong" ? read.message : "").toContain(message);
  });

  it("that holds a key must be readable for its owner alone", async () => {
    const users = [{ name: "a", keySha256: "0".repeat(64), upstreamKeys: { openai: "sk-1" } }];
    expect(readConfig({ path: await written({ users }, 0o644), env: {} })).toMatchObject({
      kind: "wrong",
      message: expect.stringContaining("chmod 600") as string,
    });
    expect(readConfig({ path: await written({ users: [] }, 0o644), env: {} }).kind).toBe("config");
  });

  it("is taken over while the gateway runs, but for what needs a start", async () => {
    const config = (readConfig({ env: {} }) as { readonly config: GatewayConfig }).config;
    const next = { ...config, names: ["a"], port: 1, tls: { cert: "c", key: "k" } };
    expect(compareConfigs(config, next)).toEqual({ changed: ["names"], afterRestart: ["port", "tls"] });
    expect(compareConfigs(next, { ...next, tls: { cert: "d", key: "k" } })).toEqual({
      changed: ["tls"],
      afterRestart: [],
    });
  });

  it("applies what it announces as changed, and nothing that waits for a restart", () => {
    const { config } = readConfig({ env: {} }) as { readonly config: GatewayConfig };
    const next: GatewayConfig = {
      ...config,
      names: ["x"],
      paths: ["/v1/embeddings"],
      context: { recall: "off" },
      port: 1,
      tls: { cert: "c", key: "k" },
    };
    const effective = applyLiveKeys(config, next);
    expect(effective).toEqual({ ...next, port: config.port, tls: undefined });
    expect(compareConfigs(config, effective).changed).toEqual(compareConfigs(config, next).changed);
    expect(compareConfigs(config, effective).afterRestart).toEqual([]);
  });

  it("is read again when its file changes; a wrong one changes nothing", async () => {
    const path = await written({});
    const events: GatewayEvent[] = [];
    const first = (readConfig({ path, env: {} }) as { readonly config: GatewayConfig }).config;
    let current = first;
    const follower = followConfig({
      path,
      read: () => readConfig({ path, env: {} }),
      apply: (config) => {
        const difference = compareConfigs(current, config);
        current = config;
        return difference;
      },
      onEvent: (event) => events.push(event),
    });
    try {
      await writeFile(path, JSON.stringify({ names: ["gateway.example.org"] }));
      await expect.poll(() => events.length, { timeout: 5_000 }).toBe(1);
      expect(events[0]).toEqual({ kind: "config-loaded", changed: ["names"], afterRestart: [] });
      await writeFile(path, "{");
      follower.reload();
      expect(events[1]).toMatchObject({ kind: "config-refused" });
      expect(current.names).toEqual(["gateway.example.org"]);
    } finally {
      follower.close();
    }
  });
});

describe("what happened", () => {
  it("is counted in the text format of Prometheus", () => {
    const metrics = new Metrics();
    metrics.record({ kind: "request-start", id: 1, user: "ada", provider: "anthropic", operation: "create" });
    metrics.record({ kind: "request-start", id: 2, user: "ada", provider: "anthropic", operation: "create" });
    metrics.record(end);
    metrics.record({ kind: "upstream", provider: "anthropic", why: "reset", ms: 3 });
    metrics.record({ kind: "failed-open", user: "ada", step: 'a "quoted"\nstep', message: "" });
    metrics.record({
      kind: "reply-cost",
      user: "ada",
      model: "m",
      nanos: 1_500_000_000,
      inputTokens: 7,
      outputTokens: 3,
      source: "said",
    });
    metrics.record({
      kind: "reply-cost",
      user: "eve",
      model: "unknown",
      nanos: null,
      inputTokens: 7,
      outputTokens: 3,
      source: "said",
    });
    const text = metrics.render(noConversations);
    const lines = text.split("\n");
    // What is not known has no sample: 0 would be a price.
    expect(text).not.toContain('spend_usd_total{user="eve"}');
    for (const line of [
      'palimpsest_gateway_requests_total{provider="anthropic",operation="create",status="200",outcome="done"} 1',
      'palimpsest_gateway_request_seconds_bucket{operation="create",le="0.02"} 0',
      'palimpsest_gateway_request_seconds_bucket{operation="create",le="0.1"} 1',
      'palimpsest_gateway_request_seconds_bucket{operation="create",le="+Inf"} 1',
      'palimpsest_gateway_request_seconds_count{operation="create"} 1',
      'palimpsest_gateway_upstream_total{provider="anthropic",why="reset"} 1',
      String.raw`palimpsest_gateway_failed_open_total{step="a \"quoted\"\nstep"} 1`,
      'palimpsest_gateway_spend_usd_total{user="ada"} 1.5',
      'palimpsest_gateway_unpriced_replies_total{user="eve"} 1',
      "palimpsest_gateway_running 1",
    ])
      expect(lines).toContain(line);
    const shape = /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\})? [\d.e+-]+|)$/;
    expect(lines.filter((line) => !shape.test(line))).toEqual([]);
    expect(text.endsWith("\n")).toBe(true);
  });

  it("is a line in the log, for its owner alone", async () => {
    const path = join(await folder(), "gateway.jsonl");
    const log = openEventLog({ path, now: () => 0, onError: (error) => expect(error).toBeNull() });
    log.onEvent({ kind: "request-start", id: 1, user: "ada", provider: "anthropic", operation: "create" });
    log.onEvent(end);
    await log.close();
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ at: "1970-01-01T00:00:00.000Z", ...end });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("does not stop the gateway if the log can't be written", async () => {
    const errors: Error[] = [];
    const log = openEventLog({
      path: join(await folder(), "none", "log"),
      now: () => 0,
      onError: (error) => errors.push(error),
    });
    log.onEvent(end);
    await expect.poll(() => errors.length).toBe(1);
    log.onEvent(end);
    await log.close();
    expect(errors).toHaveLength(1);
  });

  const newBoard = () =>
    new StatusBoard({
      version: "1",
      now: () => 5,
      state: noConversations,
      spend: { usdToday: () => 2, unpricedToday: () => 1 },
      upstream: () => ({ anthropic: "https://a", openai: undefined }),
      users: () => ["ada"],
    });

  it("tells how an upstream is by its last answer; a client that left says nothing about it", () => {
    const board = newBoard();
    const said = () => board.read().upstream.map(describeHealth).join(", ");
    expect(board.read().upstream).toEqual([{ api: "anthropic", address: "https://a", health: "unknown" }]);
    expect(said()).toBe("not used yet");
    board.record({ kind: "upstream", provider: "anthropic", status: 529, ms: 1 });
    expect(said()).toBe("failing: it answered the last request with an error (529)");
    board.record({ kind: "upstream", provider: "anthropic", why: "cancelled", ms: 1 });
    expect(board.read().upstream).toMatchObject([{ health: "failing", lastStatus: 529 }]);
    board.record({ kind: "upstream", provider: "anthropic", status: 429, ms: 1 });
    expect(board.read()).toMatchObject({
      upstream: [{ health: "healthy" }],
      spendToday: [{ user: "ada", usd: 2, unpriced: 1 }],
    });
    for (const [outcome, words] of [
      [{ status: 200 }, "reachable"],
      [{ status: 401 }, "reachable: it refused the key of the last request, or that had none (401)"],
      [{ status: 429 }, "reachable: its rate limit was reached (429)"],
      [{ status: 400 }, "reachable: it refused the last request (400)"],
      [{ why: "unreachable" }, "failing: it can't be reached"],
      [{ why: "timeout" }, "failing: it did not answer the last request in time"],
    ] as const) {
      board.record({ kind: "upstream", provider: "anthropic", ms: 1, ...outcome });
      expect(said()).toBe(words);
    }
  });

  it("is a gateway error only if the gateway itself failed", () => {
    const board = newBoard();
    for (const error of ["bug", "rate-limit", "too-large", "upstream-timeout"]) board.record({ ...end, error });
    board.record({ kind: "refused", status: 401, error: "unknown-key", message: "" });
    expect(board.read()).toMatchObject({ requests: 4, gatewayErrors: 1, refused: 3, unanswered: 1 });
  });
});

describe("what was saved", () => {
  const totals = {
    conversations: 2,
    inputTokensSent: 1_000,
    inputTokensUsed: 1_000,
    savedUsd: 0,
    savedUnknown: 0,
    edits: 0,
    windowShareMax: 0.128,
  };
  it.each([
    [{ conversations: 0 }, "no conversation yet"],
    [{}, "2 conversations: nothing had to be removed yet, the largest request took 12 % of its model's window"],
    [
      { conversations: 1, windowShareMax: 0.004 },
      "1 conversation: nothing had to be removed yet, the largest request took less than 1 % of its model's window",
    ],
    [
      { windowShareMax: 1.38 },
      "2 conversations: nothing was removed, although the largest request took 138 % of its model's window",
    ],
    [
      { windowShareMax: 1.38, inputTokensUsed: 600 },
      "2 conversations: edits from before the start keep requests within the window; without them, the largest would have taken 138 % of its model's window",
    ],
    [{ edits: 1 }, "2 conversations: 1 edit, no input tokens saved yet"],
    [{ edits: 3, inputTokensUsed: 1_030 }, "2 conversations: 3 edits, no input tokens saved yet"],
    [
      { edits: 3, inputTokensUsed: 600, savedUsd: 0.0031, windowShareMax: 2 },
      "2 conversations: 3 edits, 40 % fewer input tokens, about $0.0031 saved; without edits, the largest request would have taken 200 % of its model's window",
    ],
    [
      { edits: 3, inputTokensUsed: 600, savedUsd: -0.05 },
      "2 conversations: 3 edits, 40 % fewer input tokens, so far the edits cost about $0.05 more than they saved; without edits, the largest request would have taken 12 % of its model's window",
    ],
    [
      { edits: 3, inputTokensUsed: 600, savedUsd: null, savedUnknown: 2 },
      "2 conversations: 3 edits, 40 % fewer input tokens, money saved not known (the model has no known price); without edits, the largest request would have taken 12 % of its model's window",
    ],
    [
      { edits: 3, inputTokensUsed: 600, savedUsd: 1, savedUnknown: 1 },
      "2 conversations: 3 edits, 40 % fewer input tokens, about $1.00 saved, not counting 1 conversation without a known price; without edits, the largest request would have taken 12 % of its model's window",
    ],
  ])("is a sentence: %j", (some, sentence) => {
    expect(describeSavings({ ...totals, ...some })).toBe(sentence);
  });

  it("has the same money and shares on the status page, where the functions stand alone", () => {
    for (const format of [formatDollars, formatShare]) {
      expect(statusPage).toContain(String(format));
      const alone: unknown = runInNewContext(`[12.3, 0.0031, -0.05, 0].map(${String(format)}).join()`);
      expect(alone).toBe([12.3, 0.0031, -0.05, 0].map(format).join(","));
    }
    expect([12.3, 0.0031, -0.05, 0, null].map(formatDollars)).toEqual([
      "$12.30",
      "$0.0031",
      "-$0.05",
      "$0.00",
      "not known",
    ]);
  });
});

describe("with an SDK of OpenTelemetry", () => {
  afterEach(() => trace.disable());

  it("a span has the client's own as its parent, if it sent one", () => {
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    const record = recordSpans();
    const [traceId, spanId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    for (const traceparent of [`00-${traceId}-${spanId}-01`, `00-${"0".repeat(32)}-${spanId}-01`, "x", undefined]) {
      record({ kind: "request-start", id: 1, user: "a", provider: "anthropic", operation: "create", traceparent });
      record(end);
    }
    const spans = exporter.getFinishedSpans();
    expect(spans.map((span) => span.parentSpanContext?.spanId)).toEqual([spanId, undefined, undefined, undefined]);
    expect(spans[0]?.spanContext().traceId).toBe(traceId);
  });

  it("each request is a span, with names and numbers only", () => {
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    trace.setGlobalTracerProvider(provider);
    const record = recordSpans();
    record({ kind: "request-start", id: 1, user: "ada", provider: "openai-chat", operation: "create" });
    record({ ...end, provider: "openai-chat", status: 502, error: "upstream-unreachable" });
    expect(exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }))).toEqual([
      {
        name: "gateway create",
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "openai",
          "palimpsest.gateway.user": "ada",
          "http.request.method": "POST",
          "http.request.body.size": 10,
          "http.response.body.size": 20,
          "http.response.status_code": 502,
          "error.type": "upstream-unreachable",
        },
      },
    ]);
  });
});
