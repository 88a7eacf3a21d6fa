import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { passingForOld } from "../fixture/old-node.ts";
import { groupRuns } from "../fixture/processes.ts";
import { called } from "./support/called.ts";
import { palimpsest, type Said } from "./support/command-line.ts";
import { says, served } from "./support/simulated.ts";

interface World {
  readonly home: string;
  readonly cwd: string;
}

function world(): World {
  const folder = mkdtempSync(join(tmpdir(), "agent-"));
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home);
  mkdirSync(cwd);
  writeFileSync(join(cwd, "sum.js"), "exports.sum = (a, b) => a - b;\n");
  writeFileSync(join(cwd, "check.js"), "if (require('./sum.js').sum(1, 2) !== 3) throw new Error('wrong sum');\n");
  writeFileSync(join(cwd, "fix.yaml"), fixing);
  return { home, cwd };
}

const fixing = `name: fix the sum
moves:
  - text: Let me see.
    tools:
      - { name: read, input: { file_path: sum.js } }
      - { name: bash, input: { command: node check.js } }
  - when: { result: wrong sum }
    do:
      - tools: [{ name: edit, input: { file_path: sum.js, old_string: a - b, new_string: a + b } }]
      - tools: [{ name: bash, input: { command: node check.js } }]
  - text: The sum is right now.
`;

const agent = (at: World, ...args: readonly string[]): Promise<Said> =>
  called(at, "-p", ...args, "--model", "simulator");

