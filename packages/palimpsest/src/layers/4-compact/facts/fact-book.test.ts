import { describe, expect, it } from "vitest";
import { chained, type Raw, result, says, text, user } from "../../../../../../test/fixture/raw.ts";
import { FactBook, collectFacts } from "./fact-book.ts";
import { filesReadMax } from "../limits.ts";
import type { SessionFacts } from "./session-facts.ts";

const use = (id: string, name: string, input: object): object => ({ type: "tool_use", id, name, input });
const fails = (uuid: string, id: string, content: string): Raw =>
  user(uuid, [{ type: "tool_result", tool_use_id: id, content, is_error: true }]);
const factsIn = (...raws: readonly Raw[]): SessionFacts => collectFacts(chained(raws));

/** A call and its result: `c1` is asked for in `c1-call` and answered in `c1-result`. */
const ran = (id: string, name: string, input: object, content = "ok"): readonly Raw[] => [
  says(`${id}-call`, `reply of ${id}`, use(id, name, input)),
  result(`${id}-result`, id, content),
];
const failed = (id: string, name: string, input: object, content = "Error: broken"): readonly Raw[] => [
  says(`${id}-call`, `reply of ${id}`, use(id, name, input)),
  fails(`${id}-result`, id, content),
];

describe("what people said", () => {
  it("is heard beside results too", () => {
    const beside = user("2", [{ type: "tool_result", tool_use_id: "c1", content: "ok" }, text("and the tests first")]);
    const { userMessages, commands } = factsIn(says("1", "m", use("c1", "Bash", { command: "ls" })), beside);
    expect(userMessages).toMatchObject([{ entry: "2", text: "and the tests first" }]);
    expect(commands).toMatchObject([{ outcome: { kind: "done" } }]);
  });

  it("is kept whole and in order, with its entry and time", () => {
    const long = "word ".repeat(5000).trim();
    const { userMessages } = factsIn(user("1", "first", { timestamp: "2026-01-01T00:00:00Z" }), user("2", long));
    expect(userMessages).toEqual([
      { entry: "1", text: "first", at: "2026-01-01T00:00:00Z" },
      { entry: "2", text: long, at: undefined },
    ]);
  });

  it.each<[string, Raw, readonly string[]]>([
    ["counts when it was said while the agent worked", queued({ prompt: "stop that" }), ["stop that"]],
    ["counts when it came with an image", queued({ prompt: [{ type: "image" }, text("look")] }), ["look"]],
    ["is not what a task told the agent", queued({ prompt: "x", commandMode: "task-notification" }), []],
    ["is not the engine's own message", user("1", "x", { isMeta: true }), []],
    ["is not a summary", user("1", "x", { isCompactSummary: true }), []],
    ["is not a sub-agent's", user("1", "x", { isSidechain: true }), []],
  ])("%s", (_, raw, expected) => {
    expect(factsIn(raw).userMessages.map((message) => message.text)).toEqual(expected);
  });

  it("is a sub-agent's in its own book", () => {
    const entries = chained([user("1", "x", { isSidechain: true })]);
    expect(collectFacts(entries, { line: "side" }).userMessages).toHaveLength(1);
  });

  it.each<[string, readonly Raw[], boolean]>([
    ["waits for an answer at first", [], true],
    ["waits while calls run", ran("c1", "Bash", { command: "ls" }), true],
    [
      "waits while a reply with words goes on in calls",
      [says("a", "m", text("Let me look")), ...ran("c1", "Bash", { command: "ls" })],
      true,
    ],
    [
      "is answered by a reply without calls",
      [...ran("c1", "Bash", { command: "ls" }), says("b", "n", text("Done."))],
      false,
    ],
  ])("as the last request, it %s", (_, then, isOpen) => {
    expect(factsIn(user("1", "do it"), ...then).lastRequest).toMatchObject({ entry: "1", isOpen });
  });
});

function queued(attachment: object): Raw {
  return { type: "attachment", uuid: "1", attachment: { type: "queued_command", ...attachment } };
}

