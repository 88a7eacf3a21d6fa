import { expect, test } from "vitest";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { findSandbox } from "./find-sandbox.ts";
import { sandboxMountsMax, seatbeltStringBytesMax } from "./limits.ts";
import { seatbelt, seatbeltProfile } from "./seatbelt.ts";

const limits: SandboxLimits = {
  strength: "workspace",
  writable: ["/Users/me/My Project"],
  protected: ["/Users/me/My Project/.git/hooks", "/Users/me/My Project/.mcp.json", "/Users/me/.zshrc"],
  hidden: ["/Users/me/.ssh", "/Users/me/.palimpsest", "/Users/me/My Project/keys"],
  shown: ["/Users/me/My Project", "/Users/me/.palimpsest/results/one"],
  temporary: "/private/var/folders/x/session",
  network: { kind: "off" },
};

/** What is about this command: the same for all stands before it. */
function rulesOf(held: SandboxLimits): readonly string[] {
  const profile = seatbeltProfile(held);
  if (profile.kind === "refused") return [`refused: ${profile.why}`];
  const lines = profile.text.split("\n");
  return lines.slice(
    lines.indexOf(
      ")",
      lines.findIndex((line) => line.includes("/dev/fd")),
    ) + 1,
  );
}

test("what every program needs, and no more, is the same for all", () => {
  const profile = seatbeltProfile({ ...limits, writable: [], protected: [], hidden: [], shown: [] });
  expect(profile.kind === "profile" && profile.text).toMatchSnapshot();
});

test("workspace: the project and the temporary folder are written, but for what is protected; what is hidden is not read", () => {
  expect(rulesOf(limits)).toMatchSnapshot();
});

test("read-only: nothing but the temporary folder is written", () => {
  const held = rulesOf({ ...limits, strength: "read-only", writable: [], protected: [] });
  expect(held).toMatchInlineSnapshot(`
    [
      "(allow file-read*)",
      "(deny file-read* file-write* process-exec (subpath "/Users/me/.ssh"))",
      "(deny file-read* file-write* process-exec (subpath "/Users/me/.palimpsest"))",
      "(deny file-read* file-write* process-exec (subpath "/Users/me/My Project/keys"))",
      "(allow file-read* file-write* (subpath "/private/var/folders/x/session"))",
      "(allow file-read* process-exec (subpath "/Users/me/.palimpsest/results/one"))",
      "(allow file-read-metadata (literal "/Users/me/.palimpsest") (literal "/Users/me/.palimpsest/results"))",
      "(deny file-write-unlink file-write-create (literal "/private/var/folders/x/session"))",
    ]
  `);
});

test.each<[string, SandboxLimits["network"], readonly string[]]>([
  ["off", { kind: "off" }, []],
  [
    "by the proxy: its port and no other",
    { kind: "proxy", way: { kind: "loopback", port: 3128, url: "http://palimpsest:t@127.0.0.1:3128" } },
    ['(allow network-outbound (remote ip "localhost:3128"))'],
  ],
  [
    "open: every host, no socket of this machine",
    { kind: "open" },
    [
      '(allow network-bind (local ip "*:*"))',
      '(allow network-inbound (local ip "*:*"))',
      '(allow network-outbound (remote ip "*:*"))',
      '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
    ],
  ],
])("the network is %s", (_name, network, expected) => {
  expect(rulesOf({ ...limits, network }).filter((line) => line.includes("network"))).toEqual(expected);
});

test.each([
  ["quotes and backslashes", '/p/a"b\\c', String.raw`(subpath "/p/a\"b\\c")`],
  ["a line's end", "/p/a\nb", String.raw`(subpath "/p/a\x0ab")`],
  ["letters beyond ASCII", "/p/größe", '(subpath "/p/größe")'],
  ["brackets", "/p/(deny)", '(subpath "/p/(deny)")'],
])("a path with %s is one string", (_name, path, expected) => {
  const rules = rulesOf({ ...limits, hidden: [path], shown: [], writable: [], protected: [] });
  expect(rules).toContain(`(deny file-read* file-write* process-exec ${expected})`);
});

