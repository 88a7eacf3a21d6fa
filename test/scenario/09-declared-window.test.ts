import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Agent, openAgent } from "../../src/agent/open-agent.ts";
import { newWorld, type World } from "./support/cli-world.ts";
import { served } from "./support/simulated.ts";

const model = "claude-loom-1";
const sizes = { id: model, windowTokens: 320_000, outputTokensMax: 64_000 };

async function opened(world: World, baseUrl: string, named = model): Promise<Agent> {
  const agent = await openAgent({
    env: { PALIMPSEST_HOME: world.home, HOME: world.home, ANTHROPIC_API_KEY: "k" },
    cwd: world.home,
    version: "0",
    flags: [{ flag: "model", text: named }],
    session: { kind: "new" },
    model: { kind: "provider", baseUrl },
    tools: { allow: [], deny: [] },
    askSizes: "on",
  });
  if (agent.kind !== "agent") throw new Error(agent.kind);
  return agent;
}

async function turn(agent: Agent): Promise<string | undefined> {
  let reason: string | undefined;
  for await (const event of agent.turn("Hello.", new AbortController().signal))
    if (event.kind === "turn-end") reason = event.reason;
  return reason;
}

describe("9. The window that a server declares", () => {
  it("is asked for beside the first turn, counts at once, and is known to the next session and to explain", async () => {
    const world = await newWorld();
    const { url } = await served({ models: [sizes] });
    const agent = await opened(world, url);
    expect(agent.numbers().window).toMatchObject({ tokens: 200_000, source: "fallback" });
    expect(await turn(agent)).toBe("answered");
    await vi.waitFor(() => expect(agent.numbers().window).toMatchObject({ tokens: 320_000, source: "server" }));
    const file = join(world.home, "declared-models.json");
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).toContain("320000"));
    await agent.close();
    const next = await opened(world, url);
    expect(next.numbers().window).toMatchObject({ tokens: 320_000, source: "server" });
    await next.close();
    // Of another server nothing is known.
    const elsewhere = await opened(world, "http://127.0.0.1:9");
    expect(elsewhere.numbers().window.source).toBe("fallback");
    await elsewhere.close();
    const explain = async (env: Record<string, string>, ...args: readonly string[]) => {
      const said = await world.callWith({ env }, "explain", "--json", "--model", model, ...args);
      return (JSON.parse(said.out) as { window: { tokens: number; source: string; from: string } }).window;
    };
    const env = { ANTHROPIC_BASE_URL: url };
    expect(await explain(env)).toEqual({ tokens: 320_000, source: "server", from: "what the server declares" });
    expect((await explain(env, "--context-tokens", "90000")).source).toBe("flag");
    expect((await explain({})).source).toBe("fallback");
    // What was said long ago is no news.
    await writeFile(file, (await readFile(file, "utf8")).replace(/"asked": "\d+/, '"asked": "2001'));
    expect((await explain(env)).source).toBe("fallback");
  });

  it("is nobody's trouble where the server says nothing of the model, or is not there", async () => {
    const world = await newWorld();
    const { url } = await served();
    const agent = await opened(world, url, "claude-nothing-1");
    expect(await turn(agent)).not.toBe("answered");
    expect(agent.numbers().window.source).toBe("fallback");
    await agent.close();
  });
});
