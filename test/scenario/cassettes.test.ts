import Anthropic, { APIConnectionError, InternalServerError, NotFoundError, RateLimitError } from "@anthropic-ai/sdk";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { readCassetteFolder } from "../../packages/simulator/src/cassette/read-cassette-folder.ts";
import { CassetteRecorder } from "../../packages/simulator/src/cassette/cassette-recorder.ts";
import { realClock } from "../../packages/simulator/src/simulator-clock.ts";
import { bearer, cookie, folder, key, playerOf, playingUrl, recording } from "./support/cassettes.ts";
import { playing, says, served } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
const githubToken = `ghp_${"a1B2".repeat(9)}`;

const clientAt = (baseURL: string, more: ConstructorParameters<typeof Anthropic>[0] = {}): Anthropic =>
  new Anthropic({ apiKey: key, maxRetries: 0, baseURL, ...more });

const ask = (content: string): Anthropic.MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 500,
  metadata: { user_id: `run-${Math.random()}` },
  messages: [{ role: "user", content }],
});

const tools: Anthropic.Tool[] = [
  { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
];

const blocks: readonly MoveBlock[] = [
  { type: "thinking", thinking: "The person wants the weather, so I look it up." },
  { type: "text", text: `Looking with ${githubToken}: 東京 🗼.` },
  { type: "tool_use", name: "weather", input: { city: "東京", password: "hunter2-Xy9" } },
];

/** Two turns with a call, by stream or not; what comes back is all that a program would see. */
async function conversation(client: Anthropic, way: "stream" | "whole"): Promise<readonly Anthropic.Message[]> {
  const say = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
    const params = { model, max_tokens: 900, thinking: { type: "adaptive" }, tools, messages } as const;
    return way === "stream" ? client.messages.stream(params).finalMessage() : client.messages.create(params);
  };
  const question: Anthropic.MessageParam = { role: "user", content: "How is the weather in Tokyo?" };
  const first = await say([question]);
  const results = first.content
    .filter((block) => block.type === "tool_use")
    .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "sunny" }) as const);
  const second = await say([
    question,
    { role: "assistant", content: first.content },
    { role: "user", content: results },
  ]);
  return [first, second];
}

const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  );

