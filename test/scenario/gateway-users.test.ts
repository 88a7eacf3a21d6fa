import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGateway } from "@palimpsest/gateway";
import { type GatewayConfig, readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import type { GatewayEvent } from "@palimpsest/gateway/internal/operate/gateway-event";
import { hashKey } from "@palimpsest/gateway/internal/operate/users";
import { isObject, type JsonObject, listField, parseJson } from "palimpsest/internal/schema/json";
import { called } from "./support/called.ts";
import { afterEach, describe, expect, it } from "vitest";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const secret = "s".repeat(64);
const model = "claude-sonnet-5-5";

/** A model that looks for a word in its memory, and then says that it is done. */
async function serveModel() {
  const bodies: JsonObject[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = parseJson(text === "" ? "{}" : text);
      if (isObject(body)) bodies.push(body);
      const isAsked = text.includes("What was the code word?") && !text.includes('"type":"tool_result"');
      const content = isAsked
        ? [{ type: "tool_use", id: `toolu_${bodies.length}`, name: "recall", input: { query: "code word" } }]
        : [{ type: "text", text: "Done." }];
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          id: `msg_${bodies.length}`,
          type: "message",
          role: "assistant",
          model,
          content,
          stop_reason: isAsked ? "tool_use" : "end_turn",
          usage: { input_tokens: 10, output_tokens: 5 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { bodies, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}` };
}

const users = ["ada", "eve"].map((name) => ({
  name,
  keySha256: hashKey(`plk_${name}`),
  upstreamKeys: { anthropic: `sk-${name}`, openai: `sk-${name}` },
}));

/** The real gateway, with its sessions in a home. */
async function openWorld(change: Partial<GatewayConfig> = {}) {
  const upstream = await serveModel();
  const home = await mkdtemp(join(tmpdir(), "gateway-users-"));
  const read = readConfig({
    env: {},
    overrides: { port: 0, upstream: { anthropic: upstream.url, openai: upstream.url } },
  });
  if (read.kind !== "config") throw new Error(read.message);
  const events: GatewayEvent[] = [];
  const gateway = await openGateway({
    home,
    cwd: home,
    secret,
    config: { ...read.config, users, ...change },
    onEvent: (event) => events.push(event),
  });
  if (gateway.kind === "failed") throw new Error(gateway.message);
  closers.push(() => gateway.close({ drainMs: 0 }));
  const ask = async (key: string, messages: readonly object[], { path = "", session = "" } = {}) => {
    const reply = await fetch(`${gateway.url}${path}/v1/messages`, {
      method: "POST",
      headers: {
        "x-api-key": key,
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        ...(session === "" ? {} : { "x-claude-code-session-id": session }),
      },
      body: JSON.stringify({ model, max_tokens: 50, tools: [tool], messages }),
    });
    await reply.text();
    return reply.status;
  };
  const status = async (key: string): Promise<{ readonly conversations: readonly { readonly id: string }[] }> => {
    const reply = await fetch(`${gateway.url}/palimpsest/status.json`, { headers: { authorization: `Bearer ${key}` } });
    return (await reply.json()) as { conversations: { id: string }[] };
  };
  /** What the model got back from its last call. */
  const recalled = (): string =>
    JSON.stringify(
      listField(upstream.bodies.at(-1) ?? {}, "messages").filter((one) => JSON.stringify(one).includes("tool_result")),
    );
  return { gateway, home, events, upstream, ask, status, recalled };
}

const tool = { name: "read", description: "Reads.", input_schema: { type: "object" } };
const user = (content: string) => ({ role: "user", content });
const done = { role: "assistant", content: [{ type: "text", text: "Done." }] };

describe("another user", () => {
  const project = `/project/${Buffer.from("/home/ada/project").toString("base64url")}`;
  const place = { path: project, session: "session-of-ada" };
  const told = [user("The code word is heliotrope.")];
  const question = [user("What was the code word?")];

  it("with the session id and the project of one finds nothing of it", async () => {
    const { ask, status, recalled } = await openWorld();
    await ask("plk_ada", told, place);
    await ask("plk_ada", question, place);
    // That is what there is to find: the owner's session goes on, and its memory has the word.
    expect((await status("plk_ada")).conversations).toHaveLength(1);
    expect(recalled()).toContain("heliotrope");
    await ask("plk_eve", question, place);
    expect(recalled()).toContain("tool_result");
    expect(recalled()).not.toContain("heliotrope");
    const [ada, eve] = [await status("plk_ada"), await status("plk_eve")];
    expect(eve.conversations).toHaveLength(1);
    expect(eve.conversations[0]?.id).not.toBe(ada.conversations[0]?.id);
  });

  it("with the same messages does not continue the conversation that they are from", async () => {
    const { ask, status, home } = await openWorld();
    await ask("plk_ada", told);
    await ask("plk_ada", [...told, done, user("Go on.")]);
    await ask("plk_eve", [...told, done, user("Go on."), done, user("And on.")]);
    const [ada, eve] = [await status("plk_ada"), await status("plk_eve")];
    expect([ada.conversations.length, eve.conversations.length]).toEqual([1, 1]);
    expect(eve.conversations[0]?.id).not.toBe(ada.conversations[0]?.id);
    expect((await readdir(join(home, "gateway", "users"))).toSorted()).toEqual(["ada", "eve"]);
  });
});

describe("with the operator's key", () => {
  const send = (url: string, method: string, body?: object) =>
    fetch(url, {
      method,
      headers: { authorization: "Bearer plk_eve", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it("a user reaches what shows nothing of others, and what the operator has opened", async () => {
    const { gateway, upstream } = await openWorld({ paths: ["/v1/embeddings"] });
    const statuses = async (...requests: readonly (readonly [string, string])[]) =>
      await Promise.all(requests.map(async ([method, path]) => (await send(`${gateway.url}${path}`, method)).status));
    expect(
      await statuses(
        ["GET", "/v1/files"],
        ["GET", "/v1/messages/batches"],
        ["POST", "/v1/completions"],
        ["GET", "/v1/responses/resp_of_ada"],
        ["DELETE", "/v1/models/a"],
        ["GET", "/v1/modelsx"],
        ["GET", "/v1/embeddingsx"],
      ),
    ).toEqual(Array<number>(7).fill(403));
    expect(upstream.bodies).toEqual([]);
    expect(await statuses(["GET", "/v1/models?x=1"], ["GET", "/v1/models/a"], ["POST", "/v1/embeddings"])).toEqual([
      200, 200, 200,
    ]);
  });

  it("a user does not go on from a response that the gateway does not know as that user's own", async () => {
    const { gateway, upstream } = await openWorld();
    const bodies = [
      '{"model":"gpt-5-mini","input":"x","previous_response_id":"resp_of_ada"}',
      '{"model":"gpt-5-mini","input":"x","previous\\u005fresponse_id":"resp_of_ada"}',
      '{"model":"gpt-5-mini","input":"x","conversation":"conv_of_ada"}',
    ];
    for (const body of bodies) {
      const reply = await fetch(`${gateway.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: "Bearer plk_eve", "content-type": "application/json" },
        body,
      });
      expect([reply.status, reply.headers.get("x-palimpsest-error")], body).toEqual([404, "not-found"]);
    }
    expect(upstream.bodies).toEqual([]);
  });
});

