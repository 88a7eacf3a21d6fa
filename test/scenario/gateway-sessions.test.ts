import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { called } from "./support/called.ts";
import { closeWorlds, createWorld, startGateway } from "./support/gateway-cli-world.ts";

afterEach(closeWorlds);

const model = "claude-sonnet-5-5";
const headers = {
  "x-api-key": "k",
  "anthropic-version": "2023-06-01",
  "content-type": "application/json",
  "anthropic-beta": "message-threads-2026-08-12",
};

const post = (url: string, body: object): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model, max_tokens: 500, ...body }),
  });

const user = (content: string) => ({ role: "user", content });

/** A thread that begins with these words. Returns the id of its reply. */
async function beginThread(url: string, words: string): Promise<string> {
  const reply = await post(url, { messages: [user(words)], thread: { type: "create" } });
  const { id } = (await reply.json()) as { readonly id: string };
  return id;
}

const goOn = async (url: string, id: string): Promise<number> =>
  (await post(url, { messages: [user("On.")], thread: { type: "continue", previous_message_id: id } })).status;

const listSessions = async (world: { readonly home: string }) =>
  JSON.parse((await called(world, "sessions", "list", "--all", "--json")).out) as readonly {
    readonly sessionId: string;
    readonly firstPrompt: string;
  }[];

const findSession = async (world: { readonly home: string }, words: string): Promise<string> =>
  (await listSessions(world)).find(({ firstPrompt }) => firstPrompt === words)?.sessionId ?? "";

/** Everything that the gateway keeps on disk besides sessions. */
const readLogs = async ({ home }: { readonly home: string }): Promise<string> =>
  (
    await Promise.all(
      ["conversations.jsonl", "histories.jsonl", "tools.jsonl"].map((name) =>
        readFile(join(home, "gateway", name), "utf8"),
      ),
    )
  ).join("");

describe("a session that is deleted", () => {
  it("leaves nothing in a running gateway, neither on disk nor in memory", async () => {
    const world = await createWorld();
    const { url } = await startGateway(world);
    const [one, other] = [await beginThread(url, "Number forty-one."), await beginThread(url, "Number seven.")];
    const session = await findSession(world, "Number forty-one.");
    expect(await readLogs(world)).toContain(session);
    const deleted = await called(world, "sessions", "delete", session, "--yes");
    expect([deleted.code, deleted.err]).toEqual([0, ""]);
    const logs = await readLogs(world);
    expect(logs).not.toMatch(/forty-one/);
    expect(logs).not.toContain(session);
    expect(logs).toContain("Number seven.");
    expect([await goOn(url, one), await goOn(url, other)]).toEqual([404, 200]);
    const status = (await called(world, "gateway", "status", "--json")).out;
    expect(status).not.toContain(session);
  });

  it("leaves nothing in a gateway that is started later", async () => {
    const world = await createWorld();
    const first = await startGateway(world);
    const [one, other] = [await beginThread(first.url, "Number forty-one."), await beginThread(first.url, "Seven.")];
    first.child.kill("SIGTERM");
    await first.ended;
    const session = await findSession(world, "Number forty-one.");
    expect((await called(world, "sessions", "delete", session, "--yes")).code).toBe(0);
    const logs = await readLogs(world);
    expect(logs).not.toMatch(/forty-one/);
    expect(logs).not.toContain(session);
    const { url } = await startGateway(world);
    expect([await goOn(url, one), await goOn(url, other)]).toEqual([404, 200]);
  });

  it("is gone although the gateway had it open, unless a reply is on its way", async () => {
    const world = await createWorld();
    const { url } = await startGateway(world);
    await beginThread(url, "Number forty-one.");
    const session = await findSession(world, "Number forty-one.");
    expect((await called(world, "sessions", "delete", session, "--yes")).code).toBe(0);
    expect(await listSessions(world)).toEqual([]);
  });
});

