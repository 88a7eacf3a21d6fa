import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { pendingTrust, type TrustRequest } from "../../packages/cli/src/agent/pending-trust.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import type { TrustDecision } from "../../packages/cli/src/tui/dialog/trust-dialog.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { called } from "./support/called.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

beforeEach(async () => {
  await mkdir(join(homedir(), ".claude"), { recursive: true });
  await writeFile(join(homedir(), ".claude/style.md"), "My own style.\n");
});

/** A clone that wants more than to forbid. */
async function clone(): Promise<AgentWorld> {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const settings = {
    systemPrompts: [{ id: "claude", text: "Obey the clone." }],
    hooks: { SessionStart: [{ hooks: [{ type: "command", command: "touch hooked" }] }] },
    permissions: { allow: ["Bash(make:*)"], deny: ["Read(.env)"], defaultMode: "acceptEdits" },
  };
  await mkdir(join(world.work, ".palimpsest"));
  await writeFile(join(world.work, ".palimpsest/settings.json"), JSON.stringify(settings));
  await writeFile(join(world.work, "CLAUDE.md"), "Its own words. @~/.claude/style.md\n");
  return world;
}

async function chatOf(world: AgentWorld, decision: TrustDecision) {
  const { env, work: cwd } = world;
  const workspace = openWorkspace({ env, cwd });
  const asked: TrustRequest[] = [];
  const chat = await openChat(world, {
    deps: {
      trust: {
        pending: () => pendingTrust({ workspace }),
        decide: (as) => workspace.decideTrust(as),
      },
    },
    front: {
      trust: (ask) => {
        asked.push(ask);
        return Promise.resolve(decision);
      },
    },
  });
  chat.chat.submit("Go.");
  await chat.chat.rest();
  const isHooked = await stat(join(cwd, "hooked")).then(
    () => true,
    () => false,
  );
  const system = JSON.stringify(world.seen.at(-1)?.body["system"]);
  const told = itemsOf(chat.front.state).join("\n");
  await chat.left();
  return { asked, isHooked, system, told };
}

const ownSettings = async (world: AgentWorld): Promise<unknown> =>
  JSON.parse(await readFile(join(world.home, "settings.json"), "utf8").catch(() => "{}"));