describe("a limit of spend", () => {
  const limited = users.map((one) => ({ ...one, usdPerDay: 5 }));
  const create = (url: string, asked: string, path = "/v1/chat/completions") =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer plk_ada", "content-type": "application/json" },
      body: JSON.stringify({ model: asked, messages: [user("Hi")], input: "Hi" }),
    });

  it("leaves no model whose price is unknown, unless the config has it", async () => {
    const { gateway, upstream, events } = await openWorld({ users: limited });
    for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/responses/compact"]) {
      const reply = await create(gateway.url, "gpt-9", path);
      expect([reply.status, reply.headers.get("x-palimpsest-error")], path).toEqual([403, "unpriced-model"]);
    }
    expect(upstream.bodies).toEqual([]);
    expect((await create(gateway.url, "gpt-5-mini")).status).toBe(200);
    const priced = await openWorld({
      users: limited,
      prices: [{ id: "gpt-9", prices: { input: 1, output: 2, cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 } }],
    });
    expect((await create(priced.gateway.url, "gpt-9")).status).toBe(200);
    const charged = [...events, ...priced.events].filter(({ kind }) => kind === "reply-cost");
    expect(charged).toMatchObject([{ model: "gpt-5-mini" }, { model: "gpt-9" }]);
  });
});

it("the operator sees a user's sessions by the user's name, and every command takes their ids", async () => {
  const { home, ask } = await openWorld();
  expect(await ask("plk_ada", [user("The code word is heliotrope.")])).toBe(200);
  const world = { home, cwd: home };
  const rows = async (...args: readonly string[]) =>
    JSON.parse((await called(world, "sessions", "list", "--json", ...args)).out) as { readonly sessionId: string }[];
  expect(await rows("--all")).toEqual([]);
  const [listed, ...others] = await rows("--user", "ada");
  expect(others).toEqual([]);
  const id = listed?.sessionId ?? "";
  expect((await called(world, "sessions", "list", "--user", "ada")).out).toContain(id.slice(0, 8));
  expect((await called(world, "view", id)).out).toContain("heliotrope");
  expect((await called(world, "sessions", "show", id.slice(0, 8))).out).toContain(
    "waits for the client's next request",
  );
  expect((await called(world, "receipts", id)).code).toBe(0);
  const resumed = await called(world, "-p", "--resume", id, "--model", "simulator", "And now?");
  expect([resumed.code, resumed.err]).toEqual([5, expect.stringContaining("belongs to a client of the gateway")]);
  for (const name of ["eve", "../users/ada", ".."]) {
    const unknown = await called(world, "sessions", "list", "--user", name);
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining("It has sessions of: ada.")]);
  }
});

it("what is told of a failure names no project and no folder", async () => {
  const { ask, home, events } = await openWorld({ users: [] });
  const folder = await mkdtemp(join(tmpdir(), "secret-project-"));
  await rm(join(home, "projects"), { recursive: true, force: true });
  await writeFile(join(home, "projects"), "");
  const path = `/project/${Buffer.from(folder).toString("base64url")}`;
  expect(await ask("k", [user("Hi")], { path })).toBe(200);
  const failed = events.filter(({ kind }) => kind === "failed-open");
  expect(failed).not.toEqual([]);
  expect(JSON.stringify(events)).not.toMatch(/secret-project|gateway-users-/);
});
