import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findClientUpstreams } from "./client-upstream.ts";

interface Given {
  readonly config?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: string;
  readonly client?: string;
}

async function findUpstreams({ config = {}, env = {}, settings, client = "claude" }: Given) {
  const folder = await mkdtemp(join(tmpdir(), "upstream-"));
  const configPath = join(folder, "gateway.json");
  await writeFile(configPath, JSON.stringify(config));
  await mkdir(join(folder, ".claude"));
  if (settings !== undefined)
    await writeFile(join(folder, ".claude/settings.json"), JSON.stringify({ env: { ANTHROPIC_BASE_URL: settings } }));
  return findClientUpstreams({ client, env: { HOME: folder, ...env }, project: folder, configPath });
}

const project = Buffer.from("/home/ada/app").toString("base64url");

describe("a base URL that leads to the gateway itself is no upstream", () => {
  it.each([
    ["its address", "http://127.0.0.1:8789"],
    ["with a path", "http://127.0.0.1:8789/v1/"],
    ["another name of loopback", "http://localhost:8789"],
    ["another address of loopback", "http://127.0.0.2:8789"],
    ["loopback of IPv6", "http://[::1]:8789"],
    ["of `palimpsest run`", `http://127.0.0.1:8789/project/${project}`],
    ["of `palimpsest run`, at a port that it no longer has", `http://127.0.0.1:40001/project/${project}/v1`],
  ])("%s: %s", async (_, url) => {
    const none = { wanted: [], unset: [], flags: [] };
    expect(await findUpstreams({ env: { ANTHROPIC_BASE_URL: url, OPENAI_BASE_URL: url } })).toEqual(none);
    expect(await findUpstreams({ settings: url })).toEqual(none);
  });

  it("by a name and a port of its config", async () => {
    const config = { port: 443, names: ["gateway.example.org"] };
    expect(
      (await findUpstreams({ config, env: { ANTHROPIC_BASE_URL: "https://gateway.example.org" } })).wanted,
    ).toEqual([]);
    const other = await findUpstreams({ config, env: { ANTHROPIC_BASE_URL: "https://other.example.org" } });
    expect(other.wanted).toMatchObject([{ url: "https://other.example.org" }]);
  });
});

describe("an API without a base URL", () => {
  const anthropic = {
    api: "anthropic",
    variable: "ANTHROPIC_BASE_URL",
    allowed: ["https://api.anthropic.com", "https://company.example"],
  };
  const openai = { api: "openai", variable: "OPENAI_BASE_URL", allowed: ["https://api.openai.com"] };
  const config = { upstream: { anthropic: "https://company.example" } };
  it.each([
    ["claude", [anthropic]],
    ["codex", [openai]],
    ["pi", [anthropic, openai]],
  ])("%s: its key is for the provider, or for what the config names", async (client, unset) => {
    expect((await findUpstreams({ client, config })).unset).toEqual(unset);
  });
});

describe("every other base URL of the user is the upstream", () => {
  it.each([
    ["another server", "https://company.example"],
    ["another port of this machine", "http://127.0.0.1:4000"],
    ["another server whose path has a project", "https://company.example/project/search-team/v1"],
  ])("%s: %s", async (_, url) => {
    const found = await findUpstreams({ env: { ANTHROPIC_BASE_URL: url } });
    expect(found.wanted).toEqual([{ api: "anthropic", url, source: "ANTHROPIC_BASE_URL" }]);
    expect(found.flags).toContain(`anthropic=${url}`);
  });

  it("Claude Code's settings win over the variable, for Claude Code alone", async () => {
    const given = { settings: "https://settings.example", env: { ANTHROPIC_BASE_URL: "https://variable.example" } };
    expect((await findUpstreams(given)).wanted.map(({ url }) => url)).toEqual(["https://settings.example"]);
    expect((await findUpstreams({ ...given, client: "pi" })).wanted.map(({ url }) => url)).toEqual([
      "https://variable.example",
    ]);
  });
});