describe("files", () => {
  const patch = "*** Begin Patch\n*** Update File: a.ts\n*** Move to: b.ts\n*** Add File: c.ts\n+x\n*** End Patch";
  it.each<[string, readonly Raw[], readonly string[]]>([
    ["an edit that succeeded", ran("c1", "Edit", { file_path: "/p/a.ts" }), ["/p/a.ts"]],
    ["an edit that failed", failed("c1", "Edit", { file_path: "/p/a.ts" }), []],
    ["an edit without a result", [says("1", "m", use("c1", "Edit", { file_path: "/p/a.ts" }))], []],
    ["a read", ran("c1", "Read", { file_path: "/p/a.ts" }), []],
    ["every file of a patch", ran("c1", "apply_patch", { input: patch }), ["a.ts", "b.ts", "c.ts"]],
    [
      "every file of a patch under another name",
      ran("c1", "apply_patch", { patchText: patch }),
      ["a.ts", "b.ts", "c.ts"],
    ],
    [
      "every file of a patch given to the shell",
      ran("c1", "shell", { command: ["apply_patch", patch] }),
      ["a.ts", "b.ts", "c.ts"],
    ],
    [
      "an editor that is told to create",
      ran("c1", "str_replace_editor", { command: "create", path: "a.ts" }),
      ["a.ts"],
    ],
    ["an editor that is told to view", ran("c1", "str_replace_editor", { command: "view", path: "a.ts" }), []],
    ["a tool of an MCP server", ran("c1", "mcp__files__write_file", { path: "a.ts" }), ["a.ts"]],
    ["a path of blanks", ran("c1", "Write", { file_path: "  " }), []],
  ])("changed: %s", (_, raws, expected) => {
    expect(factsIn(...raws).filesModified.map(({ path }) => path)).toEqual(expected);
  });

  it("come once each, the newest change last, with the entry of that change", () => {
    const { filesModified } = factsIn(
      ...ran("c1", "Edit", { file_path: "a" }),
      ...ran("c2", "Edit", { file_path: "b" }),
      ...ran("c3", "Edit", { file_path: "a" }),
    );
    expect(filesModified).toEqual([
      { path: "b", entry: "c2-call" },
      { path: "a", entry: "c3-call" },
    ]);
  });

  it("that were read are kept up to a limit, the newest of them", () => {
    const raws = Array.from({ length: filesReadMax + 5 }, (_, at) =>
      ran(`c${at}`, "Read", { file_path: `f${at}` }),
    ).flat();
    const { filesRead } = factsIn(...raws);
    expect(filesRead).toHaveLength(filesReadMax);
    expect(filesRead.at(-1)?.path).toBe(`f${filesReadMax + 4}`);
  });
});