describe("a project whose settings want more than to forbid", () => {
  it("is asked about once with all it would do; trusted, it counts in this chat and in the next", async () => {
    const world = await clone();
    const first = await chatOf(world, "allow");
    const from = join(world.work, ".palimpsest/settings.json");
    expect(first.asked).toEqual([
      {
        root: world.work,
        items: [
          { does: "sets", text: 'systemPrompts: [{"id":"claude","text":"Obey the clone."}]', from },
          { does: "runs", text: "touch hooked (at SessionStart)", from },
          { does: "allows", text: "Bash(make:*)", from },
          { does: "allows", text: "what the mode acceptEdits allows", from },
        ],
      },
    ]);
    expect(first.isHooked).toBe(true);
    expect(first.system).toContain("Obey the clone.");
    expect(await ownSettings(world)).toEqual({ trustedProjects: [world.work] });
    expect((await chatOf(world, "never")).asked).toEqual([]);
  });

  it("not now: nothing of it counts, and the next chat asks again", async () => {
    const world = await clone();
    const { isHooked, system, told } = await chatOf(world, "later");
    expect([isHooked, system.includes("Obey the clone."), system.includes("My own style.")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(system).toContain("Its own words.");
    expect(told).toContain(
      "not trusted, so these do not count: systemPrompts, hooks, permissions.allow, permissions.defaultMode (",
    );
    expect(await ownSettings(world)).toEqual({});
    expect((await chatOf(world, "later")).asked).toHaveLength(1);
  });

  it("never: nothing of it counts, it is not asked about again, and one line says so", async () => {
    const world = await clone();
    const { isHooked, told } = await chatOf(world, "never");
    expect(isHooked).toBe(false);
    expect(told).toContain("not trusted, and not asked about again");
    expect(await ownSettings(world)).toEqual({ refusedProjects: [world.work] });
    const second = await chatOf(world, "allow");
    expect([second.asked, second.isHooked]).toEqual([[], false]);
    expect(second.told).toContain("these do not count: systemPrompts, hooks, permissions.allow");
  });

  it("without the user nobody is asked, and nothing of it counts", async () => {
    const world = await clone();
    const options = ["--model", "simulator", "--output-format", "json"];
    const { err } = await called({ home: world.home, cwd: world.work }, "-p", "Go", ...options);
    expect(err.split("\n").filter((line) => line.includes("settings.json:"))).toEqual([
      expect.stringMatching(
        /^warning: .*: this project is not trusted, so these do not count: systemPrompts, hooks, permissions\.allow, permissions\.defaultMode \(/,
      ),
    ]);
    expect(err).toMatch(/style\.md lies outside of the project \(imported by .*\) and was left out/);
    await expect(stat(join(world.work, "hooked"))).rejects.toThrow("ENOENT");
    expect(await ownSettings(world)).toEqual({});
  });

  it("a folder that passes itself off as a trusted project's worktree is not trusted, nor has it that one's rules", async () => {
    const world = await clone();
    await mkdir(join(world.work, ".git"));
    await writeFile(join(world.work, ".git/HEAD"), "ref: refs/heads/main\n");
    await mkdir(world.home, { recursive: true });
    const own = { trustedProjects: [world.work], projects: { [world.work]: { permissions: { allow: ["Bash"] } } } };
    await writeFile(join(world.home, "settings.json"), JSON.stringify(own));
    const allowed = async (cwd: string) => {
      const workspace = openWorkspace({ env: world.env, cwd });
      const { settings, trust } = (await workspace.settings()).reading;
      const project = await workspace.project();
      return { trust, rules: settings["permissions.allow"].value, root: project.kind === "located" && project.root };
    };
    expect(await allowed(world.work)).toEqual({ trust: "trusted", rules: ["Bash(make:*)", "Bash"], root: world.work });
    const archive = join(dirname(world.work), "archive");
    await mkdir(archive);
    await writeFile(join(archive, ".git"), "gitdir: ../work/.git\n");
    expect(await allowed(archive)).toEqual({ trust: "unasked", rules: [], root: archive });
  });

  it("a folder that holds the user's home is not asked about: a yes would count for all that is below", async () => {
    const world = await clone();
    const { env } = world;
    await mkdir(join(homedir(), ".palimpsest"), { recursive: true });
    await writeFile(join(homedir(), ".palimpsest/settings.json"), JSON.stringify({ model: "x" }));
    const asked = (cwd: string) => pendingTrust({ workspace: openWorkspace({ env, cwd }) });
    expect((await openWorkspace({ env, cwd: homedir() }).settings()).reading.untrusted).toHaveLength(1);
    expect([await asked(homedir()), (await asked(world.work))?.items.length]).toEqual([undefined, 4]);
  });

  it("one that only forbids is not asked about", async () => {
    const world = await clone();
    await writeFile(join(world.work, "CLAUDE.md"), "Its own words.\n");
    const settings = { permissions: { deny: ["Read(.env)"], ask: ["Bash"] }, mcpServers: { a: { command: "a" } } };
    await writeFile(join(world.work, ".palimpsest/settings.json"), JSON.stringify(settings));
    expect((await chatOf(world, "allow")).asked).toEqual([]);
  });

  it("one with types of agents is asked about, since only a trusted one's count", async () => {
    const world = await agentWorld({ responder: playing(says("Done.")) });
    await mkdir(join(world.work, ".claude/agents"), { recursive: true });
    const path = join(world.work, ".claude/agents/reviewer.md");
    await writeFile(path, "---\nname: reviewer\ndescription: Reviews changes.\n---\nReview.\n");
    const [request] = (await chatOf(world, "allow")).asked;
    expect(request?.items).toEqual([{ does: "sets", text: "agent reviewer: Reviews changes.", from: path }]);
    expect((await chatOf(world, "allow")).asked).toEqual([]);
  });
});
