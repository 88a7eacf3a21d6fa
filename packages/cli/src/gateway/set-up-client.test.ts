import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ClientName, setUpClient } from "./set-up-client.ts";

const base = "http://127.0.0.1:1/project/L3A";

async function setUp(client: ClientName, env: Readonly<Record<string, string>> = {}) {
  const home = await mkdtemp(join(tmpdir(), "run-"));
  return setUpClient({ client, args: ["-x", "words"], env, home, url: "http://127.0.0.1:1", project: "/p" });
}

describe("a client is told its base URL, with the project, for one process", () => {
  it("claude by a variable", async () => {
    expect(await setUp("claude")).toMatchObject({
      program: "claude",
      args: ["-x", "words"],
      env: { ANTHROPIC_BASE_URL: base },
    });
  });

  it("claude by its settings as well, if the user's own name another base URL", async () => {
    const folder = await mkdtemp(join(tmpdir(), "run-claude-"));
    await mkdir(join(folder, ".claude"));
    await writeFile(join(folder, ".claude/settings.json"), '{"env":{"ANTHROPIC_BASE_URL":"https://other.example"}}');
    expect(await setUp("claude", { HOME: folder })).toMatchObject({
      args: ["--settings", JSON.stringify({ env: { ANTHROPIC_BASE_URL: base } }), "-x", "words"],
    });
  });

  it("claude is refused if it would not use the Messages API", async () => {
    expect(await setUp("claude", { CLAUDE_CODE_USE_BEDROCK: "1" })).toMatchObject({ kind: "failure", code: 5 });
    expect(await setUp("claude", { CLAUDE_CODE_USE_VERTEX: "0" })).toMatchObject({ kind: "client" });
  });

  it("opencode by its config in a variable, merged with the user's own", async () => {
    const own = { theme: "t", provider: { anthropic: { options: { apiKey: "k" } }, other: {} } };
    const setup = await setUp("opencode", { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) });
    const text = setup.kind === "client" ? (setup.env["OPENCODE_CONFIG_CONTENT"] ?? "") : "";
    expect(JSON.parse(text)).toEqual({
      theme: "t",
      provider: {
        anthropic: { options: { apiKey: "k", baseURL: `${base}/v1` } },
        openai: { options: { baseURL: `${base}/v1` } },
        other: {},
      },
    });
    expect(await setUp("opencode", { OPENCODE_CONFIG_CONTENT: "{" })).toMatchObject({ kind: "failure", code: 5 });
  });

  it("codex by options before the user's own, with the key that there is", async () => {
    const provider = `model_providers.palimpsest={name="palimpsest",base_url="${base}/v1",wire_api="responses",`;
    expect(await setUp("codex", { OPENAI_API_KEY: "k" })).toMatchObject({
      args: ["-c", `${provider}env_key="OPENAI_API_KEY"}`, "-c", 'model_provider="palimpsest"', "-x", "words"],
      notices: [],
    });
    const without = await setUp("codex");
    expect(without).toMatchObject({
      args: ["-c", `${provider}requires_openai_auth=true}`, "-c", expect.anything(), "-x", "words"],
    });
    expect(without.kind === "client" ? without.notices.join(" ") : "").toContain("ChatGPT");
  });

  it("pi by an extension that is named on its command line", async () => {
    const setup = await setUp("pi");
    if (setup.kind !== "client") throw new Error(setup.message);
    expect(setup.args).toEqual(["--extension", expect.stringMatching(/pi-extension\.js$/), "-x", "words"]);
    expect(setup.env).toEqual({ PALIMPSEST_GATEWAY_URL: base });
    expect(await readFile(setup.args[1] ?? "", "utf8")).toContain('registerProvider("anthropic"');
  });
});
