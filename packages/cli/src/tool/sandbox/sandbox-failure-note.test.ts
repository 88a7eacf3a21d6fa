import { expect, test } from "vitest";
import { sandboxFailureNote, needsNetwork, networkFailureNote } from "./sandbox-failure-note.ts";

const limits = {
  strength: "workspace",
  writable: ["/p"],
  hidden: ["/h/.ssh", "/h/.own", "/p/secret", "/p/.git/objects"],
  shown: ["/p", "/h/.own/results"],
} as const;

const note = (output: string, strength: "workspace" | "read-only" = "workspace") =>
  sandboxFailureNote({ output, cwd: "/p", limits: { ...limits, strength } });

test.each([
  ["coreutils", "touch: cannot touch '/etc/x': Read-only file system", "/etc/x can't be written, only the project"],
  ["bash", "/bin/bash: line 1: /h/x: Read-only file system", "/h/x can't be written"],
  [
    "node",
    "Error: EROFS: read-only file system, open '/h/.cache/x'\n    at open (node:fs)",
    "/h/.cache/x can't be written",
  ],
  ["python", "OSError: [Errno 30] Read-only file system: '/h/x.pyc'", "/h/x.pyc can't be written"],
  [
    "rust",
    "error: failed to create /h/.cargo/x\n\nCaused by:\n  Read-only file system (os error 30)",
    "a file can't be written",
  ],
  ["npm", "npm error EROFS: read-only file system, mkdir '/h/.npm/_cacache'", "/h/.npm/_cacache can't be written"],
  [
    "a protected file",
    "/bin/bash: line 1: .git/config: Read-only file system",
    ".git/config can't be changed, because other",
  ],
  [
    "one that is replaced",
    "error: could not write config file .git/config: Device or resource busy",
    ".git/config can't be changed",
  ],
  ["a rename", "mv: cannot move 'src' to 'other': Device or resource busy", "src can't be changed"],
  ["a hidden file", "cat: /h/.ssh/id: Permission denied", "/h/.ssh/id is hidden"],
  ["one by a relative name", "cat: secret/key: Permission denied", "secret/key is hidden"],
  ["node on a hidden file", "Error: EACCES: permission denied, open '/h/.ssh/config'", "/h/.ssh/config is hidden"],
  ["a hidden history", "fatal: not a git repository (or any of the parent directories): .git", "history holds files"],
  ["a socket", "Error: listen EPERM: operation not permitted /tmp/x.sock", "can't open Unix sockets"],
  [
    "python's socket",
    "    self._sock = socket.socket(family)\nPermissionError: [Errno 1] Operation not permitted: socket",
    "can't open Unix sockets",
  ],
  ["no start at all", "bwrap: Can't chdir to /p/gone: No such file or directory", "not started (Can't chdir"],
])("says what the sandbox refused: %s", (_, output, expected) => {
  expect(note(output)).toContain(expected);
  expect(note(output)).toMatch(/^the sandbox refused it: .*call it again with outside_sandbox: the user is asked$/);
});

test.each([
  ["a program that fails by itself", "AssertionError: 1 !== 2"],
  ["a file that nobody may read", "cat: /etc/sudoers: Permission denied"],
  ["what is shown in a hidden folder", "sh: /h/.own/results/x: Permission denied"],
  ["a program that can't be run", "bash: ./script.sh: Permission denied"],
  ["no output", ""],
])("says nothing of %s", (_, output) => {
  expect(note(output)).toBeUndefined();
});

test("a command that runs without a question is told that it can't write", () => {
  expect(note("touch: cannot touch 'x.txt': Read-only file system", "read-only")).toContain(
    "x.txt can't be written by a command that runs without a question",
  );
});

test.each([
  "npm ci",
  "cd app && npm --silent install left-pad 2>&1 | tail -3",
  "yarn",
  "yarn add x",
  "git -C sub --no-pager fetch origin",
  "git clone https://a.org/x",
  "timeout 60 pip install -r requirements.txt",
  "python3 -m pip install x",
  ".venv/bin/python3.12 -m pip download x",
  "bash -c 'curl -s https://a.org'",
  "FOO=1 env BAR=2 cargo test",
  "for x in a b; do wget $x; done",
  "echo $(curl -s https://a.org)",
  "./gradlew build",
  "sudo npx create-x",
])("%s gets a way to the proxy", (command) => {
  expect(needsNetwork(command)).toBe(true);
});

test.each([
  "npm test",
  "npm run build",
  "yarn test",
  "git status",
  "git commit -m 'npm ci'",
  "git log --oneline",
  "node server.js",
  "python3 -m pytest",
  "python3 install.py",
  "ls curl",
  "cat git fetch",
  "make",
  "$TOOL install",
  "",
])("%s does not", (command) => {
  expect(needsNetwork(command)).toBe(false);
});

test.each([
  "curl: (6) Could not resolve host: a.org",
  "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo",
  "fatal: unable to access 'https://a.org/': Could not resolve host: a.org",
  "socket.gaierror: [Errno -3] Temporary failure in name resolution",
  "dial tcp: lookup proxy.golang.org: no such host",
  "TypeError: fetch failed … cause: Error: connect ENETUNREACH 1.1.1.1:443",
])("%j is a failure by the missing network", (output) => {
  expect(networkFailureNote(output)).toContain("network: true");
});

test.each(["1 test failed", "Error: connect ECONNREFUSED 127.0.0.1:3000", "Permission denied", ""])(
  "%j is none",
  (output) => {
    expect(networkFailureNote(output)).toBeUndefined();
  },
);

test("only its last words count", () => {
  expect(networkFailureNote(`Could not resolve host: a.org\n${"x".repeat(20_000)}`)).toBeUndefined();
});