test("what is not there yet is held however its letters are written", () => {
  const rules = rulesOf({ ...limits, writable: ["/P.1"], protected: ["/P.1/.git/hooks"], hidden: [], shown: [] });
  expect(rules).toContain(
    String.raw`(deny file-write* (subpath "/P.1/.git/hooks") (regex "^/P\\.1/\\.[gG][iI][tT]/[hH][oO][oO][kK][sS](/|$)"))`,
  );
  const form = /regex "(.*)"\)\)$/
    .exec(rules.find((line) => line.includes("regex")) ?? "")?.[1]
    ?.replaceAll("\\\\", "\\");
  const matches = (path: string): boolean => new RegExp(form ?? "^$").test(path);
  expect(["/P.1/.GIT/Hooks", "/P.1/.git/hooks/pre-commit"].every(matches)).toBe(true);
  expect(["/P.1/.git/hooks2", "/P.1/xgit/hooks", "/Px1/.git/hooks"].some(matches)).toBe(false);
});

test("of two roles of one path the stricter counts, and what is inner before what is outer", () => {
  const rules = rulesOf({
    ...limits,
    writable: ["/p"],
    protected: ["/p", "/p/a"],
    hidden: ["/p/a", "/h"],
    shown: ["/h/in", "/p/a/in"],
    temporary: "/h/tmp",
  }).filter((line) => !line.includes("literal"));
  expect(rules).toEqual([
    "(allow file-read*)",
    '(deny file-read* file-write* process-exec (subpath "/h"))',
    '(deny file-read* file-write* process-exec (subpath "/p/a"))',
    '(allow file-read* file-write* process-exec (subpath "/h/tmp"))',
    '(allow file-read* process-exec (subpath "/h/in"))',
    '(allow file-read* process-exec (subpath "/p/a/in"))',
  ]);
});

test("folders on the way to what is held can't be renamed away, nor the project itself", () => {
  const pins = rulesOf(limits).filter((line) => line.startsWith("(deny file-write-unlink"));
  expect(pins).toEqual([
    '(deny file-write-unlink file-write-create (literal "/Users/me/My Project") (literal "/Users/me/My Project/.git") (literal "/private/var/folders/x/session"))',
  ]);
});

test("a path that the system would not take, or too many of them, are refused, not left out", () => {
  const long = `/p/${"x".repeat(seatbeltStringBytesMax)}`;
  expect(seatbeltProfile({ ...limits, hidden: [long] })).toEqual({
    kind: "refused",
    why: `${long} is too long to be held`,
  });
  const many = Array.from({ length: sandboxMountsMax }, (_, at) => `/p/hidden-${at}`);
  expect(seatbeltProfile({ ...limits, hidden: many })).toMatchObject({ kind: "refused" });
});

test("a program is started by sandbox-exec, with its own temporary folder and the proxy's address", async () => {
  const url = "http://palimpsest:t@127.0.0.1:3128";
  const start = { program: "/bin/bash", args: ["-c", "ls"], cwd: "/p", env: { PATH: "/bin" } };
  const held: SandboxLimits = { ...limits, network: { kind: "proxy", way: { kind: "loopback", port: 3128, url } } };
  const entry = await seatbelt({ program: "/usr/bin/sandbox-exec" }).enter(start, held);
  if (entry.kind === "refused") throw new Error(entry.why);
  const { program, args, cwd, env } = entry.start;
  expect([program, args[0], ...args.slice(2), cwd]).toEqual([
    "/usr/bin/sandbox-exec",
    "-p",
    "/bin/bash",
    "-c",
    "ls",
    "/p",
  ]);
  expect(env).toMatchObject({ PATH: "/bin", TMPDIR: limits.temporary, HTTPS_PROXY: url });
  const pipes: SandboxLimits = { ...limits, network: { kind: "proxy", way: { kind: "pipes", folder: "/f" } } };
  expect(await seatbelt({ program: "x" }).enter(start, pipes)).toMatchObject({ kind: "refused" });
});

test.skipIf(process.platform === "darwin")(
  "a macOS without a sandbox-exec that works has no sandbox, with a remedy",
  async () => {
    const search = await findSandbox({ env: {}, folder: "/nowhere", platform: "darwin" });
    expect(search.kind === "none" && search.remedy).toContain("sandbox-exec -p");
  },
);
