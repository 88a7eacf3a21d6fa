import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { bodyBytesMax } from "../../packages/simulator/src/limits.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { playing, says, served } from "./support/simulated.ts";

const headers = { "content-type": "application/json", "x-api-key": "sk-test", "anthropic-version": "2023-06-01" };
const hello = { model: "claude-sonnet-5-5", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: NonNullable<RequestInit["body"]>;
}

async function ask(
  url: string,
  asked: Asked = {},
): Promise<{ status: number; body: unknown; requestId: string | null }> {
  const { path = "/v1/messages", method = "POST", body = JSON.stringify(hello) } = asked;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...asked.headers },
    ...(method === "GET" ? {} : { body, duplex: "half" }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === "" ? undefined : JSON.parse(text),
    requestId: response.headers.get("request-id"),
  };
}

const requestId: unknown = expect.stringMatching(/^req_/);
const error = (type: string): unknown => {
  const inner: unknown = expect.objectContaining({ type });
  return expect.objectContaining({ type: "error", error: inner, request_id: requestId });
};

describe("what is no request gets the API's error shape", () => {
  it.each<[string, Asked, number, string]>([
    ["JSON that breaks off", { body: '{"model": "claude' }, 400, "invalid_request_error"],
    ["an empty body", { body: "" }, 400, "invalid_request_error"],
    ["JSON that is no object", { body: "[1, 2]" }, 400, "invalid_request_error"],
    ["bytes that are no UTF-8", { body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22]) }, 400, "invalid_request_error"],
    ["another content type", { headers: { "content-type": "text/plain" } }, 400, "invalid_request_error"],
    ["an unknown path", { path: "/v1/nothing" }, 404, "not_found_error"],
    ["an unknown method", { method: "DELETE" }, 404, "not_found_error"],
    ["a key that is empty", { headers: { "x-api-key": "" } }, 401, "authentication_error"],
    ["an unknown encoding", { headers: { "content-encoding": "snappy" } }, 400, "invalid_request_error"],
    ["gzip that is none", { headers: { "content-encoding": "gzip" } }, 400, "invalid_request_error"],
    [
      "a control header that is wrong",
      { headers: { "x-simulator-fault": "earthquake" } },
      400,
      "invalid_request_error",
    ],
    ["a clock that goes backward", { headers: { "x-simulator-advance-ms": "-5" } }, 400, "invalid_request_error"],
  ])("%s", async (_, asked, status, type) => {
    const { url } = await served();
    const answer = await ask(url, asked);
    expect(answer).toEqual({ status, body: error(type), requestId });
    expect((await ask(url)).status).toBe(200);
  });

  it("a body over 32 MB is refused with 413, told beforehand, on the way, or after decoding", async () => {
    const { url } = await served();
    const long = "x".repeat(bodyBytesMax + 1);
    expect(await ask(url, { body: long })).toMatchObject({ status: 413, body: error("request_too_large") });
    const streamed = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(2 ** 20)),
    });
    // The server may close the connection before the client has finished: either way it is told.
    const onTheWay = await ask(url, { body: streamed }).catch(() => ({ status: 413 }));
    expect(onTheWay.status).toBe(413);
    const bomb = await ask(url, { body: gzipSync(long), headers: { "content-encoding": "gzip" } });
    expect(bomb).toMatchObject({
      status: 413,
      body: { error: { details: { error_code: "request_body_too_large_after_decoding" } } },
    });
    expect((await ask(url)).status).toBe(200);
  });

  it("a compressed body is read", async () => {
    const { url } = await served({ responder: playing(says("Unpacked.")) });
    const answer = await ask(url, { body: gzipSync(JSON.stringify(hello)), headers: { "content-encoding": "gzip" } });
    expect(answer).toMatchObject({ status: 200, body: { content: [{ text: "Unpacked." }] } });
  });
});

