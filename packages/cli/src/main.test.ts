import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { command, group } from "./program/command.ts";
import { type ExitCode, exitCode, meaningByExitCode, failure } from "./program/failure.ts";
import { findCommand } from "./program/find-command.ts";
import { type Invocation, main } from "./main.ts";
import { program as wholeProgram } from "./program/program.ts";

const echo = command({
  name: "echo",
  summary: "say what was given",
  operands: {
    first: { shown: "first|file", summary: "the first word" },
    second: { shown: "second", summary: "the second word", takes: "optional" },
  },
  options: {
    at: { type: "string", shown: "entry", summary: "an entry", short: "a" },
    tag: { type: "string", shown: "tag", summary: "a tag", takes: "many" },
    loud: { type: "boolean", summary: "in capitals" },
  },
  json: "what was given",
  details: ["Says nothing else."],
  run: async ({ out }, { operands, options, format }) => {
    if (format === "json") await out.json({ operands, options });
    else await out.write(`${options.loud ? operands.first.toUpperCase() : operands.first}\n`);
    return exitCode.fine;
  },
});

const fails = (name: string, run: () => Promise<ExitCode | ReturnType<typeof failure>>) =>
  command({ name, summary: "fails", run });

const program = group({
  name: "palimpsest",
  summary: "a program for tests",
  commands: [
    echo,
    group({
      name: "sessions",
      summary: "speaks of sessions",
      commands: [
        fails("list", async () => exitCode.negative),
        fails("show", async () =>
          failure({ code: exitCode.notFound, message: "no session s1", hint: "See palimpsest sessions list." }),
        ),
      ],
    }),
    command({
      name: "some",
      summary: "one or more",
      operands: { paths: { shown: "file|folder", summary: "what to read", takes: "some" } },
      run: async ({ out }, { operands }) => {
        await out.write(operands.paths.join());
        return exitCode.fine;
      },
    }),
    fails("bug", async () => {
      throw new TypeError("x is not\na function");
    }),
    fails("leak", async () => {
      throw new TypeError("no such host\nin postgres://app:s3cr3t-pass@db/x");
    }),
    fails("full", async () => {
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    }),
  ],
});

async function call(argv: readonly string[], changes: Partial<Invocation> = {}) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const code = await main({ argv, stdin: new PassThrough(), stdout, stderr, env: {}, cwd: "/", program, ...changes });
  return { code, out: textOf(stdout), err: textOf(stderr) };
}

const textOf = (stream: PassThrough): string => String(stream.read() ?? "");

describe("arguments", () => {
  it("come typed and by name", async () => {
    const { code, out } = await call(["echo", "one", "-a", "e1", "two", "--tag", "x", "--tag=y", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      operands: { first: "one", second: "two" },
      options: { at: "e1", tag: ["x", "y"], loud: false },
    });
  });

  it("may be one or more", async () => {
    expect(await call(["some", "a", "b"])).toEqual({ code: 0, out: "a,b", err: "" });
    expect((await call(["some", "--help"])).out).toContain("\n  palimpsest some <file|folder>...\n");
  });

  it("may be negative numbers: whether one can be meant is for the command to say", async () => {
    const { out } = await call(["echo", "x", "--at", "-1", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ options: { at: "-1" } });
  });

  it("may have their options before the command", async () => {
    expect((await call(["--json", "echo", "one"])).out).toContain(`"first":"one"`);
  });

  it("are operands behind --, whatever they look like", async () => {
    expect(await call(["echo", "--loud", "--", "--help"])).toEqual({ code: 0, out: "--HELP\n", err: "" });
  });

  it.each([
    [["ecko"], "unknown command ecko: did you mean echo? (see palimpsest --help)"],
    [["nonsense"], "unknown command nonsense (see palimpsest --help)"],
    [["sessions", "lits"], "unknown command lits: did you mean list? (see palimpsest sessions --help)"],
    [["sessions"], "sessions needs a command: list, show (see palimpsest sessions --help)"],
    [["--hepl"], "unknown option --hepl: did you mean --help? (see palimpsest --help)"],
    [["echo", "x", "--lowd"], "unknown option --lowd: did you mean --loud? (see palimpsest echo --help)"],
    [["echo", "x", "--constructor"], "unknown option --constructor (see palimpsest echo --help)"],
    [["bug", "--json"], "unknown option --json (see palimpsest bug --help)"],
    [["echo", "x", "--loud=1"], "--loud takes no value (see palimpsest echo --help)"],
    [["echo", "x", "--at"], "--at needs a value: --at <entry> (see palimpsest echo --help)"],
    [["echo", "x", "--at", "--loud"], "--at needs a value: --at <entry> (see palimpsest echo --help)"],
    [["some"], "<file|folder> is missing (see palimpsest some --help)"],
    [["echo"], "<first|file> is missing (see palimpsest echo --help)"],
    [["echo", "1", "2", "3"], "unexpected argument 3 (see palimpsest echo --help)"],
  ])("%j is refused with one line", async (argv, message) => {
    expect(await call(argv)).toEqual({ code: 2, out: "", err: `palimpsest: ${message}\n` });
  });
});