describe("commands and errors", () => {
  it.each<[string, Raw, object]>([
    ["done", result("2", "c1", "fine"), { kind: "done" }],
    [
      "marked as failed",
      fails("2", "c1", "Exit code 2\nsome words\nTypeError: x is not y"),
      { kind: "failed", exitCode: 2, line: "TypeError: x is not y" },
    ],
    [
      "failed in our shell",
      fails("2", "c1", "1 failed\n[exit code 1]"),
      { kind: "failed", exitCode: 1, line: "1 failed" },
    ],
    [
      "failed by the words of its output alone",
      result("2", "c1", "Chunk ID: 1\nProcess exited with code 127\nOutput:\nzsh: command not found: x"),
      { kind: "failed", exitCode: 127, line: "zsh: command not found: x" },
    ],
    ["exit code 0 in words", result("2", "c1", "Process exited with code 0\nerror: none"), { kind: "done" }],
    ["without words", fails("2", "c1", ""), { kind: "failed", line: "" }],
    ["not allowed", fails("2", "c1", "The user doesn't want to proceed with this tool use."), { kind: "refused" }],
    [
      "not run, since another failed",
      fails("2", "c1", "<tool_use_error>Sibling tool call errored</tool_use_error>"),
      { kind: "not-run" },
    ],
  ])("a command %s", (_, raw, outcome) => {
    const { commands } = factsIn(says("1", "m", use("c1", "Bash", { command: "npm test" })), raw);
    expect(commands).toEqual([{ command: "npm test", entry: "1", outcome }]);
  });

  it("an error is named by a line near the end of a long output too", () => {
    const output = `${"fine\n".repeat(50_000)}Error: at last\n${"trace\n".repeat(10)}`;
    expect(factsIn(...failed("c1", "Bash", { command: "x" }, output)).lastError?.text).toBe("Error: at last\nfine");
  });

  it.each<[string, readonly Raw[], boolean]>([
    ["stays open", ran("c2", "Bash", { command: "npm run lint" }), true],
    ["is closed by the same command", ran("c2", "Bash", { command: "cd /p && npm  test 2>&1 | tail -5" }), false],
    [
      "is opened again by a later failure",
      [...ran("c2", "Bash", { command: "npm test" }), ...failed("c3", "Bash", { command: "npm test" })],
      true,
    ],
  ])("an error of a command %s", (_, then, isOpen) => {
    const { errors } = factsIn(...failed("c1", "Bash", { command: "npm test" }), ...then);
    expect(errors).toMatchObject([{ of: "npm test", isOpen }]);
  });

  it("an error of an edit is closed by any success on the same file", () => {
    const { errors } = factsIn(...failed("c1", "Edit", { file_path: "a" }), ...ran("c2", "Write", { file_path: "a" }));
    expect(errors).toMatchObject([{ of: "Edit a", entry: "c1-result", isOpen: false }]);
  });

  it("an error that a pipe hides is one, open until the same command reports none", () => {
    const piped = { command: "npm test 2>&1 | tail" };
    const broken = ran("c1", "Bash", piped, "TypeError: x\n1 failed");
    expect(factsIn(...broken)).toMatchObject({
      lastError: { text: "TypeError: x\n1 failed", isOpen: true },
      commands: [{ outcome: { kind: "done" } }],
    });
    expect(factsIn(...broken, ...ran("c2", "Bash", piped, "all passed")).lastError).toMatchObject({ isOpen: false });
  });

  it("of several failures under one name all are known, and only the newest is open", () => {
    const { errors } = factsIn(
      ...failed("c1", "Bash", { command: "npm test" }, "Error: one"),
      ...failed("c2", "Bash", { command: "npm test" }, "Error: two"),
      ...failed("c3", "Bash", { command: "npm test" }, "Error: one"),
    );
    expect(errors).toMatchObject([
      { text: "Error: two", isOpen: false },
      { text: "Error: one", entry: "c3-result", isOpen: true },
    ]);
  });

  it("what a command that ended well says of errors is known, never open, and not the last error", () => {
    const { errors, lastError } = factsIn(
      ...failed("c1", "Bash", { command: "npm run lint" }),
      ...ran("c2", "Bash", { command: "npm test" }, "error: thrown on purpose\nall passed"),
    );
    expect(errors).toMatchObject([
      { isOpen: true },
      { text: "error: thrown on purpose", isOpen: false, isPassing: true },
    ]);
    expect(lastError).toMatchObject({ of: "npm run lint" });
  });

  it("a book goes on from what was stored with every failure that was known", () => {
    const before = factsIn(
      ...failed("c1", "Bash", { command: "npm test" }, "Error: one"),
      ...failed("c2", "Bash", { command: "npm test" }, "Error: two"),
    );
    const { errors } = collectFacts(chained(ran("c3", "Bash", { command: "npm test" })), { earlier: before });
    expect(errors.map(({ text: said, isOpen }) => [said, isOpen])).toEqual([
      ["Error: one", false],
      ["Error: two", false],
    ]);
  });

  it("the last error is the newest failure", () => {
    const { lastError } = factsIn(
      ...failed("c1", "Bash", { command: "x" }),
      ...failed("c2", "Bash", { command: "y" }),
      ...failed("c3", "Bash", { command: "x" }, "Error: again"),
    );
    expect(lastError).toMatchObject({ of: "x", text: "Error: again" });
  });
});

