import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { main } from "../../packages/cli/src/main.ts";
import type { Audit } from "../../packages/palimpsest/src/layers/4-compact/audit.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";

interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Calling {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What comes through the pipe. */
  readonly piped?: string;
  /** At a terminal: what is typed at each question. */
  readonly answers?: readonly string[];
}

interface World {
  readonly home: string;
  readonly cwd: string;
  readonly session: string;
  readonly call: (args: readonly string[], calling?: Calling) => Promise<Called>;
  readonly log: () => string;
  readonly view: () => Promise<readonly Message[]>;
}

const working = `name: work
moves:
  - text: Let me see.
    tools: [{ name: read, input: { file_path: numbers.txt } }]
  - text: And now the other end.
    tools: [{ name: read, input: { file_path: numbers.txt, offset: 1000 } }]
  - text: Both ends are read.
`;

const summing = (words: string): string => `name: summary
moves:
  - text: |
      <analysis>I look back.</analysis>
      <summary>
      ## Primary Request and Intent
      ${words}
      </summary>
`;

/** A project with one session: two large results, one request of the user, answered. */
async function world(): Promise<World> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "compact-")));
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const one of [home, cwd]) mkdirSync(one);
  writeFileSync(join(cwd, "numbers.txt"), `${Array.from({ length: 2_000 }, (_, at) => `number ${at}`).join("\n")}\n`);
  writeFileSync(join(cwd, "work.yaml"), working);
  writeFileSync(join(cwd, "summary.yaml"), summing("The numbers were read at both ends."));
  const call: World["call"] = (args, calling = {}) => called(args, { home, cwd, ...calling });
  const first = await call(["-p", request, "--model", "simulator", "--scenario", join(cwd, "work.yaml")]);
  expect(first).toMatchObject({ code: 0, out: "Both ends are read.\n" });
  const [path = ""] = globSync(`${home}/projects/*/*.jsonl`);
  const session = basename(path, ".jsonl");
  const view = async (): Promise<readonly Message[]> =>
    (JSON.parse((await call(["view", session, "--json"])).out) as { messages: Message[] }).messages;
  return { home, cwd, session, call, log: () => readFileSync(path, "utf8"), view };
}

const request = "Read numbers.txt at both ends, please.";
const simulated = ({ cwd }: World): readonly string[] => [
  "--model",
  "simulator",
  "--scenario",
  join(cwd, "summary.yaml"),
];

interface ReceiptsJson {
  readonly edits: readonly { readonly compaction: object }[];
}

interface Process extends Calling {
  readonly home: string;
  readonly cwd: string;
}

async function called(args: readonly string[], { home, cwd, env, piped, answers }: Process): Promise<Called> {
  const stream = (): PassThrough => Object.assign(new PassThrough(), answers === undefined ? {} : { isTTY: true });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const texts = { out: "", err: "" };
  stdout.on("data", (data: Buffer) => (texts.out += data.toString()));
  const waiting = [...(answers ?? [])];
  stderr.on("data", (data: Buffer) => {
    texts.err += data.toString();
    if (data.toString().endsWith("[y/e/s/N] ")) stdin.write(`${waiting.shift() ?? ""}\n`);
  });
  if (answers === undefined) stdin.end(piped);
  const code = await main({
    argv: args,
    stdin,
    stdout,
    stderr,
    env: { PATH: process.env["PATH"], NO_COLOR: "1", PALIMPSEST_HOME: home, ...env },
    cwd,
  });
  return { code, ...texts };
}

interface Reported {
  readonly session: string;
  readonly committed: boolean;
  readonly boundary: string | null;
  readonly path: string;
  readonly trigger: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly audit: Audit;
  readonly userMessages: Readonly<Record<string, number>>;
  readonly money: { readonly callsNanos: number } | null;
  readonly summary: string;
  readonly instead: { readonly reason: string; readonly message: string } | null;
}
const reported = ({ code, out, err }: Called): Reported => {
  expect(code, err).toBe(0);
  return JSON.parse(out) as Reported;
};

