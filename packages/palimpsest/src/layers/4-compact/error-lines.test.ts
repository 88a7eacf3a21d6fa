import { describe, expect, it } from "vitest";
import { failureLines, hidesExitCode, findReportedLines } from "./facts/call-outcome.ts";
import { errorCharsMax } from "./limits.ts";

describe("the lines of a failure", () => {
  it.each<[string, string, readonly string[]]>([
    [
      "Go tests",
      "Exit code 1\n=== RUN   TestA\n--- FAIL: TestA (0.01s)\n    a_test.go:3: got 2\nFAIL\texample.org/a\t0.3s",
      ["--- FAIL: TestA (0.01s)", "FAIL example.org/a 0.3s", "Exit code 1"],
    ],
    ["Go's compiler", "# example.org/a\n./a.go:7:2: undefined: x", ["./a.go:7:2: undefined: x"]],
    [
      "Rust",
      "   Compiling a\nerror[E0308]: mismatched types\n --> src/a.rs:2:5\nerror: could not compile `a`",
      ["error[E0308]: mismatched types", "error: could not compile `a`"],
    ],
    [
      "a panic of Rust",
      "thread 'main' panicked at src/a.rs:2:5:\nindex out of bounds",
      ["thread 'main' panicked at src/a.rs:2:5:"],
    ],
    [
      "a traceback of Python",
      "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'b'",
      ["KeyError: 'b'"],
    ],
    [
      "pytest",
      "    def test_a():\n>       assert 1 == 2\nE       assert 1 == 2\n\nFAILED a_test.py::test_a - assert 1 == 2\n1 failed in 0.02s",
      ["E assert 1 == 2", "FAILED a_test.py::test_a - assert 1 == 2", "1 failed in 0.02s"],
    ],
    ["TypeScript", "src/a.ts(3,5): error TS2322: no such type", ["src/a.ts(3,5): error TS2322: no such type"]],
    ["npm", "npm error code ELIFECYCLE\nnpm error errno 1", ["npm error code ELIFECYCLE", "npm error errno 1"]],
    ["jest", "FAIL src/a.test.ts\n  ● adds › two\n    at x", ["FAIL src/a.test.ts", "● adds › two"]],
    ["a shell", "Exit code 127\nzsh: command not found: x", ["zsh: command not found: x", "Exit code 127"]],
    [
      "a form that nobody knows, with the exit code",
      "Exit code 3\njq: error: none",
      ["jq: error: none", "Exit code 3"],
    ],
    ["words that name no error, with the exit code", "Exit code 1\nnothing to do", ["nothing to do", "Exit code 1"]],
    ["nothing but the exit code", "Exit code 1", ["Exit code 1"]],
    [
      "a client that says more of the run than of its end",
      "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 9\nOutput:\nrg: unrecognized flag -x",
      ["rg: unrecognized flag -x", "Process exited with code 2"],
    ],
    [
      "one that was stopped, with how its output begins",
      "> a@1.0.0 test\nrunning 3 of 9\n\nCommand timed out after 30 seconds",
      ["Command timed out after 30 seconds", "> a@1.0.0 test"],
    ],
    [
      "as many as are told, and the exit code besides",
      "./a.go:1:1: a\n./a.go:2:1: b\n./a.go:3:1: c\n./a.go:4:1: d\n./a.go:5:1: e\n[exit code 1]",
      ["./a.go:1:1: a", "./a.go:2:1: b", "./a.go:3:1: c", "./a.go:4:1: d", "[exit code 1]"],
    ],
    ["colours", "\u001B[31mTypeError: x\u001B[0m", ["TypeError: x"]],
    [
      "one that repeats itself",
      "error: a\nerror: a\nerror: b\nerror: c\nerror: d\nerror: e",
      ["error: a", "error: b", "error: c", "error: d"],
    ],
    ["nothing", "", []],
  ])("of a command: %s", (_, said, lines) => {
    expect(failureLines(said, "command")).toEqual(lines);
  });

  it("are of a tool its first, without the client's tag, and not what it repeats of its input", () => {
    const said = "<tool_use_error>Found 2 matches.\nString: it failed</tool_use_error>";
    expect(failureLines(said, "file")).toEqual(["Found 2 matches."]);
  });

  it("are cut where they get long", () => {
    expect(failureLines(`error: ${"x".repeat(1000)}`, "command")[0]).toHaveLength(errorCharsMax);
  });
});

describe("errors that a command reports although it ended well", () => {
  it.each<[string, string, string, readonly string[]]>([
    ["count behind a pipe", "go test ./... 2>&1 | tail -5", "--- FAIL: TestA (0.01s)", ["--- FAIL: TestA (0.01s)"]],
    ["count where another command came last", "npm test; echo done", "1 failed\ndone", ["1 failed"]],
    ["are told where the exit code is its own too", "npm test", "error: got over it", ["error: got over it"]],
    ["do not count in what is shown of a file", "cat a.log | head", "error: of yesterday", []],
    ["do not count in what a forge shows", "gh run view 7 --log | tail", "error: of yesterday", []],
    [
      "count where the forge's tool does something",
      "gh pr create --fill | tail",
      "error: no remote",
      ["error: no remote"],
    ],
    [
      "count where the reader itself complains",
      "grep x a.js | head",
      "grep: a.js: No such file or directory",
      ["grep: a.js: No such file or directory"],
    ],
    ["are not words in a sentence", "npm test | tail", "no error was found, nothing failed", []],
  ])("%s", (_, command, said, lines) => {
    expect(findReportedLines(said, command)).toEqual(lines);
  });
});

it.each<[string, string, boolean]>([
  ["a pipe", "npm test 2>&1 | tail", true],
  ["a command behind it", "npm test; echo done", true],
  ["a second line", "npm test\necho done", true],
  ["work in the background", "npm start &", true],
  ["its output led elsewhere", "npm test 2>&1", false],
  ["a command that only follows a success", "cd a && npm test", false],
])("an exit code and %s", (_, command, isHidden) => {
  expect(hidesExitCode(command)).toBe(isHidden);
});
