import { spawn } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { answerGuardMillis } from "../../packages/cli/src/chat/limits.ts";
import { testTerminal } from "../terminal/in-test.ts";

const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
/** Compiled once for the whole test run. */
const XDG_CACHE_HOME = join(resolve(tmpdir(), "../.."), "compiled");

function world(moves = "") {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "chat-")));
  const [home, cwd] = [join(base, "home"), join(base, "project")];
  mkdirSync(cwd);
  writeFileSync(join(base, "scenario.yaml"), `name: a chat\nmoves:\n${moves}\nafter: echo\n`);
  const script = moves === "" ? ["--actor", "echo"] : ["--scenario", join(base, "scenario.yaml")];
  const args = [launcher, "--model", "simulator", ...script];
  const read = (pattern: string): string =>
    globSync(pattern, { cwd: home })
      .map((file) => readFileSync(join(home, file), "utf8"))
      .join("");
  return {
    home,
    cwd,
    args,
    log: () => read("projects/*/*.jsonl"),
    kept: () => read("projects/*/*/input.json"),
    /** What no session has yet. */
    typed: () => read("projects/*/typed/*.json"),
    /** Plain, as at a terminal that can do nothing. */
    terminal: (...more: readonly string[]) =>
      testTerminal({
        command: process.execPath,
        args: [...args, "--no-tui", ...more],
        cwd,
        env: { PALIMPSEST_HOME: home, XDG_CACHE_HOME },
      }),
  };
}

type World = ReturnType<typeof world>;

async function piped({ home, cwd, args }: World, input: string, ...more: readonly string[]) {
  const env = { ...process.env, XDG_CACHE_HOME, PALIMPSEST_HOME: home, COLUMNS: "" };
  const child = spawn(process.execPath, [...args, ...more], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(input);
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((done) => void child.once("exit", done)),
  ]);
  return { out, err, code };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const within = { timeout: 20_000 };
const waiting = `  - tools: [{ name: bash, input: { command: "until [ -e go ]; do sleep 0.05; done" } }]\n  - text: Done.`;

describe("a chat without a terminal", () => {
  it("takes messages by lines, one turn after the other, and prints no escape sequence", async () => {
    const { out, code } = await piped(world(), "one\n/nonsense\ntwo\n");
    expect(code).toBe(0);
    expect(out).toMatch(/> one\n.*“one”\nThere is no command \/nonsense;[^\n]*\n> two\n.*“two”\n/s);
    expect(out).toMatch(/Go on with it: palimpsest --resume [\da-f-]{36}\n$/);
    expect(out).not.toContain("\u001B");
  });

  it("begins with what the line says, and goes on where it was left", async () => {
    const at = world();
    expect((await piped(at, "", "say it")).out).toContain("> say it\n");
    const { out } = await piped(at, "more\n", "--continue");
    expect(out).toMatch(/> say it\n.*> more\n/s);
  });

  it("asks nobody: what the rules leave to the user is denied", async () => {
    const moves = "  - tools: [{ name: bash, input: { command: touch made } }]\n  - text: Done.";
    const { out } = await piped(world(moves), "y\ny\n");
    expect(out).toContain("[bash] touch made (denied)");
  });

  it("needs -p for an output format, and a session for --resume there", async () => {
    const at = world();
    expect(await piped(at, "x", "--output-format", "json")).toMatchObject({ code: 2 });
    expect(await piped(at, "x", "-p", "--resume")).toMatchObject({ code: 2 });
  });

  it("without a key says what to do, and makes no session", async () => {
    const at = world();
    const said = await piped({ ...at, args: [launcher] }, "hello\n", "--model", "claude-sonnet-5-5");
    expect(said).toMatchObject({ code: 5, out: "" });
    expect(said.err).toMatch(/no key.*\n.*ANTHROPIC_API_KEY.*--model simulator/);
    expect(at.log()).toBe("");
  });
});