const linesOf = (log: string): readonly Readonly<Record<string, unknown>>[] =>
  log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("palimpsest compact --preview", () => {
  it("with a summary of one's own leaves the log as it is, byte for byte", async () => {
    const at = await world();
    writeFileSync(join(at.cwd, "mine.md"), "All numbers were read.");
    const before = at.log();
    const said = await at.call(["compact", at.session, "--preview", "--summary", "mine.md"]);
    expect(said.code).toBe(0);
    expect(said.out).toMatch(/summary +by you\n/);
    expect(said.out).toContain("All numbers were read.\n");
    expect(said.err).toContain("not committed: the view is as it was.");
    expect(at.log()).toBe(before);
  });

  it("with a model's books what it cost, and the view is as it was", async () => {
    const at = await world();
    const [before, view] = [at.log(), await at.view()];
    const said = await at.call(["compact", at.session, "--preview", ...simulated(at)]);
    expect(said.out).toMatch(/summary +by a fork of the conversation, 1 call answered\n/);
    expect(said.out).toMatch(/context +[\d,]+ → [\d,]+ tokens\n/);
    expect(said.out).toContain("you said   1 verbatim\n");
    expect(said.out).toContain("The numbers were read at both ends.\n");
    expect(said.err).toMatch(/not committed: .*\$0\.\d+ \(simulated\) was paid for the summary\./);
    expect(at.log().startsWith(before)).toBe(true);
    expect(linesOf(at.log().slice(before.length))).toMatchObject([{ type: "setting", name: "compaction.spent" }]);
    expect(await at.view()).toEqual(view);
  });

  it("is what happens without a terminal and without --yes, and says how to commit", async () => {
    const at = await world();
    const before = at.log();
    const said = await at.call(["compact", at.session, "--summary", "-"], { piped: "All numbers were read." });
    expect(said).toMatchObject({ code: 0, err: expect.stringMatching(/not committed: .* With --yes it is/) as string });
    expect(at.log()).toBe(before);
  });
});

