import { mkdir, mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import type { InstructionReport } from "../../packages/cli/src/text/instruction-report.ts";
import { called } from "./support/called.ts";
import { json } from "./support/cli-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** A file of each source, in the order in which they count. Each holds its own codeword. */
const sources = (world: AgentWorld, managed: string): readonly (readonly [string, string, string])[] => [
  ["Managed", join(managed, "CLAUDE.md"), "codeword-managed"],
  ["User", join(homedir(), ".claude/CLAUDE.md"), "codeword-user"],
  ["User", join(homedir(), ".claude/rules/tone.md"), "codeword-user-rule"],
  ["User", join(world.home, "CLAUDE.md"), "codeword-own"],
  ["User", join(homedir(), "team/rules.md"), "codeword-named-by-user"],
  ["Project", join(world.work, "AGENTS.md"), "codeword-agents"],
  ["Project", join(world.work, "CONTEXT.md"), "codeword-context"],
  ["Project", join(world.work, ".claude/rules/deep/all.md"), "codeword-rule"],
  ["Project", join(world.work, "GEMINI.md"), "codeword-gemini"],
  ["Local", join(world.work, "CLAUDE.local.md"), "codeword-local"],
  ["Project", join(world.work, "docs/guide.md"), "codeword-named-by-project"],
];

async function filledWorld(): Promise<AgentWorld & { readonly managed: string }> {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const managed = await realpath(await mkdtemp(join(tmpdir(), "managed-")));
  for (const [, path, word] of sources(world, managed)) await put(path, `Remember ${word}.\n`);
  await put(join(world.work, ".claude/rules/api.md"), "---\npaths: src/**\n---\ncodeword-waits");
  await put(join(world.work, "old/CLAUDE.md"), "codeword-old");
  await put(join(world.work, ".palimpsest/settings.json"), JSON.stringify({ instructions: ["docs/*.md"] }));
  const log = join(world.work, "hooked");
  const hook = { type: "command", command: `cat >> ${log}; echo >> ${log}` };
  await put(
    join(world.home, "settings.json"),
    JSON.stringify({
      trustedProjects: [world.work],
      instructions: ["~/team/*.md"],
      foreignInstructions: ["gemini"],
      hooks: { InstructionsLoaded: [{ hooks: [hook] }] },
    }),
  );
  return { ...world, managed };
}

beforeEach(async () => {
  await mkdir(join(homedir(), ".claude"), { recursive: true });
});

describe("every source of instructions", () => {
  it("is in the first request, broad to narrow, once, and hooks hear of each", async () => {
    const world = await filledWorld();
    const opened = await openAgent({
      env: world.env,
      cwd: world.work,
      version: "0.0.0",
      flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
      session: { kind: "new" },
      model: { kind: "provider" },
      tools: { mode: "bypass", allow: [], deny: [] },
      managedFolders: [world.managed],
    });
    if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
    await turn(opened, "Go.");
    await opened.close();
    const system = JSON.stringify(world.seen.at(-1)?.body["system"]);
    const expected = sources(world, world.managed);
    expect([...system.matchAll(/codeword-[a-z-]+/g)].map(([word]) => word)).toEqual(expected.map(([, , word]) => word));
    expect(opened.warnings).toEqual([]);
    const hooked = (await readFile(join(world.work, "hooked"), "utf8"))
      .trim()
      .split(/\n+/)
      .map((line) => JSON.parse(line) as Record<string, string>);
    expect(hooked.map((event) => [event["memory_type"], event["file_path"], event["load_reason"]])).toEqual(
      expected.map(([type, path]) => [type, path, "session_start"]),
    );
  });
});

describe("palimpsest memory check", () => {
  it("lists what a session would load, what waits for a file, and what was left out", async () => {
    const world = await filledWorld();
    await put(join(world.work, "CLAUDE.local.md"), `${"long ".repeat(9_000)} @~/notes/mine.md`);
    await put(join(homedir(), "notes/mine.md"), "codeword-outside");
    const settings = JSON.parse(await readFile(join(world.home, "settings.json"), "utf8")) as object;
    const excludes = { claudeMdExcludes: ["**/CONTEXT.md"] };
    await put(join(world.home, "settings.json"), JSON.stringify({ ...settings, ...excludes }));
    const calling = { home: world.home, cwd: world.work };
    const report = json<InstructionReport>(await called(calling, "memory", "check", "--json"));
    const expected = sources(world, world.managed).slice(1);
    expect(report.files.filter(({ scope }) => scope !== "managed").map(({ path }) => path)).toEqual(
      expected.map(([, path]) => path).filter((path) => !path.endsWith("CONTEXT.md")),
    );
    expect(report.rules).toMatchObject([{ path: join(world.work, ".claude/rules/api.md"), patterns: ["src/**"] }]);
    expect(report.warnings).toEqual([
      expect.stringMatching(/CLAUDE\.local\.md has 45,\d+ characters, which every request carries/),
      expect.stringMatching(/notes\/mine\.md lies outside of the project .* to include it/),
      `${join(world.work, "CONTEXT.md")} was left out by claudeMdExcludes`,
    ]);
    expect(report.money?.sessionDollars).toBeGreaterThan(0);
    const { out, code } = await called(calling, "memory", "check");
    expect([code, out.includes("codeword")]).toEqual([0, false]);
    expect(out).toMatch(/for a session of 80 requests/);
  });

  it("of a project that is not trusted: what its settings name does not count", async () => {
    const world = await filledWorld();
    await put(join(world.home, "settings.json"), "{}");
    const report = json<InstructionReport>(
      await called({ home: world.home, cwd: world.work }, "memory", "check", "--json"),
    );
    expect(report.files.filter(({ path }) => /guide|GEMINI|team/.test(path))).toEqual([]);
  });
});