describe("a cassette", () => {
  it.each(["stream", "whole"] as const)("answers a conversation as it was, usage included: %s", async (way) => {
    const { url: upstream } = await served({ responder: playing(blocks, says("Sunny."), blocks) });
    const { url, folder } = await recording(upstream);
    const original = await conversation(clientAt(url), way);
    const replayed = await conversation(clientAt(await playingUrl({ folder }), { apiKey: "any" }), way);
    expect(replayed.map(({ usage }) => usage)).toEqual(original.map(({ usage }) => usage));
    expect(replayed.map(({ id, stop_reason }) => [id, stop_reason])).toEqual(
      original.map(({ id, stop_reason }) => [id, stop_reason]),
    );
    expect(replayed[1]?.content).toEqual(original[1]?.content);
    const said = JSON.stringify(original[0]?.content);
    expect(said).toContain(githubToken);
    expect(JSON.stringify(replayed[0]?.content)).toBe(
      said.replace(githubToken, "[secret: github-token]").replace("hunter2-Xy9", "[secret: password]"),
    );
  });

  it("gives back the very bytes of a stream, and of a body", async () => {
    const { url: upstream } = await served({ responder: playing(says("Hello, 東京 🗼.")) });
    const { url, folder } = await recording(upstream);
    const bytesFrom = async (base: string, stream: boolean): Promise<string> => {
      const headers = { "content-type": "application/json", "x-api-key": key, "anthropic-version": "2023-06-01" };
      const body = JSON.stringify({ ...ask("Hi"), stream });
      return (await fetch(`${base}/v1/messages?beta=true`, { method: "POST", headers, body })).text();
    };
    const originals = [await bytesFrom(url, true), await bytesFrom(url, false)];
    const replay = await playingUrl({ folder });
    expect([await bytesFrom(replay, true), await bytesFrom(replay, false)]).toEqual(originals);
    expect(originals[0]).toContain("message_stop");
  });

  it("answers 429, then what came at the next try, and the last again and again", async () => {
    const { url: upstream } = await served({ responder: playing(says("One."), says("Two.")) });
    const { url, folder } = await recording(upstream);
    const client = clientAt(url);
    const fault = { headers: { "x-simulator-fault": "rate-limit retry-after=3" } };
    const refused = await outcomeOf(client.messages.create(ask("Hi"), fault));
    expect(refused).toBeInstanceOf(RateLimitError);
    const original = [await client.messages.create(ask("Hi")), await client.messages.create(ask("Hi"))];
    const replay = clientAt(await playingUrl({ folder }));
    const again = (await outcomeOf(replay.messages.create(ask("Hi")))) as RateLimitError;
    expect(again).toBeInstanceOf(RateLimitError);
    expect(again.error).toEqual((refused as RateLimitError).error);
    expect(again.headers.get("retry-after")).toBe("3");
    expect(again.requestID).toBe((refused as RateLimitError).requestID);
    expect(await replay.messages.create(ask("Hi"))).toEqual(original[0]);
    expect(await replay.messages.create(ask("Hi"))).toEqual(original[1]);
    expect(await replay.messages.create(ask("Hi"))).toEqual(original[1]);
  });

  it.each(["break after=4", "break-utf8"])("breaks where the stream broke: %s", async (fault) => {
    const { url: upstream } = await served({ responder: playing(says("Hello, 東京, and much more of it.")) });
    const { url, folder } = await recording(upstream);
    const heard = async (base: string, headers: Record<string, string> = {}): Promise<readonly string[]> => {
      const types: string[] = [];
      const stream = await clientAt(base).messages.create({ ...ask("Hi"), stream: true }, { headers });
      const outcome = await outcomeOf(
        (async () => {
          for await (const event of stream) types.push(JSON.stringify(event));
        })(),
      );
      return [...types, outcome instanceof Error ? "broken" : "whole"];
    };
    const original = await heard(url, { "x-simulator-fault": fault });
    expect(original.at(-1)).toBe("broken");
    expect(original.length).toBeGreaterThan(1);
    expect(await heard(await playingUrl({ folder }))).toEqual(original);
    const read = await readCassetteFolder(folder);
    expect(read).toMatchObject({ problems: [], cassettes: [{ cassette: { ending: { end: "broken" } } }] });
  });

  it("keeps what came until the client left, marked as such", async () => {
    const { url: upstream } = await served({
      clock: realClock(),
      responder: playing(says("Hello, and much more of it.")),
    });
    const { url, folder, recorder } = await recording(upstream);
    const stream = clientAt(url).messages.stream(ask("Hi"), { headers: { "x-simulator-fault": "trickle every=300" } });
    for await (const event of stream) if (event.type === "content_block_start") break;
    stream.abort();
    await recorder.idle();
    const read = await readCassetteFolder(folder);
    expect(read).toMatchObject({
      cassettes: [{ cassette: { response: { status: 200 }, ending: { end: "aborted" } } }],
    });
    expect(JSON.stringify(read)).not.toContain("message_stop");
  });

  it("passes events on as they come", async () => {
    const { url: upstream } = await served({
      clock: realClock(),
      responder: playing(says("Hello, and much more of it.")),
    });
    const { url, folder } = await recording(upstream);
    const heard = async (base: string, headers: Record<string, string> = {}): Promise<number> => {
      const moments: number[] = [];
      const stream = await clientAt(base).messages.create({ ...ask("Hi"), stream: true }, { headers });
      for await (const _ of stream) moments.push(performance.now());
      return (moments.at(-1) ?? 0) - (moments[0] ?? 0);
    };
    const original = await heard(url, { "x-simulator-fault": "trickle every=60" });
    expect(original).toBeGreaterThan(250);
    expect(await heard(await playingUrl({ folder, speed: "real" }))).toBeGreaterThan(original * 0.7);
    expect(await heard(await playingUrl({ folder }))).toBeLessThan(original * 0.5);
  });

  it("holds no key, cookie or secret, and is its owner's alone", async () => {
    const { url: upstream } = await served({ responder: playing(blocks) });
    const { url, folder } = await recording(upstream);
    const identity = { authorization: `Bearer ${bearer}`, cookie, "anthropic-organization-id": "org-of-somebody" };
    const client = clientAt(url, { defaultHeaders: { "x-api-key": key, ...identity } });
    for (const content of [`My key is ${key}.`, `And ${bearer}, ${githubToken}.`])
      await client.messages.create({ ...ask(content), metadata: { user_id: "somebody-in-person" } });
    await client.messages.stream(ask("Hi")).finalMessage();
    await fetch(`${url}/v1/models?key=${encodeURIComponent(key)}`, { headers: { "x-api-key": key } });
    await outcomeOf(client.messages.create({ ...ask("Hi"), model: `no-${key}` }));
    const files = readdirSync(folder);
    expect(files).toEqual(["0001.jsonl", "0002.jsonl", "0003.jsonl", "0004.jsonl", "0005.jsonl"]);
    const all = files.map((file) => readFileSync(join(folder, file), "latin1")).join("");
    expect(all).toContain("anthropic-version");
    expect(all).toContain("not_found_error");
    for (const secret of [key, bearer, "cookie-of-no", githubToken, "hunter2", "org-of-somebody", "somebody-in-person"])
      expect(all).not.toContain(secret);
    expect(all).not.toMatch(/"(?:x-api-key|authorization|cookie|set-cookie)"/i);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  });

  it("leaves out who asked in every event of a Responses stream, and plays one that named nobody to the byte", async () => {
    const { url: upstream } = await served({ responder: playing(says("Hi.")) });
    const { url, folder } = await recording(upstream);
    const bytesFrom = async (base: string, more: object): Promise<string> => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${bearer}` };
      const body = JSON.stringify({ model: "gpt-5.6-sol", input: "Hi", stream: true, ...more });
      return (await fetch(`${base}/v1/responses`, { method: "POST", headers, body })).text();
    };
    const who = { user: "somebody", safety_identifier: "some-body", metadata: { user_id: "some.body", run: "1" } };
    const told = await bytesFrom(url, { ...who, instructions: "Be short." });
    expect(told).toMatch(/response\.created.*"user":"somebody"[^]*response\.completed.*"user":"somebody"/);
    const original = await bytesFrom(url, {});
    expect(original).toContain('"user":null');
    const all = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    expect(all.join("")).not.toMatch(/some.?body/);
    const replay = await playingUrl({ folder });
    expect(await bytesFrom(replay, {})).toBe(original);
    expect(await bytesFrom(replay, { metadata: { run: "1" }, instructions: "Be short." })).toBe(
      told.replaceAll(/some.?body/g, "[left out]"),
    );
  });

  it("holds no id of an organisation that an error quotes, whether a header names it or not", async () => {
    const organisations = ["org-AbCdEfGh1234567890abcdEF", "0b5c6a1e-77f0-4b6e-9a51-6f7f0e4f2b11"];
    const message = `Rate limit reached in organization ${organisations[0]} (${organisations[1]}), project proj_AbCdEfGh1234567890.`;
    const into = folder();
    const recorder = await CassetteRecorder.open({
      folder: into,
      fetch: async () =>
        Response.json(
          { error: { message, type: "requests" } },
          { status: 429, headers: { "anthropic-organization-id": organisations[1] ?? "" } },
        ),
    });
    const refused = await recorder.fetch("http://anywhere/v1/chat/completions", { method: "POST", body: "{}" });
    expect(await refused.text()).toContain(message);
    const [text = ""] = readdirSync(into).map((file) => readFileSync(join(into, file), "utf8"));
    expect(text).toContain("Rate limit reached in organization [secret: account] ([secret: key]), project [secret");
    for (const organisation of organisations) expect(text).not.toContain(organisation);
  });

  it("answers a client that sends back what only a header of the reply before told to be a secret", async () => {
    const into = folder();
    const recorder = await CassetteRecorder.open({
      folder: into,
      fetch: async () =>
        Response.json(
          { text: `Your ${cookie} is for api.example-service.com.` },
          { headers: { "set-cookie": `${cookie}; Domain=api.example-service.com; Path=/` } },
        ),
    });
    const converse = async (by: typeof fetch): Promise<readonly string[]> => {
      const say = async (body: object): Promise<string> =>
        (await by("http://anywhere/v1/x", { method: "POST", body: JSON.stringify(body) })).text();
      const first = await say({ asked: "Hi" });
      return [first, await say({ asked: "And?", before: first })];
    };
    const original = await converse(recorder.fetch);
    expect(original[1]).toContain(cookie);
    const replayed = await converse((await playerOf({ folder: into })).fetch);
    expect(replayed).toEqual(original.map((text) => text.replace(cookie, "[secret: key]")));
    expect(readFileSync(join(into, "0002.jsonl"), "utf8")).not.toContain("cookie-of-no-known-shape");
  });

  it.each([
    ["a key of a known shape", `sk-ant-api03-${"S3cret".repeat(5)}`, "My key is KEY."],
    ["a key of the other provider's shape", `sk-proj-${"0penS3cret".repeat(3)}`, "It is KEY."],
    ["any key behind a name that tells of a secret", key, "GATEWAY_TOKEN=KEY"],
  ])("that quotes the request's own key answers a client with another: %s", async (_, apiKey, text) => {
    const { url: upstream } = await served({ responder: playing(says("Keep it.")) });
    const { url, folder } = await recording(upstream);
    const content = text.replace("KEY", apiKey);
    const original = await clientAt(url, { apiKey }).messages.create(ask(content));
    const another = clientAt(await playingUrl({ folder }), { apiKey: "another-key-of-somebody-else" });
    expect((await another.messages.create(ask(content))).id).toBe(original.id);
  });

  it("is written behind those that are there, and one that is damaged is told and left out", async () => {
    const { url: upstream } = await served({ responder: playing(says("One."), says("Two."), says("Three.")) });
    const first = await recording(upstream);
    await clientAt(first.url).messages.create(ask("One"));
    await clientAt(first.url).messages.create(ask("Two"));
    const second = await recording(upstream, first.folder);
    await clientAt(second.url).messages.create(ask("Three"));
    expect(readdirSync(first.folder)).toEqual(["0001.jsonl", "0002.jsonl", "0003.jsonl"]);
    const path = join(first.folder, "0002.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, [lines[0], lines[1], "{torn", lines[3], ""].join("\n"));
    const player = await playerOf({ folder: first.folder });
    expect(player.problems).toEqual([{ file: "0002.jsonl", line: 3, message: "no JSON" }]);
    const replay = new Anthropic({ apiKey: "any", fetch: player.fetch, maxRetries: 0 });
    expect((await replay.messages.create(ask("Three"))).content).toMatchObject([{ text: "Three." }]);
    await expect(replay.messages.create(ask("Two"))).rejects.toThrow(NotFoundError);
  });

  it("a request that was not recorded hears which one is nearest, and where they part", async () => {
    const { url: upstream } = await served({ responder: playing(says("One.")) });
    const { url, folder } = await recording(upstream);
    await clientAt(url).messages.create(ask("What is the weather in Paris?"));
    await clientAt(url).messages.create({ ...ask("Something else"), stop_sequences: ["x"] });
    const told: string[] = [];
    const player = await playerOf({ folder, onMiss: (message) => void told.push(message) });
    const replay = new Anthropic({ apiKey: "any", fetch: player.fetch });
    await expect(replay.messages.create(ask("What is the weather in Rome?"))).rejects.toThrow(
      /No cassette answers POST \/v1\/messages\. The nearest is 0001\.jsonl; the first difference is at messages\.0\.content: .*Paris.*Rome/,
    );
    await expect(replay.models.list()).rejects.toThrow(
      /No cassette answers GET \/v1\/models\. Recorded: POST \/v1\/messages\./,
    );
    expect(told).toHaveLength(2);
  });

  it("keeps that nobody was there, and says what to do", async () => {
    const { url, folder } = await recording("http://127.0.0.1:9");
    const asked = (await outcomeOf(clientAt(url).messages.create(ask("Hi")))) as InternalServerError;
    expect(asked).toBeInstanceOf(InternalServerError);
    expect(asked.status).toBe(502);
    expect(asked.message).toMatch(/The upstream http:\/\/127\.0\.0\.1:9 gave no answer .*--upstream/);
    const replay = clientAt(await playingUrl({ folder }));
    expect(await outcomeOf(replay.messages.create(ask("Hi")))).toMatchObject({ status: 502, error: asked.error });
    expect(await readCassetteFolder(folder)).toMatchObject({
      cassettes: [{ cassette: { ending: { end: "unreachable" } } }],
    });
  });

  it("is recorded and played in this process, without a server", async () => {
    const { url: upstream } = await served({ responder: playing(says("Hi.")) });
    const into = folder();
    const recorder = await CassetteRecorder.open({ folder: into });
    const original = await clientAt(upstream, { fetch: recorder.fetch }).messages.stream(ask("Hi")).finalMessage();
    await recorder.idle();
    const { fetch } = await playerOf({ folder: into });
    expect(await clientAt("http://anywhere", { fetch }).messages.stream(ask("Hi")).finalMessage()).toEqual(original);
  });

  it("drops the connection of a client that had left before there was an answer", async () => {
    const { url: upstream } = await served({ clock: realClock() });
    const { url, folder, recorder } = await recording(upstream);
    const headers = { "x-simulator-fault": "hang" };
    await outcomeOf(clientAt(url, { timeout: 200 }).messages.create(ask("Hi"), { headers }));
    await recorder.idle();
    expect(await readCassetteFolder(folder)).toMatchObject({
      cassettes: [{ cassette: { ending: { end: "aborted" } } }],
    });
    const replayed = await outcomeOf(clientAt(await playingUrl({ folder })).messages.create(ask("Hi")));
    expect(replayed).toBeInstanceOf(APIConnectionError);
  });
});