describe("palimpsest compact --yes", () => {
  it("commits, says how to go back, and undo brings the same view again", async () => {
    const at = await world();
    const view = await at.view();
    const done = reported(await at.call(["compact", at.session, "--yes", "--json", ...simulated(at)]));
    expect(done).toMatchObject({
      session: at.session,
      committed: true,
      path: "fork",
      trigger: "manual",
      userMessages: { verbatim: 1 },
      instead: null,
      audit: { score: 1 },
    });
    expect(done.tokensAfter).toBeLessThan(done.tokensBefore);
    const shown = JSON.stringify(await at.view());
    expect(shown).toContain("The numbers were read at both ends.");
    expect(shown).toContain(request);
    expect(shown).not.toContain("Let me see.");
    const { out: receipts } = await at.call(["receipts", at.session]);
    expect(receipts).toMatch(/summary by a fork of the conversation of \d+ messages in \d+\.\d s\n/);
    expect(receipts).toMatch(/audit {3}100% before the repair\n {2}cost {4}\$0\.\d+ for 1 call\n/);
    expect((await at.call(["undo", at.session, done.boundary ?? ""])).code).toBe(0);
    expect(await at.view()).toEqual(view);
  });

  it("tells the receipt, the audit and the way back in words", async () => {
    const at = await world();
    const said = await at.call(["compact", at.session, "--yes", "--instructions", "Keep the ends.", ...simulated(at)]);
    expect(said.out).toMatch(/entries +\d+ summarised/);
    expect(said.out).toMatch(/audit +100%, user messages 1 of 1/);
    const [, boundary = ""] = /to go back: palimpsest undo \S+ (\S+)\n$/.exec(said.out) ?? [];
    expect(linesOf(at.log())).toContainEqual(expect.objectContaining({ uuid: boundary, subtype: "compact_boundary" }));
    const { out: receipts } = await at.call(["receipts", at.session]);
    expect(receipts).toContain("asked   Keep the ends.\n");
    expect(receipts).not.toContain("reread");
  });

  it("says which instruction files were read again for what follows", async () => {
    const at = await world();
    writeFileSync(join(at.cwd, "CLAUDE.md"), "Count the numbers.\n");
    await at.call(["compact", at.session, "--yes", ...simulated(at)]);
    const { out } = await at.call(["receipts", at.session]);
    const reread = out.replaceAll(/\s+/g, " ");
    expect(reread).toContain(`reread 1 instruction file, changed: ${join(at.cwd, "CLAUDE.md")}; `);
    expect(reread).toMatch(/; \d+ tokens of the system prompt are written to the cache again/);
    const { edits } = JSON.parse((await at.call(["receipts", at.session, "--json"])).out) as ReceiptsJson;
    expect(edits).toMatchObject([{ compaction: { reloaded: { files: 1, changed: [join(at.cwd, "CLAUDE.md")] } } }]);
  });

  it("without a key comes to a summary without a model, and says so and what to set", async () => {
    const at = await world();
    const said = await at.call(["compact", at.session, "--yes"]);
    expect(said.out).toMatch(/summary +without a model: There is no key for a model\. Set ANTHROPIC_API_KEY/);
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining("without a model\n") as string });
    expect(said.err).not.toContain("the model summarises");
    expect(JSON.stringify(await at.view())).toContain(request);
  });

  it.each(["from", "up-to"])("--%s summarises its part and leaves the other byte for byte", async (option) => {
    const at = await world();
    const before = await at.view();
    const pivot = linesOf(at.log()).find((line) => JSON.stringify(line).includes("And now the other end."));
    const beginning = String(pivot?.["uuid"]).slice(0, 8);
    const args = ["compact", at.session, `--${option}`, beginning, "--yes", "--json", "--summary", "-"];
    const done = reported(await at.call(args, { piped: "One end was read." }));
    expect(done).toMatchObject({ committed: true, path: "given", money: { callsNanos: 0 } });
    const after = await at.view();
    const shown = JSON.stringify(after);
    expect(shown).toContain("One end was read.");
    if (option === "from") {
      expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
      expect(shown).not.toContain("And now the other end.");
    } else {
      expect(shown).not.toContain("Let me see.");
      expect(shown).toContain("Both ends are read.");
    }
  });

  it("works on a copy of another tool's transcript, which stays as it is", async () => {
    const at = await world();
    const theirs = join(at.cwd, "theirs.jsonl");
    writeFileSync(theirs, at.log());
    const args = ["compact", theirs, "--yes", "--json", "--summary", "-"];
    const said = await at.call(args, { piped: "All numbers were read." });
    expect(reported(said)).toMatchObject({ committed: true, session: expect.not.stringMatching(at.session) as string });
    expect(said.err).toContain("belongs to another tool; working on a copy");
    expect(readFileSync(theirs, "utf8")).toBe(at.log());
  });

  it("of another tool's transcript even a preview says that its copy stays", async () => {
    const at = await world();
    const theirs = join(at.cwd, "theirs.jsonl");
    writeFileSync(theirs, at.log());
    const said = await at.call(["compact", theirs, "--preview", "--summary", "-"], { piped: "All numbers were read." });
    const [, copy = "none"] = /The copy stays: session (\S+)\.\n$/.exec(said.err) ?? [];
    expect((await at.call(["sessions", "list", "--all"])).out).toContain(copy.slice(0, 8));
  });

  it("finds the session's own project from anywhere", async () => {
    const at = await world();
    const args = ["compact", at.session, "--yes", "--json", "--summary", "-"];
    const done = reported(await at.call(args, { cwd: tmpdir(), piped: "All numbers were read." }));
    expect(done).toMatchObject({ session: at.session, committed: true });
  });
});