describe("what a client may find odd", () => {
  it("HEAD / says that somebody is there, and counts as no request", async () => {
    const { url } = await served();
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    const response = await fetch(`${url}/v1/models`, { headers });
    expect(response.headers.get("x-simulator-request")).toBe("1");
  });

  it.each([
    ["a name behind a model's", "claude-opus-5-9-nonsense", 404],
    ["a model of another provider", "gpt-4o", 404],
    ["a model that is retired", "claude-3-5-haiku", 200],
    ["a date behind a model's name", "claude-opus-5-20260101", 200],
  ])("%s", async (_, model, status) => {
    const { url } = await served();
    expect((await ask(url, { body: JSON.stringify({ ...hello, model }) })).status).toBe(status);
  });

  it("models are this API's own and those that were added; retired ones only if asked for", async () => {
    const { url } = await served({ models: [{ id: "house-model" }] });
    const ids = async (query: string): Promise<readonly string[]> => {
      const { body } = await ask(url, { path: `/v1/models?limit=1000${query}`, method: "GET" });
      return (body as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await ids("")).toEqual(expect.arrayContaining(["claude-opus-5", "claude-sonnet-4-5", "house-model"]));
    expect((await ids("")).filter((id) => /^(?:gpt|gemini|claude-3)/.test(id))).toEqual([]);
    expect(await ids("&lifecycle[]=deprecated")).toEqual(["claude-sonnet-4-5"]);
    expect(await ids("&lifecycle[]=retired")).toContain("claude-3-5-haiku");
  });

  it("half a character is no valid JSON", async () => {
    const { url } = await served();
    const half = JSON.stringify({ ...hello, messages: [{ role: "user", content: "x\ud83d" }] });
    const answer = await ask(url, { body: half });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toMatch(/not valid JSON.*surrogate/);
    const whole = JSON.stringify({ ...hello, messages: [{ role: "user", content: "\\ud83d and 😀" }] });
    expect((await ask(url, { body: whole })).status).toBe(200);
  });

  it("a field called __proto__ is an unknown field, also in a known conversation", async () => {
    const { url } = await served();
    await ask(url);
    const body = `${JSON.stringify(hello).slice(0, -1)},"__proto__":{"tools":[]}}`;
    expect(await ask(url, { body })).toMatchObject({ status: 400 });
  });
});

describe("clients that misbehave", () => {
  it("one that sends slowly, and one that goes away, keep nobody else waiting", async () => {
    const { url } = await served();
    const { port, hostname } = new URL(url);
    const slow = connect(Number(port), hostname);
    slow.write(
      "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
    );
    const gone = connect(Number(port), hostname);
    gone.write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n");
    gone.destroy();
    expect((await ask(url)).status).toBe(200);
    slow.destroy();
    expect((await ask(url)).status).toBe(200);
  });

  it("one that leaves in the middle of a stream does not spend the move", async () => {
    const { url } = await served({ responder: playing(says("First. ".repeat(100)), says("Second.")) });
    const leave = new AbortController();
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "x-simulator-fault": "trickle every=20" },
      body: JSON.stringify({ ...hello, max_tokens: 2000, stream: true }),
      signal: leave.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    leave.abort();
    await expect
      .poll(async () => (await ask(url, { body: JSON.stringify({ ...hello, max_tokens: 2000 }) })).status)
      .toBe(200);
    const again = await ask(url, { body: JSON.stringify({ ...hello, max_tokens: 2000 }) });
    expect(again.body).toMatchObject({ content: [{ text: "Second." }] });
  });

  it("refused bodies leave no memory behind", async () => {
    const { url, simulator } = await served();
    const junk = JSON.stringify({ ...hello, messages: [{ role: "user", content: "x".repeat(2 ** 20) }], extra: 1 });
    const rounds = async (count: number): Promise<number> => {
      for (let round = 0; round < count; round += 1) await ask(url, { body: junk });
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    };
    const before = await rounds(20);
    const after = await rounds(60);
    expect(after - before).toBeLessThan(40 * 2 ** 20);
    expect(simulator.cache.size).toBe(0);
  });
});