describe("todos", () => {
  it.each<[string, readonly Raw[], readonly string[]]>([
    [
      "of our own tool",
      ran("c1", "todo", {
        todos: [
          { content: "a", status: "pending" },
          { content: "b", status: "completed" },
        ],
      }),
      ["pending a"],
    ],
    [
      "of Claude Code",
      ran("c1", "TodoWrite", { todos: [{ content: "a", status: "in_progress", activeForm: "A" }] }),
      ["in_progress a"],
    ],
    [
      "of opencode",
      ran("c1", "todowrite", {
        todos: [
          { id: "1", content: "a", status: "cancelled" },
          { id: "2", content: "b", status: "pending" },
        ],
      }),
      ["pending b"],
    ],
    ["of Codex", ran("c1", "update_plan", { plan: [{ step: "a", status: "in_progress" }] }), ["in_progress a"]],
    [
      "given anew: the newest list counts",
      [...ran("c1", "todo", { todos: [{ content: "a", status: "pending" }] }), ...ran("c2", "todo", { todos: [] })],
      [],
    ],
    ["that a call failed to write", failed("c1", "todo", { todos: [{ content: "a", status: "pending" }] }), []],
    [
      "as tasks",
      ran("c1", "TaskCreate", { subject: "a", description: "long" }, "Task #7 created successfully: a"),
      ["pending a"],
    ],
    [
      "as a task begun",
      [
        ...ran("c1", "TaskCreate", { subject: "a" }, "Task #7 created"),
        ...ran("c2", "TaskUpdate", { taskId: "7", status: "in_progress" }),
      ],
      ["in_progress a"],
    ],
    [
      "as a task done",
      [
        ...ran("c1", "TaskCreate", { subject: "a" }, "Task #7 created"),
        ...ran("c2", "TaskUpdate", { taskId: "7", status: "completed" }),
      ],
      [],
    ],
    [
      "as a task done and taken up again",
      [
        ...ran("c1", "TaskCreate", { subject: "a" }, "Task #7 created"),
        ...ran("c2", "TaskUpdate", { taskId: "7", status: "completed" }),
        ...ran("c3", "TaskUpdate", { taskId: "7", status: "pending" }),
      ],
      ["pending a"],
    ],
  ])("%s", (_, raws, expected) => {
    expect(factsIn(...raws).openTodos.map((todo) => `${todo.status} ${todo.text}`)).toEqual(expected);
  });
});

describe("decisions", () => {
  it("a message that answers the question at the end of a reply is one", () => {
    const { decisions } = factsIn(
      user("1", "go"),
      says("2", "m", text("Two ways. Tabs or spaces?")),
      user("3", "tabs"),
    );
    expect(decisions).toEqual([{ question: "Tabs or spaces?", answer: "tabs", entry: "3" }]);
  });

  it("a message behind a reply that asks nothing is none", () => {
    expect(factsIn(user("1", "why?"), says("2", "m", text("Done.")), user("3", "more")).decisions).toEqual([]);
  });

  it("what the user chose when a tool asked, and what they did not allow, are", () => {
    const { decisions } = factsIn(
      ...ran("c1", "AskUserQuestion", { questions: [] }, '"Which?"="this"'),
      ...failed(
        "c2",
        "Bash",
        { command: "rm -r x" },
        "The user doesn't want to proceed with this tool use. They said: keep it",
      ),
    );
    expect(decisions).toMatchObject([
      { question: "Which?", answer: "this" },
      { question: "Bash rm -r x", entry: "c2-result" },
    ]);
  });

  it("each question that one result answers is one, also in a book that goes on", () => {
    const entries = chained([...ran("c1", "AskUserQuestion", {}, '"Which?"="this", "When?"="now"')]);
    const { decisions } = collectFacts(entries);
    expect(decisions.map(({ answer }) => answer)).toEqual(["this", "now"]);
    expect(collectFacts([], { earlier: { decisions } }).decisions).toEqual(decisions);
  });

  it("the plan that was agreed to is kept, one that was turned down is not", () => {
    const agreed = ran("c1", "ExitPlanMode", { plan: "first" });
    expect(factsIn(...agreed, ...failed("c2", "ExitPlanMode", { plan: "second" })).plan).toEqual({
      text: "first",
      entry: "c1-call",
    });
  });
});

describe("a book", () => {
  const raws: readonly Raw[] = [
    user("1", "do it"),
    ...failed("c1", "Bash", { command: "npm test" }),
    ...ran("c2", "Edit", { file_path: "a" }),
    ...ran("c3", "todo", { todos: [{ content: "t", status: "pending" }] }),
    says("4", "m", text("Go on?")),
    user("5", "yes"),
    ...ran("c6", "Bash", { command: "npm test" }),
  ];

  it("goes on from what was known earlier as if it had read all of it", () => {
    const entries = chained(raws);
    const whole = collectFacts(entries);
    for (let cut = 0; cut <= entries.length; cut += 1) {
      // A call and its result are one step: facts do not hold calls that wait.
      if (entries[cut]?.id?.endsWith("-result") === true) continue;
      const earlier = collectFacts(entries.slice(0, cut));
      expect(collectFacts(entries.slice(cut), { earlier }), `cut at ${cut}`).toEqual(whole);
    }
  });

  it("gives snapshots that later entries do not change", () => {
    const book = new FactBook();
    const [first, ...others] = chained(raws);
    if (first !== undefined) book.append(first);
    const before = book.facts();
    const copy = structuredClone(before);
    for (const entry of others) book.append(entry);
    expect(before).toEqual(copy);
    expect(book.facts()).not.toEqual(copy);
  });
});