describe("palimpsest compact at a terminal", () => {
  const editing = (at: World, script: string): Readonly<Record<string, string>> => {
    writeFileSync(join(at.cwd, "editor.sh"), script);
    return { EDITOR: "/bin/sh editor.sh" };
  };

  it("asks; what is edited is shown anew and committed, and the model's call is booked once", async () => {
    const at = await world();
    const env = editing(at, `echo 'Both ends were read with care.' > "$1"`);
    const said = await at.call(["compact", at.session, ...simulated(at)], { env, answers: ["e", "e", "c"] });
    expect(said.code).toBe(0);
    expect(said.out).toMatch(/by a fork of the conversation[^]*summary +by you, 1 call answered\n/);
    expect(said.err).toContain("nothing was changed\n");
    expect(said.out).toMatch(/compacted: boundary \S+\nto go back: palimpsest undo/);
    const shown = JSON.stringify(await at.view());
    expect(shown).toContain("Both ends were read with care.");
    expect(shown).not.toContain("The numbers were read at both ends.");
    const boundary = linesOf(at.log()).find(({ subtype }) => subtype === "compact_boundary");
    expect(boundary).toMatchObject({ compactMetadata: { path: "given", calls: [{ path: "fork" }] } });
    expect(at.log()).not.toContain("compaction.spent");
  });

  it("an edit that is no summary is refused, and the question stands as before", async () => {
    const at = await world();
    const env = editing(at, `printf 'I am sorry, but I cannot help with that.\\n' > "$1"`);
    const said = await at.call(["compact", at.session, ...simulated(at)], { env, answers: ["e", "c"] });
    expect(said.err).toContain("this summary can't be used: ");
    expect(JSON.stringify(await at.view())).toContain("The numbers were read at both ends.");
  });

  it("s shows the whole summary, also one that was edited, and a slip is asked about again", async () => {
    const at = await world();
    const env = editing(at, `seq 1 40 > "$1"`);
    const said = await at.call(["compact", at.session, ...simulated(at)], { env, answers: ["e", "what?", "s", "y"] });
    expect(said.out).toMatch(/^12\n… 28 more lines; s shows all of it\n[^]*^40\n/m);
    expect(said.err).toContain("that is no answer.\n");
    expect(said.out).toContain("compacted: boundary");
  });

  it.each(["n", ""])("the answer %j cancels", async (answer) => {
    const at = await world();
    const before = await at.view();
    const said = await at.call(["compact", at.session, ...simulated(at)], { answers: [answer] });
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining("not committed") as string });
    expect(await at.view()).toEqual(before);
  });

  it("asks nothing with --yes, --preview or --json", async () => {
    const at = await world();
    writeFileSync(join(at.cwd, "mine.md"), "All numbers were read.");
    for (const flag of ["--preview", "--json", "--yes"]) {
      const said = await at.call(["compact", at.session, "--summary", "mine.md", flag], { answers: [] });
      expect(said, flag).toMatchObject({ code: 0, err: expect.not.stringContaining("[y/e/s/N]") as string });
    }
  });
});

describe("without a key", () => {
  const example = join(import.meta.dirname, "../../examples/scenarios/compaction.yaml");

  it.each([
    ["the simulator's extract", ["--responder", "extract"]],
    ["the example scenario", ["--scenario", example]],
  ])("%s writes a summary that passes", async (_, who) => {
    const at = await world();
    const done = reported(await at.call(["compact", at.session, "--yes", "--json", "--model", "simulator", ...who]));
    expect(done).toMatchObject({ committed: true, path: "fork", instead: null });
  });
});