describe("help", () => {
  it("lists commands and exit codes, and comes without arguments too", async () => {
    const { code, out } = await call([]);
    expect(code).toBe(0);
    expect(out).toContain("sessions  speaks of sessions");
    for (const meaning of Object.values(meaningByExitCode)) expect(out).toContain(meaning);
    expect((await call(["--help"])).out).toBe(out);
  });

  it("of a group lists its commands", async () => {
    const { code, out } = await call(["sessions", "-h"]);
    expect(code).toBe(0);
    expect(out).toMatch(/palimpsest sessions <command>[^]*list[^]*show/);
  });

  it("of a command comes from its syntax, and wins over what else is wrong with the line", async () => {
    const { code, out } = await call(["echo", "--nonsense", "--help"]);
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "palimpsest echo: say what was given

      Usage:
        palimpsest echo <first|file> [<second>] [--at <entry>] [--tag <tag>] [--loud] [--json]

      Arguments:
        <first|file>  the first word
        <second>      the second word

      Options:
        -a, --at <entry>  an entry
        --tag <tag>       a tag
        --loud            in capitals
        --json            print JSON: what was given
        -h, --help        show this help
        --debug           show the stack trace of a failure

      Says nothing else.
      "
    `);
  });
});

describe("the real table", () => {
  const real = async (argv: readonly string[]) => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const code = await main({ argv, stdin: new PassThrough(), stdout, stderr, env: {}, cwd: "/" });
    return { code, out: textOf(stdout), err: textOf(stderr) };
  };

  it("tells the version", async () => {
    expect((await real(["--version"])).out).toMatch(/^palimpsest \d+\.\d+\.\d+\n$/);
    expect((await real(["-v", "--json"])).out).toBe((await real(["version", "--json"])).out);
  });

  it.each([
    [["hello"], "palimpsest -p hello"],
    [["fix", "the", "test", "--json"], "palimpsest -p 'fix the test'"],
    [["it's"], String.raw`palimpsest -p 'it'\''s'`],
  ])("takes %j for a task that lacks its -p", async (argv, line) => {
    const { code, err } = await real(argv);
    expect(code).toBe(2);
    expect(err).toMatch(/^palimpsest: unknown command .*\n/);
    expect(err).toContain(`Then say it with -p: ${line}\n`);
  });

  it("takes a sentence for what the chat begins with", async () => {
    expect(await findCommand(wholeProgram, ["it's broken", "--no-tui"])).toMatchObject({
      command: { name: "palimpsest", kind: "action" },
      rest: ["it's broken", "--no-tui"],
    });
  });

  it("takes a slip of the pen for no task", async () => {
    expect((await real(["undoo"])).err).toBe(
      "palimpsest: unknown command undoo: did you mean undo? (see palimpsest --help)\n",
    );
  });

  it("explains commands, sub-commands and exit codes", async () => {
    expect((await real(["help", "version"])).out).toBe((await real(["version", "--help"])).out);
    expect((await real(["help"])).out).toBe((await real(["--help"])).out);
    expect((await real(["help", "exit-codes"])).out).toContain("4   busy");
    expect((await real(["help", "nonsense"])).code).toBe(2);
  });
});

describe("failures", () => {
  it("are one line and what to do, with the code they name", async () => {
    expect(await call(["sessions", "show"])).toEqual({
      code: 3,
      out: "",
      err: "palimpsest: no session s1\n  See palimpsest sessions list.\n",
    });
  });

  it("may be a plain no", async () => {
    expect(await call(["sessions", "list"])).toEqual({ code: 1, out: "", err: "" });
  });

  it("of the machine are told from bugs", async () => {
    const { code, err } = await call(["full"]);
    expect(code).toBe(6);
    expect(err).toMatch(/^palimpsest: ENOSPC.*\n {2}No space left: free some space, then try again\.\n$/);
  });

  it("show a stack only with --debug", async () => {
    const { code, err } = await call(["bug"]);
    expect(code).toBe(70);
    expect(err).toBe("palimpsest: a bug: x is not a function\n  Run it again with --debug for the stack trace.\n");
    expect((await call(["bug", "--debug"])).err).toMatch(/\n +at .*main\.test\.ts/);
    expect((await call(["--debug", "bug"])).err).toMatch(/\n +at /);
  });

  it("show no secret in the stack", async () => {
    const { err } = await call(["leak", "--debug"]);
    expect(err).toContain("postgres://app:[secret: password]@db/x\n    at ");
  });

  it("do not hand control characters on to the terminal", async () => {
    expect((await call(["\u001B[2Jx"])).err).toContain(String.raw`unknown command \x1b[2Jx`);
  });
});

describe("streams", () => {
  const broken = (code: string) =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(`write ${code}`), { code })) });

  it("that nobody reads any more end the output quietly", async () => {
    expect(await call(["echo", "one"], { stdout: broken("EPIPE") })).toEqual({ code: 0, out: "", err: "" });
  });

  it("that cannot be written are a failure of the machine", async () => {
    const { code, err } = await call(["echo", "one"], { stdout: broken("ENOSPC") });
    expect(code).toBe(6);
    expect(err).toContain("No space left");
  });

  it("get colour only at a terminal and not against NO_COLOR", async () => {
    const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
    const helpAt = async (stdout: PassThrough, env: NodeJS.ProcessEnv) => {
      await call(["--help"], { stdout, env });
      return textOf(stdout);
    };
    expect(await helpAt(terminal(), {})).toContain("\u001B[");
    expect(await helpAt(terminal(), { NO_COLOR: "1" })).not.toContain("\u001B[");
    expect(await helpAt(terminal(), { TERM: "dumb" })).not.toContain("\u001B[");
    expect(await helpAt(new PassThrough(), {})).not.toContain("\u001B[");
    expect(await helpAt(new PassThrough(), { FORCE_COLOR: "1" })).toContain("\u001B[");
  });
});
