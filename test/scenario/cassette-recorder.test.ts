import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { readCassetteFolder } from "../../packages/simulator/src/cassette/read-cassette-folder.ts";
import { CassetteRecorder, type serveRecorder } from "../../packages/simulator/src/cassette/cassette-recorder.ts";
import { recordedBodyBytesMax } from "../../packages/simulator/src/limits.ts";
import { bearer, cookie, folder, key, playerOf, recording } from "./support/cassettes.ts";
import { playing, says, served } from "./support/simulated.ts";

interface Seen {
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined>;
}

/** An upstream of any kind, which packs its answer whether or not it was asked to. */
async function packingUpstream(): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? "", headers: request.headers });
    const body = gzipSync(JSON.stringify({ object: "chat.completion", usage: { total_tokens: 7 } }));
    const headers = { "content-type": "application/json", "content-encoding": "gzip", "set-cookie": [cookie, "b=2"] };
    response.writeHead(200, { ...headers, "x-ratelimit-remaining-tokens": "5", "openai-organization": "org" });
    response.end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/openai/`, seen };
}

/** A body of so many bytes, which takes no more memory than one piece of it. */
function bodyOf(bytes: number): ReadableStream<Uint8Array> {
  const piece = new Uint8Array(2 ** 20);
  let left = bytes;
  return new ReadableStream({
    pull: (controller) => {
      controller.enqueue(piece.subarray(0, left));
      left -= Math.min(left, piece.length);
      if (left === 0) controller.close();
    },
  });
}

describe("the recorder", () => {
  it("passes any path below the base URL on, keys included, and unpacks what comes back", async () => {
    const { url: upstream, seen } = await packingUpstream();
    const { url, folder } = await recording(upstream);
    const response = await fetch(`${url}/v1/chat/completions?a=1`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json", "x-own": "mine" },
      body: JSON.stringify({ model: "any", user: "somebody" }),
    });
    expect(await response.json()).toEqual({ object: "chat.completion", usage: { total_tokens: 7 } });
    expect(response.headers.getSetCookie()).toEqual([cookie, "b=2"]);
    expect(seen).toMatchObject([
      {
        url: "/api/openai/v1/chat/completions?a=1",
        headers: { authorization: `Bearer ${bearer}`, "accept-encoding": "identity", "x-own": "mine" },
      },
    ]);
    const read = await readCassetteFolder(folder);
    expect(read).toMatchObject({
      cassettes: [
        {
          cassette: {
            request: { path: "/v1/chat/completions?a=1", body: { json: { model: "any", user: "[left out]" } } },
            response: { headers: { "content-type": "application/json", "x-ratelimit-remaining-tokens": "5" } },
            parts: [{ content: { json: { usage: { total_tokens: 7 } } } }],
          },
        },
      ],
    });
    expect(JSON.stringify(read)).not.toMatch(/org|cookie-of|x-own/);
  });

  it.each([
    ["v1", "/v1/chat/completions", "/api/openai/v1/chat/completions"],
    ["v1/", "/v1/models?limit=1", "/api/openai/v1/models?limit=1"],
    ["v1", "/chat/completions", "/api/openai/v1/chat/completions"],
    ["v1", "/v1beta/x", "/api/openai/v1/v1beta/x"],
    ["my-v1", "/v1/x", "/api/openai/my-v1/v1/x"],
  ])("asks for /v1 once where the upstream's base URL ends with it: %s and %s", async (end, path, asked) => {
    const { url: upstream, seen } = await packingUpstream();
    const { url } = await recording(`${upstream}${end}`);
    await (await fetch(`${url}${path}`)).text();
    expect(seen.map((one) => one.url)).toEqual([asked]);
  });

  it("passes a redirect on and does not follow it: keys go where the client sends them", async () => {
    const { url: elsewhere, seen } = await packingUpstream();
    const server = createServer((_, response) => void response.writeHead(307, { location: elsewhere }).end("moved"));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { url, folder } = await recording(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const response = await fetch(`${url}/v1/x`, { headers: { "x-api-key": key }, redirect: "manual" });
    expect([response.status, response.headers.get("location"), await response.text()]).toEqual([
      307,
      elsewhere,
      "moved",
    ]);
    expect(seen).toEqual([]);
    expect(await readCassetteFolder(folder)).toMatchObject({
      cassettes: [{ cassette: { response: { status: 307 } } }],
    });
  });

  it("refuses a request that is larger than what passes through it, and asks nobody", async () => {
    let asks = 0;
    const into = folder();
    const recorder = await CassetteRecorder.open({
      folder: into,
      fetch: async () => {
        asks += 1;
        return Response.json({});
      },
    });
    const posted = async (by: typeof fetch, bytes: number): Promise<number> =>
      (await by("http://anywhere/v1/x", { method: "POST", body: bodyOf(bytes), duplex: "half" })).status;
    expect(await posted(recorder.fetch, recordedBodyBytesMax + 1)).toBe(413);
    await recorder.idle();
    expect([asks, readdirSync(into)]).toEqual([0, []]);
    expect(await posted((await playerOf({ folder: into })).fetch, recordedBodyBytesMax + 1)).toBe(413);
  });

  it("passes an answer on that is larger than what is kept, and tells that it is not", async () => {
    const into = folder();
    const lost: string[] = [];
    const recorder = await CassetteRecorder.open({
      folder: into,
      fetch: async () => new Response(bodyOf(recordedBodyBytesMax + 1)),
      onLost: (message) => void lost.push(message),
    });
    let bytes = 0;
    const body: AsyncIterable<Uint8Array> | null = (await recorder.fetch("http://anywhere/v1/x")).body;
    for await (const chunk of body ?? []) bytes += chunk.length;
    await recorder.idle();
    expect(bytes).toBe(recordedBodyBytesMax + 1);
    expect(lost).toEqual(["GET /v1/x was answered with more than is kept"]);
    expect(readdirSync(into)).toEqual([]);
  });

  it("is idle when a client left without reading, and keeps that it left", async () => {
    const { url: upstream } = await served({ responder: playing(says("Hi.")) });
    const into = folder();
    const recorder = await CassetteRecorder.open({ folder: into, upstream });
    const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
    const response = await recorder.answer(new Request("http://anywhere/v1/models", { headers }));
    await response.body?.cancel();
    await recorder.idle();
    expect(await readCassetteFolder(into)).toMatchObject({
      cassettes: [{ cassette: { response: { status: 200 }, parts: [], ending: { end: "aborted" } } }],
    });
  });

  it("is served only where it has an upstream: by its own address it would ask itself", async () => {
    type Served = Parameters<typeof serveRecorder>[0];
    expectTypeOf<CassetteRecorder>().not.toExtend<Served>();
    const recorder = await CassetteRecorder.open({ folder: folder(), upstream: "http://anywhere" });
    expectTypeOf(recorder).toExtend<Served>();
    expect(recorder.upstream).toBe("http://anywhere");
  });

  it("understands a request that the client packed", async () => {
    const { url: upstream } = await packingUpstream();
    const { url, folder } = await recording(upstream);
    await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: gzipSync(JSON.stringify({ model: "packed" })),
    }).then((response) => response.text());
    expect(await readCassetteFolder(folder)).toMatchObject({
      cassettes: [{ cassette: { request: { body: { json: { model: "packed" } } } } }],
    });
  });
});