it("a short session that reads two files and is compacted as the docs say is smaller, and every command counts it alike", async () => {
  const at = await world();
  const files = ["README.md", "package.json"].map((name) => join(import.meta.dirname, "../..", name));
  for (const file of files) copyFileSync(file, join(at.cwd, basename(file)));
  const scenario = join(import.meta.dirname, "../../examples/scenarios/compaction.yaml");
  const asked = ["--model", "simulator", "--scenario", scenario, "--output-format", "json"];
  const said = await at.call(["-p", "Read README.md and package.json.", ...asked]);
  const { session_id: session } = JSON.parse(said.out) as { session_id: string };
  const counted = async (): Promise<number> =>
    (JSON.parse((await at.call(["view", session, "--json"])).out) as { tokens: number }).tokens;
  const before = await counted();
  const args = ["compact", session, "--yes", "--json", "--model", "simulator", "--responder", "extract"];
  const { tokensAfter, boundary } = reported(await at.call(args)) as { tokensAfter: number; boundary: string };
  expect(tokensAfter).toBeLessThan(0.9 * before);
  expect(Math.abs((await counted()) - tokensAfter)).toBeLessThan(0.05 * tokensAfter);
  await at.call(["undo", session, boundary]);
  expect(Math.abs((await counted()) - before)).toBeLessThan(0.05 * before);
});

it("what a hook says to the user is no warning", async () => {
  const at = await world();
  const hook = { hooks: [{ type: "command", command: `echo '{"systemMessage": "all is well"}'` }] };
  writeFileSync(join(at.home, "settings.json"), JSON.stringify({ hooks: { PostCompact: [hook] } }));
  const said = await at.call(["compact", at.session, "--yes", ...simulated(at)]);
  expect(said.err).toMatch(/^hook: all is well$/m);
});

describe("palimpsest compact refuses", () => {
  it.each([
    [["--preview", "--yes"], 2, "Give one of them"],
    [["--from", "aaaa", "--up-to", "bbbb"], 2, "Give one of them"],
    [["--summary", "x", "--instructions", "y"], 2, "Give one of them"],
    [["--responder", "echo"], 2, "Add --model simulator"],
    [["--context-tokens", "many"], 2, "--context-tokens"],
    [["--summary", "nothing.md"], 3, "no file that you may read is called nothing.md"],
    [["--summary", "-"], 2, "the summary is empty"],
    [["--from", "nobody"], 3, "no message of the view is called nobody"],
  ])("%j with exit code %i, and writes nothing", async (args, code, message) => {
    const at = await world();
    const before = at.log();
    const said = await at.call(["compact", at.session, ...args]);
    expect(said).toMatchObject({ code, out: "", err: expect.stringContaining(message) as string });
    expect(at.log()).toBe(before);
  });

  it("what a hook does not allow, and what is compacted already", async () => {
    const at = await world();
    const hook = { hooks: [{ type: "command", command: "echo 'not today' >&2; exit 2" }] };
    writeFileSync(join(at.home, "settings.json"), JSON.stringify({ hooks: { PreCompact: [hook] } }));
    const blocked = await at.call(["compact", at.session, "--yes", ...simulated(at)]);
    expect(blocked).toMatchObject({ code: 5, err: expect.stringMatching(/not compacted: .*not today/) as string });
    writeFileSync(join(at.home, "settings.json"), "{}");
    expect((await at.call(["compact", at.session, "--yes", ...simulated(at)])).code).toBe(0);
    const again = await at.call(["compact", at.session, "--yes", ...simulated(at)]);
    expect(again).toMatchObject({ code: 5, err: expect.stringContaining("nothing to compact") as string });
  });

  it("another tool's transcript where no copy of it can be made, and says why one is", async () => {
    const at = await world();
    const theirs = join(at.cwd, "theirs.jsonl");
    writeFileSync(theirs, at.log());
    writeFileSync(join(at.cwd, "no-folder"), "");
    const said = await at.call(["compact", theirs, "--preview"], {
      env: { PALIMPSEST_HOME: join(at.cwd, "no-folder") },
    });
    expect(said).toMatchObject({
      code: 6,
      err: expect.stringContaining("is copied into a session of our own") as string,
    });
  });

  it("a summary of one's own that is too long, with the limit", async () => {
    const at = await world();
    const long = Array.from({ length: 30_000 }, (_, word) => `word${word}`).join(" ");
    const args = ["compact", at.session, "--yes", "--context-tokens", "100000", "--summary", "-"];
    const said = await at.call(args, { piped: long });
    expect(said).toMatchObject({ code: 1, err: expect.stringContaining("30% of the window, and 60,000") as string });
  });

  it("--up-to the first message: nothing stands before it", async () => {
    const at = await world();
    const first = linesOf(at.log()).find((line) => JSON.stringify(line).includes(request));
    const said = await at.call(["compact", at.session, "--yes", "--up-to", String(first?.["uuid"])]);
    expect(said).toMatchObject({
      code: 5,
      err: expect.stringContaining("nothing that was said stands before") as string,
    });
  });

  it("what a prompt of one's own brought about, naming the file", async () => {
    const at = await world();
    mkdirSync(join(at.home, "prompts"));
    writeFileSync(join(at.home, "prompts", "compact.md"), "Say {{nonsense}} in a few words.");
    const said = await at.call(["compact", at.session, "--preview", "--model", "simulator", "--responder", "echo"]);
    expect(said.err).toMatch(/^warning: .*prompts\/compact\.md: \{\{nonsense\}\} stands for nothing/m);
    expect(said.err).toMatch(/^warning: .*prompts\/compact\.md: it does not ask for the summary in <summary> tags/m);
    expect(said.out).toContain("The prompt is your own,");
    expect((await at.call(["explain"])).err).toContain("{{nonsense}} stands for nothing");
  });

  it("what is wrong with prompt and template for notes, by the command that explains", async () => {
    const at = await world();
    mkdirSync(join(at.home, "prompts"));
    writeFileSync(join(at.home, "prompts", "notes.md"), "Note it in {{file}}.");
    writeFileSync(join(at.home, "prompts", "notes-template.md"), "no heading here");
    const { code, err } = await at.call(["explain"]);
    expect(code).toBe(0);
    expect(err).toMatch(/^warning: .*prompts\/notes\.md: \{\{file\}\} stands for nothing/m);
    expect(err).toMatch(/^warning: Your template of notes was not taken, ours was: .*no heading/m);
  });

  it("a session that is not there", async () => {
    const at = await world();
    expect(await at.call(["compact", "nobody"])).toMatchObject({ code: 3, out: "" });
  });
});

