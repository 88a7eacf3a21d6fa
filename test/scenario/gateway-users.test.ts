import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGateway } from "@palimpsest/gateway";
import { type GatewayConfig, readConfig } from "@palimpsest/gateway/internal/operate/gateway-config";
import type { GatewayEvent } from "@palimpsest/gateway/internal/operate/gateway-event";
import { hashKey } from "@palimpsest/gateway/internal/operate/users";
import { isObject, type JsonObject, listField, parseJson } from "palimpsest/internal/schema/json";
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
  upstreamKeys: { anthropic: `sk-${name}` },
}));

/** The real gateway, with its sessions in a home. */
async function openWorld(change: Partial<GatewayConfig> = {}) {
  const upstream = await serveModel();
  const home = await mkdtemp(join(tmpdir(), "gateway-users-"));
  const read = readConfig({ env: {}, overrides: { port: 0, upstream: { anthropic: upstream.url } } });
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
    JSON.stringify(listField(upstream.bodies.at(-1) ?? {}, "messages").filter((one) => JSON.stringify(one).includes("tool_result")));
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
