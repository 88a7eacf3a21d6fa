import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { pendingApprovals } from "../../packages/cli/src/settings/defined-servers.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";
import { append, user } from "../fixture/session.ts";
import { json, newWorld, type World } from "./support/cli-world.ts";
import { pathOf, sessionWith } from "./support/project.ts";

interface Found {
  readonly checks: readonly {
    readonly name: string;
    readonly state: string;
    readonly says: string;
    readonly todo?: string;
  }[];
}

const key = "sk-test-0123456789";
const env = { ANTHROPIC_API_KEY: key };

async function checked(world: World, ...args: readonly string[]) {
  const said = await world.callWith({ env }, "doctor", "--json", ...args);
  const { checks } = json<Found>(said);
  const of = (name: string) => checks.filter((one) => one.name === name);
  return { code: said.code, checks, of, text: said.out };
}

async function settingsOf({ home }: World, settings: object): Promise<string> {
  const path = join(home, "settings.json");
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 });
  return path;
}

describe("palimpsest doctor", () => {
  it("says that all is well, and shows no key", async () => {
    const world = await newWorld();
    await chmod(world.home, 0o700);
    await sessionWith(world.deps, "one", async (session) => void (await append(session, user("Hello"))));
    const { code, checks, text } = await checked(world);
    // A machine without a sandbox is warned of that, and of nothing else.
    const warned = noBubblewrap ? ["sandbox"] : [];
    expect([code, checks.filter(({ state }) => state !== "fine").map(({ name }) => name)]).toEqual([0, warned]);
    expect(checks.map(({ name }) => name)).toEqual(
      "palimpsest node ripgrep shell git disk terminal sandbox home settings model sessions locks processes".split(" "),
    );
    expect(text).not.toContain(key);
    const said = await world.callWith({ env }, "doctor");
    const verdict = noBubblewrap ? "it works, with warnings\n" : "all is well\n";
    expect([said.out.startsWith("✓ palimpsest "), said.out.endsWith(verdict)]).toEqual([true, true]);
  });

  it("what only warns leaves the exit code fine, and says what to do", async () => {
    const world = await newWorld();
    const path = await settingsOf(world, { modle: "x" });
    await chmod(path, 0o644);
    await chmod(world.home, 0o755);
    const { code, of } = await checked(world);
    expect(code).toBe(0);
    expect(of("home")).toMatchObject([{ state: "warning", todo: `chmod 700 ${world.home}` }]);
    expect(of("settings")).toMatchObject([{ state: "warning" }, { state: "warning", todo: `chmod 600 ${path}` }]);
  });

  it("settings with errors and hooks that are not there fail", async () => {
    const world = await newWorld();
    const hook = (command: string) => ({ hooks: [{ type: "command", command }] });
    await settingsOf(world, {
      contextTokens: "many",
      hooks: { Stop: [hook("/nowhere/hook.sh --now"), hook("echo fine"), hook("$HOME/unknown")] },
    });
    const { code, of } = await checked(world);
    expect(code).toBe(1);
    expect(of("settings")).toMatchObject([{ state: "failed" }]);
    expect(of("hooks").map(({ says }) => says)).toEqual(["Stop: /nowhere/hook.sh is not there, or may not be run"]);
  });

  it("damage in the newest session is told with the command that repairs it", async () => {
    const world = await newWorld();
    await writeFile(pathOf(world, "damaged"), "\0\0{]\n");
    const { of } = await checked(world);
    expect(of("sessions")).toMatchObject([{ state: "warning", todo: "palimpsest sessions fsck damaged --repair" }]);
  });

  it("servers are started only where that is asked for; one that is not approved never", async () => {
    const world = await newWorld();
    const program = join(import.meta.dirname, "../fixture/mcp/stdio-server.ts");
    const broken = {
      command: "/bin/sh",
      args: ["-c", "echo the-secret-value >&2; exit 3"],
      env: { K: "the-secret-value" },
    };
    await settingsOf(world, { mcpServers: { good: { command: process.execPath, args: [program, "good"] }, broken } });
    await writeFile(join(world.work, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: broken } }));
    const idle = await checked(world);
    expect([idle.code, idle.of("mcp broken")]).toMatchObject([0, [{ state: "fine" }]]);
    const { code, of, text } = await checked(world, "--servers");
    expect(code).toBe(1);
    expect(of("mcp good")).toMatchObject([
      { state: "fine", says: "8 tools, some 102 tokens, deferred behind tool_search" },
    ]);
    expect(of("mcp broken")).toMatchObject([{ state: "failed" }]);
    expect(of("mcp broken")[0]?.says).toMatch(/exit code 3; its stderr ends: \[secret\]$/);
    expect(of("mcp theirs")).toMatchObject([{ state: "warning" }]);
    expect(text).not.toContain("the-secret-value");
  });
});