describe("palimpsest -p", () => {
  const unclearing = ["--off", "clear.size", "--off", "clear.idle"];
  const once = ["-p", "And once more.", "-c", "--model", "simulator", "--responder", "echo", "--output-tokens", "2000"];
  const asked = (contextTokens: number): readonly string[] => [
    ...once,
    ...unclearing,
    "--context-tokens",
    String(contextTokens),
  ];

  it("tells on stderr of a compaction that nobody asked for, why it failed and what to do", async () => {
    const { code, out, err } = await (await world()).call(asked(42_000));
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("And once more.") as string });
    expect(err).toMatch(
      /^compacting \(threshold\): the context has [\d,]+ tokens and is compacted from [\d,]+ on\nthe model summarises\n/,
    );
    expect(err).toMatch(/^warning: not compacted \(no_summary\): .* `palimpsest compact` does it by hand\.$/m);
  });

  it("tells of one without a model, which comes where nothing fits any more", async () => {
    const { code, err } = await (await world()).call(asked(20_000));
    expect(code).toBe(0);
    expect(err).toMatch(
      /^compacted \(limit\): [\d,]+ → [\d,]+ tokens, without a model \(.*\), audit 100%, \$0\.\d+ \(simulated\)$/m,
    );
  });

  it("with stream-json tells them as events and nowhere else", async () => {
    const { out, err } = await (await world()).call([...asked(20_000), "--output-format", "stream-json"]);
    const types = linesOf(out).map(({ type }) => String(type));
    expect(types.filter((type) => type === "compacted")).toHaveLength(1);
    expect(types).toContain("compaction-start");
    expect(err).not.toContain("compact");
  });
});