describe("palimpsest -p", () => {
  it("says that ranges of the log could not be read, and how to see which", async () => {
    const at = world();
    const first = await agent(at, "First", "--actor", "echo");
    expect(first.err).not.toContain("damaged");
    const [log = ""] = globSync("**/*.jsonl", { cwd: at.home }).map((name) => join(at.home, name));
    const [head = "", ...rest] = readFileSync(log, "utf8").split("\n");
    writeFileSync(log, [head, '{"type":"user","mess', ...rest].join("\n"));
    const second = await agent(at, "Second", "--actor", "echo", "--continue");
    expect(second.code).toBe(0);
    const hint = /the log has 1 damaged range: see `palimpsest (sessions fsck \S+)`/.exec(second.err)?.[1];
    expect(hint?.split(" ")).toHaveLength(3);
    expect(await called(at, ...(hint ?? "").split(" "))).toMatchObject({ code: 1 });
  });

  it("does a task with its own tools and prints the last words", async () => {
    const at = world();
    const asked = ["-p", "Fix it", "--model", "simulator", "--scenario", "fix.yaml"];
    const said = await palimpsest({ ...at }, ...asked, "--permission-mode", "bypassPermissions");
    expect(said).toMatchObject({ code: 0, out: "The sum is right now.\n" });
    expect(readFileSync(join(at.cwd, "sum.js"), "utf8")).toBe("exports.sum = (a, b) => a + b;\n");
  });

  it.skipIf(process.platform === "win32")(
    "ends with 6 where the disk is full, before or behind what it was asked, and goes on once there is room (skipped where there is no ulimit)",
    async () => {
      const at = world();
      expect((await agent(at, "Hello")).code).toBe(0);
      const [log = ""] = globSync(join(at.home, "projects/*/*.jsonl"));
      const asked = ["-p", "y".repeat(3000), "--continue", "--model", "simulator", "--output-format", "json"];
      // Into the first the question does not fit, into the second only its answer.
      for (const room of [1024, 4096]) {
        const before = readFileSync(log);
        const fileBlocksMax = Math.ceil((before.length + room) / 512);
        const said = await palimpsest({ ...at, fileBlocksMax }, ...asked);
        expect(said, said.err).toMatchObject({ code: 6, signal: null });
        expect(JSON.parse(said.out)).toMatchObject({ reason: "failed", unwritten: "disk-full" });
        expect(said.err).toMatch(/Can't write .*\.jsonl \(the file size limit is reached/);
        expect(readFileSync(log).subarray(0, before.length).equals(before)).toBe(true);
      }
      expect(await agent(at, "Go on", "--continue")).toMatchObject({ code: 0 });
    },
  );

  it("says what can be done where there is no answer, on stderr and in the result", async () => {
    const at = world();
    const refusal = "moves: [{ refuse: { type: authentication_error, message: invalid x-api-key } }]\nafter: repeat\n";
    writeFileSync(join(at.cwd, "refuse.yaml"), `name: refuses\n${refusal}`);
    const told = /^the turn ended without an answer \(failed\): invalid x-api-key\nTry this: check the key \(/m;
    const said = await agent(at, "Hello", "--scenario", join(at.cwd, "refuse.yaml"), "--output-format", "json");
    expect(said.code).toBe(1);
    expect(said.err).toMatch(told);
    expect(JSON.parse(said.out)).toMatchObject({ remedies: ["check-key"] });
    expect(said.out).toContain('"remedy":"Try this: check the key');
  });

  it.each([
    [["--policy", "nope"], /--policy: expected .*"nope"; refused/],
    [["--policy", "never"], /--policy: expected .*"never"; refused/],
    [["--context-tokens", "many"], /--context-tokens: expected .*"many"; refused/],
    [["--off", "clear.sise"], /there is no switch clear\.sise; did you mean clear\.size\?/],
  ])("with a flag that makes no sense, %j, nothing is asked and no session made", async (flags, message) => {
    const at = world();
    const said = await agent(at, "Fix it", ...flags);
    expect(said).toMatchObject({ code: 2, out: "", err: expect.stringMatching(message) as string });
    expect(said.err.trimEnd()).not.toContain("\n");
    expect(globSync("projects/*/*.jsonl", { cwd: at.home })).toEqual([]);
  });

  it("with a settings file that is wrong in the same way says so and goes on", async () => {
    const at = world();
    writeFileSync(join(at.home, "settings.json"), JSON.stringify({ policy: "nope" }));
    const said = await agent(at, "Fix it");
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining('"nope"; ignored') as string });
  });

  it("changes nothing that nobody permitted, and the model is told", async () => {
    const at = world();
    const said = await agent(at, "Fix it", "--scenario", join(at.cwd, "fix.yaml"), "--output-format", "stream-json");
    expect(readFileSync(join(at.cwd, "sum.js"), "utf8")).toContain("a - b");
    const ends = linesOf(said).filter(({ type }) => type === "call-end");
    expect(ends.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ["read", "done"],
      ["bash", "denied"],
    ]);
  });

  it("goes on with the newest session, forks it, and finds it by its id", async () => {
    const at = world();
    const first = result(await agent(at, "First", "--output-format", "json"));
    const second = result(await agent(at, "Second", "--continue", "--output-format", "json"));
    expect(second["session_id"]).toBe(first["session_id"]);
    const forked = result(await agent(at, "Third", "--continue", "--fork", "--output-format", "json"));
    expect(forked["session_id"]).not.toBe(first["session_id"]);
    const resumed = await agent(
      at,
      "Fourth",
      "--resume",
      String(first["session_id"]).slice(0, 8),
      "--output-format",
      "json",
    );
    expect(result(resumed)["session_id"]).toBe(first["session_id"]);
    const view = await called(at, "view", String(forked["session_id"]), "--json");
    expect(view.out).toContain("First");
    expect(view.out).toContain("Third");
    expect(view.out).not.toContain("Fourth");
  });

  it("says to which folder a session belongs that is not of this project", async () => {
    const at = world();
    const { session_id: id } = result(await agent(at, "First", "--output-format", "json"));
    const cwd = join(at.home, "else where");
    mkdirSync(cwd);
    const elsewhere = await agent({ ...at, cwd }, "Second", "--resume", String(id).slice(0, 8));
    expect(elsewhere.code).toBe(3);
    expect(elsewhere.err).toContain(`session ${String(id)} belongs to ${at.cwd}`);
    expect(elsewhere.err).toContain(`cd ${at.cwd} && palimpsest --resume ${String(id)}`);
  });

  it("takes its task from a pipe", async () => {
    const at = world();
    const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
    const child = spawn(process.execPath, [launcher, "-p", "Explain:", "--model", "simulator"], {
      cwd: at.cwd,
      env: { ...process.env, HOME: at.home, PALIMPSEST_HOME: join(at.home, ".palimpsest") },
    });
    child.stdin.end("a piped error message");
    expect(await text(child.stdout)).toContain("Explain: a piped error message");
  });

  it("pays for a fork from the fork on, also when that is gone on with", async () => {
    const at = world();
    const said = async (...args: readonly string[]): Promise<Record<string, unknown>> =>
      result(await agent(at, ...args, "--output-format", "json"));
    const parent = await said("First");
    expect(parent).toMatchObject({ num_requests: 1, num_retries: 0, inherited_cost_usd: 0 });
    const inherited = Number(parent["total_cost_usd"]);
    expect(inherited).toBeGreaterThan(0);
    const fork = await said("Second", "--continue", "--fork");
    expect(fork).toMatchObject({ costs: { requests: 1 }, inherited_cost_usd: inherited });
    const later = await said("Third", "--resume", String(fork["session_id"]));
    expect(later).toMatchObject({ costs: { requests: 2 }, inherited_cost_usd: inherited });
    expect(later["total_cost_usd"]).toBeGreaterThan(Number(fork["total_cost_usd"]));
    const { conversation, ...others } = later["cost_by_source"] as Record<string, Record<string, number>>;
    expect(others).toEqual({});
    expect(conversation).toMatchObject({ requests: 2, cost_usd: later["total_cost_usd"] });
  });

  it.skipIf(process.platform === "win32")(
    "ends with its launcher, and so do the commands it runs",
    async () => {
      const at = world();
      const command = "echo $$ > shell.txt; sleep 60; echo late > late.txt";
      writeFileSync(
        join(at.cwd, "wait.yaml"),
        `name: wait\nmoves: [{ tools: [{ name: bash, input: { command: "${command}" } }] }]\n`,
      );
      const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
      const asked = ["-p", "Wait", "--scenario", "wait.yaml", "--permission-mode", "bypassPermissions"];
      const started = spawn(process.execPath, [...passingForOld(), launcher, ...asked, "--model", "simulator"], {
        cwd: at.cwd,
        env: { ...process.env, PALIMPSEST_HOME: at.home },
        stdio: ["ignore", "pipe", "ignore"],
      });
      await vi.waitUntil(() => existsSync(join(at.cwd, "shell.txt")), { timeout: 20_000 });
      started.kill("SIGKILL");
      // Closed once nobody holds it any more.
      await text(started.stdout);
      const shell = readFileSync(join(at.cwd, "shell.txt"), "utf8").trim();
      await vi.waitUntil(() => !groupRuns(Number(shell)), { timeout: 20_000, interval: 200 });
      const [listed] = JSON.parse((await called(at, "sessions", "list", "--json")).out) as [{ sessionId: string }];
      expect(await called(at, "sessions", "fsck", listed.sessionId)).toMatchObject({ code: 0 });
      expect((await called(at, "view", listed.sessionId)).out).toMatch(/^sendable$/m);
    },
    60_000,
  );

  it.skipIf(process.platform === "win32")(
    "ends a command that outlived it once the session is gone on with, and says so",
    async () => {
      const at = world();
      const command = "echo $$ > shell.tmp; mv shell.tmp shell.txt; sleep 300";
      writeFileSync(
        join(at.cwd, "wait.yaml"),
        `name: wait\nmoves: [{ tools: [{ name: bash, input: { command: "${command}" } }] }]\n`,
      );
      const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
      // In a sandbox it would end with the agent.
      const asked = ["-p", "Wait", "--scenario", "wait.yaml", "--permission-mode", "bypassPermissions", "--no-sandbox"];
      const env = { ...process.env, PALIMPSEST_HOME: at.home };
      const started = spawn(process.execPath, [launcher, ...asked, "--model", "simulator"], {
        cwd: at.cwd,
        env,
        stdio: "ignore",
      });
      const records = (): string[] => globSync(join(at.home, "projects/*/*/running-*.json"));
      await vi.waitUntil(() => existsSync(join(at.cwd, "shell.txt")) && records().length === 1, { timeout: 20_000 });
      started.kill("SIGKILL");
      const shell = Number(readFileSync(join(at.cwd, "shell.txt"), "utf8"));
      onTestFinished(() => void (groupRuns(shell) && process.kill(-shell, "SIGKILL")));
      await once(started, "exit");
      expect(groupRuns(shell)).toBe(true);
      const said = await agent(at, "Go on", "--continue");
      expect(said.err).toContain("had left running were ended");
      await vi.waitUntil(() => !groupRuns(shell), { timeout: 20_000, interval: 200 });
      expect(records()).toEqual([]);
      const [{ sessionId }] = JSON.parse((await called(at, "sessions", "list", "--json")).out) as [
        { sessionId: string },
      ];
      expect((await called(at, "view", sessionId, "--full")).out).toContain("was still running");
    },
    60_000,
  );

  it("talks to a server by its base URL, and tries again when that is overloaded", async () => {
    const at = world();
    const faults = [{ kind: "overloaded" } as const];
    const { url } = await served({
      responder: {
        name: "busy",
        respond: () => {
          const fault = faults.shift();
          const move = { kind: "say", blocks: says("Here at last.") } as const;
          return fault === undefined ? { move } : { move, fault };
        },
      },
    });
    const calling = { ...at, env: { ANTHROPIC_API_KEY: "sk-test" } };
    const asked = ["-p", "Hello", "--model", "claude-opus-5", "--base-url", url];
    const said = await called(calling, ...asked, "--output-format", "stream-json");
    expect(result(said)).toMatchObject({ result: "Here at last.", num_requests: 1, num_retries: 1 });
    for (const line of linesOf(said)) {
      expect([typeof line["type"], line["session_id"]]).toEqual(["string", result(said)["session_id"]]);
      expect(line).not.toHaveProperty("kind");
      expect(line).not.toHaveProperty("session");
    }
    faults.push({ kind: "overloaded" });
    const words = await called(calling, ...asked);
    expect(words).toMatchObject({ code: 0, out: "Here at last.\n" });
    expect(words.err).toContain("trying again");
  });

  it("says what the agent's own instructions say, and keeps no key in the session", async () => {
    const at = world();
    writeFileSync(join(at.cwd, "CLAUDE.md"), "Always answer in rhyme.\n");
    const { url } = await served({
      responder: {
        name: "reads system",
        respond: ({ request }) => ({
          move: {
            kind: "say",
            blocks: says(JSON.stringify(request.system).includes("in rhyme") ? "I saw it." : "Nothing."),
          },
        }),
      },
    });
    const calling = { ...at, env: { ANTHROPIC_API_KEY: "sk-ant-very-secret" } };
    const said = await called(calling, "-p", "Hello", "--model", "claude-opus-5", "--base-url", url);
    expect(said.out).toBe("I saw it.\n");
    const list = await called(at, "sessions", "list", "--json");
    expect(list.out).not.toContain("very-secret");
    const [{ sessionId }] = JSON.parse(list.out) as [{ sessionId: string }];
    const view = JSON.parse((await called(at, "view", sessionId, "--json")).out) as { system: string[] };
    expect(view.system.join("\n")).toContain("Always answer in rhyme.");
    const shown = await called(at, "view", sessionId, "--full");
    expect(shown.out).toMatch(/^── system\n[^]*Always answer in rhyme\.[^]*── user\nHello/);
  });

  it("leaves nothing to undo where nothing was edited", async () => {
    const at = world();
    const { session_id } = result(await agent(at, "Hello", "--output-format", "json"));
    const undone = await called(at, "undo", String(session_id));
    expect(undone.code).toBe(5);
    expect(undone.err).toContain("no edit is in force");
  });

  it("names a hook's event that is none, and what was probably meant", async () => {
    const at = world();
    mkdirSync(join(at.cwd, ".palimpsest"));
    const hooks = { PreTool: [], Nonsense: [] };
    writeFileSync(join(at.cwd, ".palimpsest", "settings.json"), JSON.stringify({ hooks }));
    const { err } = await agent(at, "Hello");
    expect(err).toMatch(/hooks\.PreTool: is not an event .*did you mean PreToolUse\?/);
    expect(err).toMatch(/hooks\.Nonsense: is not an event .*there are SessionStart, .*Stop/);
  });

  it.each<[string, readonly string[], RegExp, number]>([
    ["no key", ["Hello", "--model", "claude-opus-5"], /no key/, 5],
    ["nothing to do", [" ", "--model", "simulator"], /nothing to do/, 2],
    ["no session to go on with", ["Hello", "--continue", "--model", "simulator"], /no session yet/, 3],
    ["an unknown session", ["Hello", "--resume", "zzz", "--model", "simulator"], /no session of ours/, 3],
    [
      "a script without the simulator",
      ["Hello", "--actor", "echo", "--model", "claude-opus-5"],
      /only the simulator/,
      2,
    ],
    ["a format that is none", ["Hello", "--output-format", "xml", "--model", "simulator"], /no output format/, 2],
    ["a deny rule that is none", ["Hello", "--deny", "Bash(touch:*", "--model", "simulator"], /not a rule/, 2],
    ["a rule for no tool", ["Hello", "--deny", "Bsh", "--model", "simulator"], /no such tool/, 2],
    ["a mode that is none", ["Hello", "--permission-mode", "yolo", "--model", "simulator"], /no permission mode/, 2],
  ])("refuses in one line: %s", async (_, args, message, code) => {
    const said = await called({ ...world(), env: { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" } }, "-p", ...args);
    expect(said.err.split("\n").find((line) => line.startsWith("palimpsest:"))).toMatch(message);
    expect(said.code).toBe(code);
  });
});

const linesOf = ({ out }: Said): readonly Record<string, unknown>[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const result = (said: Said): Record<string, unknown> => linesOf(said).at(-1) ?? {};