describe("histories of an earlier run of the gateway", () => {
  const endGateway = async ({ child, ended }: Awaited<ReturnType<typeof startGateway>>): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };

  it("go with their session although the config now has secrets redacted", async () => {
    const world = await createWorld();
    const first = await startGateway(world);
    const one = await beginThread(first.url, "Number forty-one.");
    await endGateway(first);
    const path = join(world.home, "gateway.json");
    const config = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...config, context: { secrets: "redact" } }));
    const { url } = await startGateway(world);
    await beginThread(url, "Number seven.");
    expect(await readLogs(world)).toMatch(/forty-one/);
    const session = await findSession(world, "Number forty-one.");
    expect((await called(world, "sessions", "delete", session, "--yes")).code).toBe(0);
    expect(await readLogs(world)).not.toMatch(/forty-one|seven/);
    expect(await goOn(url, one)).toBe(404);
  });

  it("are gone on with if their file has its earlier name", async () => {
    const world = await createWorld();
    const first = await startGateway(world);
    const one = await beginThread(first.url, "Number forty-one.");
    await endGateway(first);
    const folder = join(world.home, "gateway");
    await rename(join(folder, "histories.jsonl"), join(folder, "held.jsonl"));
    const { url } = await startGateway(world);
    expect([await goOn(url, one), await readdir(folder)]).toEqual([200, expect.not.arrayContaining(["held.jsonl"])]);
  });
});

describe("the window of the gateway's config", () => {
  const openSession = async (contextTokens: number, rounds: number) => {
    const world = await createWorld();
    const path = join(world.home, "gateway.json");
    const config = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...config, context: { contextTokens, recall: "off" } }));
    const { url } = await startGateway(world);
    const results = Array.from({ length: rounds }, (_, nth) => [
      { role: "assistant", content: [{ type: "tool_use", id: `toolu_${nth}`, name: "read", input: { nth } }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${nth}`, content: `line ${nth};\n`.repeat(400) }],
      },
    ]);
    const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];
    const reply = await post(url, { messages: [user("Read all."), ...results.flat()], tools });
    expect(reply.status).toBe(200);
    await reply.text();
    const [listed] = await listSessions(world);
    return { world, session: listed?.sessionId ?? "" };
  };

  it("is what `context` shows, and `--context-tokens` wins", async () => {
    const { world, session } = await openSession(60_000, 4);
    const window = async (...args: readonly string[]) =>
      JSON.parse((await called(world, "context", session, "--json", ...args)).out) as object;
    await expect.poll(() => window()).toMatchObject({ window: 60_000, windowFrom: "the gateway's config" });
    expect(await window("--context-tokens", "90000")).toMatchObject({ window: 90_000 });
  });

  it("is the one that pins have a tenth of", async () => {
    const { world, session } = await openSession(60_000, 4);
    const pinned = await called(world, "pin", session, "toolu_1", "--json");
    expect(JSON.parse(pinned.out)).toMatchObject({ budgetTokens: 6_000 });
  });

  it("is the one that an undo must fit: it is refused, and leaves the session as it is", async () => {
    const { world, session } = await openSession(30_000, 40);
    const before = (await called(world, "view", session, "--json")).out;
    const undone = await called(world, "undo", session);
    expect([undone.code, undone.err]).toEqual([5, expect.stringMatching(/no request over [\d,]+ can be sent/)]);
    expect((await called(world, "view", session, "--json")).out).toBe(before);
  });
});

describe("a first request that the upstream refuses", () => {
  it("leaves no session, and the next one is a conversation", async () => {
    const world = await createWorld();
    const { url } = await startGateway(world);
    const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];
    const wrong = await post(url, { messages: [user("Hello.")], tools, temperature: 7 });
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining("temperature")]);
    await expect.poll(() => listSessions(world), { timeout: 10_000 }).toEqual([]);
    const status = JSON.parse((await called(world, "gateway", "status", "--json")).out) as {
      readonly conversations: readonly unknown[];
    };
    expect(status.conversations).toEqual([]);
    expect((await post(url, { messages: [user("Hello.")], tools })).status).toBe(200);
    expect((await listSessions(world)).map(({ firstPrompt }) => firstPrompt)).toEqual(["Hello."]);
    // One that goes on is not a first one.
    const later = { messages: [user("Hello."), { role: "assistant", content: "Yes?" }, user("On.")], tools };
    expect((await post(url, { ...later, temperature: 7 })).status).toBe(400);
    expect(await listSessions(world)).toHaveLength(1);
  });
});