describe("a plain chat at a terminal", () => {
  it("killed in the middle of a turn loses neither what was sent nor what waited", async () => {
    const at = world(waiting);
    const first = at.terminal();
    await first.waitFor("> ");
    first.type("Remember the number 42.\n");
    await expect.poll(at.log, within).toContain("until [ -e go ]");
    first.type("And this too.\n");
    await expect.poll(at.kept, within).toContain("And this too.");
    first.kill("SIGKILL");
    await first.exited;
    const second = at.terminal("--continue");
    await second.waitFor("And this too.");
    expect(second.scrollback().join("\n")).toContain("> Remember the number 42.");
    second.type("And this too.\n");
    await expect.poll(at.log, within).toContain("And this too.");
    await expect.poll(at.kept, within).toBe("");
  });

  it("killed before its session is open loses nothing either: --continue gives it back, also where no other session is", async () => {
    const at = world();
    mkdirSync(at.home, { recursive: true });
    const settings = join(at.home, "settings.json");
    const hook = { hooks: [{ type: "command", command: "sleep 30" }] };
    writeFileSync(settings, JSON.stringify({ hooks: { SessionStart: [hook] } }));
    const first = at.terminal();
    first.type("Early words.\n");
    await expect.poll(at.typed, within).toContain("Early words.");
    first.kill("SIGKILL");
    await first.exited;
    writeFileSync(settings, "{}");
    const second = at.terminal("--continue");
    await second.waitFor((screen) => screen.some((line) => line.includes("nothing was said is back")));
    expect(second.scrollback().join("\n")).toContain("Early words.");
    await expect.poll(at.typed, within).toBe("");
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
  });

  it("killed with a tool server that outlives it: the next start of the session ends that one", async () => {
    const at = world();
    mkdirSync(at.home, { recursive: true });
    const pids = join(at.home, "pids");
    // It heeds neither the end of its input nor of the terminal.
    const args = ["-c", `trap "" HUP; echo $$ >> '${pids}'; exec sleep 600`];
    writeFileSync(join(at.home, "settings.json"), JSON.stringify({ mcpServers: { a: { command: "/bin/sh", args } } }));
    const started = (): readonly number[] =>
      existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : [];
    onTestFinished(() => {
      for (const pid of started()) if (isRunning(pid)) process.kill(pid, "SIGKILL");
    });
    const first = at.terminal();
    await first.waitFor("> ");
    first.type("Hello.\n");
    await expect.poll(at.log, within).toContain("assistant");
    await expect.poll(started, within).toHaveLength(1);
    const [left = 0] = started();
    const onRecord = (): readonly string[] => globSync(`**/running-${left}.json`, { cwd: at.home });
    await expect.poll(onRecord, within).toHaveLength(1);
    first.kill("SIGKILL");
    await first.exited;
    expect(isRunning(left)).toBe(true);
    const second = at.terminal("--continue");
    await expect.poll(() => isRunning(left), within).toBe(false);
    await expect.poll(started, within).toHaveLength(2);
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
    await expect.poll(() => started().filter(isRunning), within).toEqual([]);
  });

  it("asks for permission, and only a typed yes gives it", async () => {
    const moves =
      "  - tools: [{ name: bash, input: { command: touch one } }]\n  - tools: [{ name: bash, input: { command: touch two } }]\n  - text: Done.";
    const at = world(moves);
    const chat = at.terminal();
    await chat.waitFor("> ");
    chat.type("Make them.\n");
    await chat.waitFor("may it run?");
    await pause(2 * answerGuardMillis);
    chat.type("y\n");
    await chat.waitFor((screen) => screen.filter((line) => line.includes("may it run?")).length === 2);
    await pause(2 * answerGuardMillis);
    chat.type("better not\n");
    await chat.waitFor("Done.");
    expect(globSync("*", { cwd: at.cwd })).toEqual(["one"]);
    expect(at.log()).toContain("better not");
  });

  it("is interrupted by Ctrl-C, left by a second, and closed in order by SIGTERM", async () => {
    const at = world(waiting);
    const chat = at.terminal();
    await chat.waitFor("> ");
    chat.type("Work.\n");
    await expect.poll(at.log, within).toContain("until [ -e go ]");
    chat.press("ctrl+c");
    await chat.waitFor("Interrupted.");
    chat.kill("SIGTERM");
    expect(await chat.exited).toBe(0);
    expect(chat.scrollback().join("\n")).toContain("palimpsest --resume");
    const again = at.terminal("--continue");
    await again.waitFor(
      (screen) => screen.some((line) => line.includes("(interrupted)")) && screen.some((line) => line.trim() === ">"),
    );
    again.press("ctrl+c");
    await again.waitFor("once more");
    again.press("ctrl+c");
    expect(await again.exited).toBe(0);
  });

  it("without a key says what to do, and ends", async () => {
    const at = world();
    const chat = testTerminal({
      command: process.execPath,
      args: [launcher],
      cwd: at.cwd,
      env: { PALIMPSEST_HOME: at.home, XDG_CACHE_HOME },
    });
    expect(await chat.exited).toBe(5);
    expect(chat.scrollback().join("\n")).toMatch(/no key[^]*ANTHROPIC_API_KEY[^]*--model simulator/);
  });
});