describe("a conversation over HTTP", () => {
  it("is hashed once, however often it is sent", async () => {
    const { url, simulator } = await served();
    const messages: object[] = [{ role: "user", content: "Start" }];
    const tools = [{ name: "look", input_schema: { type: "object" } }];
    for (let turn = 0; turn < 40; turn += 1) {
      messages.push({ role: "assistant", content: `Step ${turn}` }, { role: "user", content: `On, ${turn}` });
      expect((await ask(url, { body: JSON.stringify({ ...hello, tools, messages }) })).status).toBe(200);
    }
    expect(simulator.hashedBlocks).toBe(messages.length + tools.length);
  });
});

describe("a stream that breaks over HTTP", () => {
  const streamed = async (fault: string): Promise<{ events: number; bytes: Buffer; end: "clean" | "broken" }> => {
    const { url } = await served({ responder: playing(says("Wörter über Wörter, eins ums andere. ".repeat(20))) });
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "x-simulator-fault": fault },
      body: JSON.stringify({ ...hello, max_tokens: 2000, stream: true }),
    });
    expect(response.status).toBe(200);
    const chunks: Uint8Array[] = [];
    const body: AsyncIterable<Uint8Array> | null = response.body;
    let end: "clean" | "broken" = "clean";
    try {
      for await (const chunk of body ?? []) chunks.push(chunk);
    } catch {
      end = "broken";
    }
    const bytes = Buffer.concat(chunks);
    return { events: bytes.toString("utf8").split("\n\n").length - 1, bytes, end };
  };

  it.each([1, 2, 5, 12])("after %i has sent exactly so many events", async (after) => {
    expect(await streamed(`break after=${after}`)).toMatchObject({ events: after, end: "broken" });
  });

  it("inside a character has sent a part of it", async () => {
    const { bytes, end } = await streamed("break-utf8");
    expect(end).toBe("broken");
    expect(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)).toThrow(TypeError);
  });
});

describe("a body that breaks over HTTP", () => {
  const began = async (fault: string): Promise<Buffer> => {
    const { url } = await served({ responder: playing(says("Wörter über Wörter.")) });
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { ...headers, "x-simulator-fault": fault },
      body: JSON.stringify(hello),
    });
    expect(response.status).toBe(200);
    const chunks: Uint8Array[] = [];
    const body: AsyncIterable<Uint8Array> | null = response.body;
    await expect(async () => {
      for await (const chunk of body ?? []) chunks.push(chunk);
    }).rejects.toThrow(TypeError);
    return Buffer.concat(chunks);
  };

  it("has sent a part of it", async () => {
    const bytes = await began("break");
    expect(bytes.toString()).toMatch(/^\{"id":"msg_/);
    expect(() => JSON.parse(bytes.toString()) as unknown).toThrow(SyntaxError);
  });

  it("inside a character has sent a part of that", async () => {
    const bytes = await began("break-utf8");
    expect(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)).toThrow(TypeError);
  });

  it("breaks in process too", async () => {
    const response = await simulatorFetch(new Simulator())("http://any/v1/messages", {
      method: "POST",
      headers: { ...headers, "x-simulator-fault": "break" },
      body: JSON.stringify(hello),
    });
    await expect(response.json()).rejects.toThrow(/broken on purpose/);
  });
});

describe("control", () => {
  it("a header moves the clock, and the reply says what time it is and what it cost", async () => {
    const { url } = await served();
    const times: number[] = [];
    for (const advance of ["0", "3600000"]) {
      const response = await fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: { ...headers, "x-simulator-advance-ms": advance },
        body: JSON.stringify(hello),
      });
      times.push(Date.parse(response.headers.get("x-simulator-now") ?? ""));
      expect(Number(response.headers.get("x-simulator-cost-usd"))).toBeGreaterThan(0);
      expect(response.headers.get("x-simulator-request")).toBe(String(times.length));
    }
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBe(3_600_000);
  });

  it("the same seed gives the same reply to the last byte, another seed other ids", async () => {
    const body = async (seed: number): Promise<string> => {
      const { url } = await served({ seed, responder: playing([{ type: "tool_use", name: "read", input: { a: 1 } }]) });
      const response = await fetch(`${url}/v1/messages`, { method: "POST", headers, body: JSON.stringify(hello) });
      return response.text();
    };
    expect(await body(7)).toBe(await body(7));
    expect(await body(8)).not.toBe(await body(7));
  });
});