describe.skipIf(noBubblewrap)(`palimpsest doctor --servers: ${needsBubblewrap("in a sandbox")}`, () => {
  it("starts a project's server in the sandbox, and one of the user's own outside", async () => {
    const world = await newWorld();
    const trying = (name: string) => ({
      command: "/bin/sh",
      args: ["-c", `cat "$HOME/.ssh/key" >&2; echo x > "$HOME/by-${name}"; exit 3`],
    });
    await mkdir(join(homedir(), ".ssh"), { recursive: true });
    await writeFile(join(homedir(), ".ssh/key"), "the private key");
    const settings = await settingsOf(world, { mcpServers: { own: trying("own") } });
    await writeFile(join(world.work, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: trying("theirs") } }));
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: dirname(settings) }, cwd: world.work });
    await workspace.approveServers(pendingApprovals(await workspace.servers()).map(({ approval }) => approval));
    const { of } = await checked(world, "--servers");
    expect(of("mcp own")[0]?.says).toContain("the private key");
    expect(of("mcp theirs")[0]?.says).toMatch(/exit code 3/);
    expect(of("mcp theirs")[0]?.says).not.toContain("the private key");
    expect(existsSync(join(homedir(), "by-own"))).toBe(true);
    expect(existsSync(join(homedir(), "by-theirs"))).toBe(false);
  });
});

describe("palimpsest doctor --servers", () => {
  it("starts servers in the project's folder, wherever it is called", async () => {
    const world = await newWorld();
    const below = join(world.work, "below");
    execFileSync("git", ["init", "-q", world.work]);
    await mkdir(below);
    await settingsOf(world, { mcpServers: { one: { command: "/bin/sh", args: ["-c", "pwd >&2; exit 3"] } } });
    const said = await world.callWith({ env, cwd: below }, "doctor", "--json", "--servers");
    const check = json<Found>(said).checks.find(({ name }) => name === "mcp one");
    expect(check?.says).toBe(`it ended with exit code 3; its stderr ends: ${world.work}`);
  });

  it.skipIf(process.platform === "win32")("Ctrl-C ends the servers that it has started", async () => {
    const world = await newWorld();
    const record = join(world.work, "pids");
    // As the terminal does it: the signal is for palimpsest, and not for the server's own group.
    const script = `echo $PPID $$ > ${record}.new; mv ${record}.new ${record}; exec sleep 600`;
    await settingsOf(world, { mcpServers: { one: { command: "/bin/sh", args: ["-c", script] } } });
    const running = world.start({ env }, "doctor", "--json", "--servers");
    const pids = await vi.waitUntil(() => readFile(record, "utf8").catch(() => undefined), { timeout: 20_000 });
    const [own = 0, server = 0] = pids.trim().split(" ").map(Number);
    process.kill(own, "SIGINT");
    expect(json<Found>(await running).checks.find(({ name }) => name === "mcp one")?.state).toBe("failed");
    expect(() => process.kill(server, 0)).toThrow("ESRCH");
  });
});

describe("palimpsest explain", () => {
  it("shows servers and the statusline command with their source, and no arguments, variables or headers", async () => {
    const world = await newWorld();
    const path = await settingsOf(world, {
      statusLine: { type: "command", command: "my-line" },
      mcpServers: { mine: { command: "serve", args: ["--token=the-secret-value"], env: { K: "the-secret-value" } } },
    });
    await writeFile(
      join(world.work, ".mcp.json"),
      JSON.stringify({ mcpServers: { theirs: { type: "http", url: "https://x.test/mcp?k=the-secret-value" } } }),
    );
    const [text, object] = [await world.call("explain"), await world.call("explain", "--json")];
    expect(text.out).toMatch(/statusLine +my-line +none +user/);
    expect(text.out).toMatch(/mine +stdio serve +starts/);
    expect(text.out).toMatch(/theirs +http https:\/\/x\.test\/mcp +not approved/);
    expect(json<{ servers: unknown }>(object).servers).toEqual([
      { id: "mine", kind: "stdio", target: "serve", leave: "given", scope: "user", from: path },
      {
        id: "theirs",
        kind: "http",
        target: "https://x.test/mcp",
        leave: "needed",
        scope: "project",
        from: join(world.work, ".mcp.json"),
      },
    ]);
    expect(text.out + object.out).not.toContain("the-secret-value");
  });
});
