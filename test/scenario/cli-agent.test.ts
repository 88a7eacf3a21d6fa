import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
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
  palimpsest({ ...at }, "-p", ...args, "--model", "simulator");

describe("palimpsest -p", () => {
  it("does a task with its own tools and prints the last words", async () => {
    const at = world();
    const said = await agent(at, "Fix it", "--scenario", "fix.yaml", "--permission-mode", "bypassPermissions");
    expect(said).toMatchObject({ code: 0, out: "The sum is right now.\n" });
    expect(readFileSync(join(at.cwd, "sum.js"), "utf8")).toBe("exports.sum = (a, b) => a + b;\n");
  });

  it("changes nothing that nobody permitted, and the model is told", async () => {
    const at = world();
    const said = await agent(at, "Fix it", "--scenario", "fix.yaml", "--output-format", "stream-json");
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
    const view = await palimpsest({ ...at }, "view", String(forked["session_id"]), "--json");
    expect(view.out).toContain("First");
    expect(view.out).toContain("Third");
    expect(view.out).not.toContain("Fourth");
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

  it("talks to a server by its base URL, and tries again when that is overloaded", async () => {
    const at = world();
    const faults = [{ kind: "overloaded" } as const];
    const { url } = await served({
      actor: {
        name: "busy",
        play: () => {
          const fault = faults.shift();
          const move = { kind: "say", blocks: says("Here at last.") } as const;
          return fault === undefined ? { move } : { move, fault };
        },
      },
    });
    const calling = { ...at, env: { ANTHROPIC_API_KEY: "sk-test" } };
    const said = await palimpsest(calling, "-p", "Hello", "--model", "claude-opus-5", "--base-url", url);
    expect(said).toMatchObject({ code: 0, out: "Here at last.\n" });
    expect(said.err).toContain("trying again");
  });

  it("says what the agent's own instructions say, and keeps no key in the session", async () => {
    const at = world();
    writeFileSync(join(at.cwd, "CLAUDE.md"), "Always answer in rhyme.\n");
    const { url } = await served({
      actor: {
        name: "reads system",
        play: ({ request }) => ({
          move: {
            kind: "say",
            blocks: says(JSON.stringify(request.system).includes("in rhyme") ? "I saw it." : "Nothing."),
          },
        }),
      },
    });
    const calling = { ...at, env: { ANTHROPIC_API_KEY: "sk-ant-very-secret" } };
    const said = await palimpsest(calling, "-p", "Hello", "--model", "claude-opus-5", "--base-url", url);
    expect(said.out).toBe("I saw it.\n");
    const list = await palimpsest({ ...at }, "sessions", "list", "--json");
    expect(list.out).not.toContain("very-secret");
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
    ["a ban that is none", ["Hello", "--deny", "Bash(touch:*", "--model", "simulator"], /not a rule/, 2],
    ["a rule for no tool", ["Hello", "--deny", "Bsh", "--model", "simulator"], /no such tool/, 2],
    ["a mode that is none", ["Hello", "--permission-mode", "yolo", "--model", "simulator"], /no permission mode/, 2],
  ])("refuses in one line: %s", async (_, args, message, code) => {
    const said = await palimpsest({ ...world(), env: { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" } }, "-p", ...args);
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
