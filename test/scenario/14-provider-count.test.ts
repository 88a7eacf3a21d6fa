import { readFile, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { AgentOptions } from "../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { listRewindPoints } from "../../packages/palimpsest/src/session/undo.ts";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { newWorld, type World } from "./support/cli-world.ts";
import { served } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
const counterAt = (url: string): string => `count_tokens ${url} ${model}`;

async function opened(world: World, baseUrl: string, more: Partial<AgentOptions> = {}): Promise<Agent> {
  const agent = await openAgent({
    env: { PALIMPSEST_HOME: world.home, HOME: world.home, ANTHROPIC_API_KEY: "k" },
    cwd: world.home,
    version: "0",
    flags: [{ flag: "model", text: model }],
    session: { kind: "new" },
    model: { kind: "provider", baseUrl },
    tools: { allow: [], deny: [] },
    countFixedPart: "on",
    ...more,
  });
  if (agent.kind !== "agent") throw new Error(agent.kind);
  return agent;
}

interface FirstRequest {
  readonly reason: string | undefined;
  readonly estimated: number;
  /** By the server. */
  readonly counted: number;
}

async function firstRequest(agent: Agent): Promise<FirstRequest> {
  let reason: string | undefined;
  let estimated = 0;
  let counted = 0;
  for await (const event of agent.turn("Hello.", new AbortController().signal)) {
    if (event.kind === "request-start") estimated = event.tokens;
    if (event.kind === "reply-end" && event.usage !== undefined)
      counted = event.usage.input + event.usage.cacheWrite + event.usage.cacheRead;
    if (event.kind === "turn-end") reason = event.reason;
  }
  return { reason, estimated, counted };
}

async function countAlone(url: string, text: string): Promise<number> {
  const port = anthropicModel({ apiKey: "k", baseUrl: url, now: () => millis(0) });
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  const count = await port.count?.({ model, system: [], tools: [], messages });
  return count?.kind === "counted" ? count.tokens : Number.NaN;
}

type Answer = (response: ServerResponse) => void;

/** A simulator behind a server that answers questions for a count in its own way. */
async function servedWith(answerCount: Answer): Promise<{ readonly url: string; readonly asked: () => number }> {
  const { url: behind } = await served();
  let asked = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === "string" && !/^(host|connection|content-length)$/.test(name) ? [[name, value]] : [],
    );
    const body = request.method === "POST" ? new Uint8Array(await buffer(request)) : null;
    const reply = await fetch(`${behind}${request.url}`, { method: request.method ?? "GET", headers, body });
    response.writeHead(reply.status, { "content-type": reply.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await reply.arrayBuffer()));
  };
  const server = createServer((request, response) => {
    if (request.url?.endsWith("/count_tokens") !== true) return void pass(request, response);
    asked += 1;
    answerCount(response);
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, asked: () => asked };
}

const isCounted = (agent: Agent, url: string) =>
  vi.waitFor(() => expect(agent.session.ledger.knownFixed.counter).toBe(counterAt(url)));

describe("14. System prompt and tools as the provider counts them", () => {
  it("are counted beside the first turn, and the next session's first request is exact", async () => {
    const world = await newWorld();
    const { url, simulator } = await served();
    const asked = vi.spyOn(simulator, "countTokens");
    const agent = await opened(world, url);
    expect(agent.session.ledger.fixedCountedBy).toBe("estimate");
    const estimate = agent.session.ledger.fixedTokens;
    await firstRequest(agent);
    await isCounted(agent, url);
    const file = join(world.home, "counted-parts.json");
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).toContain("systemPrompt"));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await agent.close();
    const questions = asked.mock.calls.length;
    // The message, with the prompt, with what is said about memory, with the tools.
    expect(questions).toBe(4);
    const next = await opened(world, url);
    expect(next.session.ledger.fixedCountedBy).toBe(counterAt(url));
    const { fixedTokens } = next.session.ledger;
    expect(estimate - fixedTokens).toBeGreaterThan(25);
    const known = await firstRequest(next);
    expect(Math.abs(known.estimated - known.counted)).toBeLessThan(6);
    await next.close();
    expect(asked).toHaveBeenCalledTimes(questions);
    // What is still estimated is the one word that was said.
    expect(fixedTokens + (await countAlone(url, "Hello."))).toBe(known.counted);
    // Another server may count otherwise.
    const { url: other } = await served();
    const elsewhere = await opened(world, other);
    expect(elsewhere.session.ledger.fixedCountedBy).toBe("estimate");
    await elsewhere.close();
  });

  it("stay counted behind a rewind", async () => {
    const world = await newWorld();
    const { url } = await served();
    const agent = await opened(world, url);
    await firstRequest(agent);
    await isCounted(agent, url);
    const first = listRewindPoints(agent.session).at(-1);
    if (first === undefined) throw new Error("nothing was said");
    expect((await agent.context.view.rewind(first.id)).kind).toBe("rewound");
    expect(agent.session.ledger.knownFixed.counter).toBe(counterAt(url));
    await agent.close();
  });

  it("are not asked for unless the caller wants it", async () => {
    const world = await newWorld();
    const { url, simulator } = await served();
    const asked = vi.spyOn(simulator, "countTokens");
    const agent = await opened(world, url, { countFixedPart: "off" });
    expect((await firstRequest(agent)).reason).toBe("answered");
    await agent.close();
    expect(asked).not.toHaveBeenCalled();
  });

  it.each<[string, number, Answer]>([
    ["has no such endpoint", 1, (response) => void response.writeHead(404).end("no such page")],
    ["never answers", 1, () => undefined],
    ["answers something else", 1, (response) => void response.writeHead(200).end('{"ok":true}')],
    [
      "counts what can't be",
      4,
      (response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":7}'),
    ],
  ])("are estimated as ever where the server %s, and nobody waits", async (_, questions, answer) => {
    const world = await newWorld();
    const { url, asked } = await servedWith(answer);
    const began = performance.now();
    const agent = await opened(world, url);
    const first = await firstRequest(agent);
    expect(first.reason).toBe("answered");
    await vi.waitFor(() => expect(asked()).toBe(questions));
    await setTimeout(50);
    expect(agent.session.ledger.knownFixed.counter).toBe("estimate");
    await agent.close();
    // Less than the time that the server is given.
    expect(performance.now() - began).toBeLessThan(8_000);
    const next = await opened(world, url);
    expect(next.session.ledger.fixedCountedBy).toBe("estimate");
    expect((await firstRequest(next)).estimated).toBe(first.estimated);
    await next.close();
    await expect(stat(join(world.home, "counted-parts.json"))).rejects.toThrow("ENOENT");
  });
});
