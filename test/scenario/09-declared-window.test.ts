import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import type { AgentOptions } from "../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import { main } from "../../packages/cli/src/main.ts";
import type { RespondInput } from "../../packages/simulator/src/responder/responder.ts";
import { json, newWorld, type World } from "./support/cli-world.ts";
import type { Said } from "./support/command-line.ts";
import { playing, says, served } from "./support/simulated.ts";

const model = "claude-loom-1";
const sizes = { id: model, windowTokens: 320_000, outputTokensMax: 64_000 };

interface Opened extends Partial<Pick<AgentOptions, "env" | "flags" | "model">> {
  readonly named?: string;
}

async function opened(world: World, baseUrl: string, { named = model, env, ...other }: Opened = {}): Promise<Agent> {
  const agent = await openAgent({
    env: { PALIMPSEST_HOME: world.home, HOME: world.home, ANTHROPIC_API_KEY: "k", ...env },
    cwd: world.home,
    version: "0",
    flags: [{ flag: "model", text: named }],
    session: { kind: "new" },
    model: { kind: "provider", baseUrl },
    tools: { allow: [], deny: [] },
    askSizes: "on",
    ...other,
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

interface Call {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

/** A command, in this process. */
async function called({ home }: World, { env, argv }: Call): Promise<Said> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const texts = { out: "", err: "" };
  stdout.on("data", (data: Buffer) => (texts.out += data.toString()));
  stderr.on("data", (data: Buffer) => (texts.err += data.toString()));
  stdin.end();
  const here = { PATH: process.env["PATH"], NO_COLOR: "1", HOME: home, PALIMPSEST_HOME: home, ...env };
  const code = await main({ argv, stdin, stdout, stderr, env: here, cwd: home });
  return { code, signal: null, ...texts };
}

describe("9. The window that a server declares", () => {
  it("is asked for beside the first turn, counts at once, and is known to the next session and to explain", async () => {
    const world = await newWorld();
    const { url } = await served({ models: [sizes] });
    const agent = await opened(world, url);
    expect(agent.settings().window).toMatchObject({ tokens: 200_000, source: "fallback" });
    expect(await turn(agent)).toBe("answered");
    await vi.waitFor(() => expect(agent.settings().window).toMatchObject({ tokens: 320_000, source: "server" }));
    const file = join(world.home, "declared-models.json");
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).toContain("320000"));
    await agent.close();
    const next = await opened(world, url);
    expect(next.settings().window).toMatchObject({ tokens: 320_000, source: "server" });
    await next.close();
    // Of another server nothing is known.
    const elsewhere = await opened(world, "http://127.0.0.1:9");
    expect(elsewhere.settings().window.source).toBe("fallback");
    await elsewhere.close();
    const explain = async (env: Record<string, string>, ...args: readonly string[]) => {
      const said = await called(world, { env, argv: ["explain", "--json", "--model", model, ...args] });
      return json<{ window: { tokens: number; source: string; from: string } }>(said).window;
    };
    const env = { ANTHROPIC_BASE_URL: url };
    expect(await explain(env)).toEqual({ tokens: 320_000, source: "server", from: "what the server declares" });
    expect((await explain(env, "--context-tokens", "90000")).source).toBe("flag");
    expect((await explain({})).source).toBe("fallback");
    // What was said long ago is no news.
    await writeFile(file, (await readFile(file, "utf8")).replace(/"asked": "\d+/, '"asked": "2001'));
    expect((await explain(env)).source).toBe("fallback");
  });

  it("is the same for every command, also with an address that only a flag names", async () => {
    const world = await newWorld();
    const { url } = await served({ models: [sizes] });
    // The environment names another server, which is not there.
    const elsewhere = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", ANTHROPIC_API_KEY: "k" };
    const agent = await opened(world, url, { env: elsewhere });
    expect(await turn(agent)).toBe("answered");
    await vi.waitFor(() => expect(agent.settings().window.tokens).toBe(320_000));
    await agent.close();
    const shown = async (...line: readonly string[]): Promise<unknown> => {
      const said = await called(world, { env: elsewhere, argv: [...line, "--json", "--model", model] });
      const { window } = json<{ window: number | { tokens: number } }>(said);
      return typeof window === "number" ? window : window.tokens;
    };
    for (const line of [["explain"], ["context", agent.session.id], ["view", agent.session.id]]) {
      expect(await shown(...line, "--base-url", url), line[0]).toBe(320_000);
      expect(await shown(...line, "--base-url", `${url}/`), line[0]).toBe(320_000);
      expect(await shown(...line), line[0]).toBe(200_000);
    }
    // As `clear` opens it, and `compact` without a key: nobody is asked, and the window is still the server's.
    const unasked = { kind: "none", message: "nobody", baseUrl: url } as const;
    const withoutModel = await opened(world, url, { env: elsewhere, model: unasked });
    expect(withoutModel.settings().window).toMatchObject({ tokens: 320_000, source: "server" });
    await withoutModel.close();
    const argv = ["clear", agent.session.id, "--base-url", url, "--json"];
    expect(await called(world, { env: elsewhere, argv })).toMatchObject({ code: 0, err: "" });
  });

  it("is asked for once in a session, also by what wants to know what the server can do", async () => {
    const world = await newWorld();
    const { url, simulator } = await served({ models: [sizes] });
    const asked = vi.spyOn(simulator, "model");
    const flags = [
      { flag: "model", text: model },
      { flag: "policy", text: "claude-code-2026-all" },
      { flag: "on", text: "clear.api" },
    ];
    const agent = await opened(world, url, { flags });
    expect(await turn(agent)).toBe("answered");
    expect(await turn(agent)).toBe("answered");
    await vi.waitFor(() => expect(agent.settings().window.tokens).toBe(320_000));
    await agent.close();
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("is asked for beside a single turn too, and the next one knows it", async () => {
    const world = await newWorld();
    // A turn lasts longer than that question.
    const isRemembered = async () => void (await readFile(join(world.home, "declared-models.json")));
    const reply = playing(says("Hello."));
    const responder = {
      name: "slow",
      respond: async (input: RespondInput) => (
        await vi.waitFor(isRemembered).catch(() => undefined),
        reply.respond(input)
      ),
    };
    const { url, simulator } = await served({ models: [sizes], responder });
    const asked = vi.spyOn(simulator, "model");
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "k" };
    const print = () => called(world, { env, argv: ["-p", "Hello.", "--model", model] });
    expect(await print()).toMatchObject({ code: 0 });
    const explained = await called(world, { env, argv: ["explain", "--json", "--model", model] });
    expect(json(explained)).toMatchObject({ window: { tokens: 320_000, source: "server" } });
    expect(await print()).toMatchObject({ code: 0 });
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("is nobody's trouble where the server says nothing of the model, or is not there", async () => {
    const world = await newWorld();
    const { url } = await served();
    const agent = await opened(world, url, { named: "claude-nothing-1" });
    expect(await turn(agent)).not.toBe("answered");
    expect(agent.settings().window.source).toBe("fallback");
    await agent.close();
  });
});
