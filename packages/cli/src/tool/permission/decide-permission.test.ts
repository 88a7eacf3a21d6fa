import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolAction, ShellAction, PermissionVerdict } from "palimpsest/internal/ports/tool";
import { createMayRead, createPermit } from "./create-permit.ts";
import { analyzeEffect } from "../shell/analyze-effect.ts";
import { isLiteralLine } from "../shell/parse-line.ts";
import { analyzeWrites } from "../shell/analyze-writes.ts";
import { decidePermission, type PermissionMode, stricterVerdict } from "./decide-permission.ts";
import { parseRules } from "./rule.ts";

const places = { roots: ["/p", "/added"], home: "/home/me" };
const read = (path: string, ofCommand?: number): ToolAction => ({
  kind: "read",
  path,
  ...(ofCommand === undefined ? {} : { ofCommand }),
});
const write = (path: string): ToolAction => ({ kind: "write", path });
const shell = (command: string, reads: ShellAction["reads"] = "known"): ToolAction => ({
  kind: "shell",
  command,
  effect: analyzeEffect(command).kind,
  ...(isLiteralLine(command) ? { words: "literal" } : {}),
  reads,
  writes: analyzeWrites(command).sight === "clear" ? "known" : "unclear",
});

const shown = (path: string, reach: "itself" | "below" = "itself") => ({ path, reach, sight: "sure" }) as const;

interface Case {
  readonly mode?: PermissionMode;
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
}

function verdict(given: Case, act: ToolAction, tool?: string): PermissionVerdict["kind"] {
  const { rules, problems } = parseRules({ allow: given.allow ?? [], ask: given.ask ?? [], deny: given.deny ?? [] });
  expect(problems).toEqual([]);
  const name = tool ?? (act.kind === "shell" ? "bash" : act.kind === "read" ? "read" : "write");
  return decidePermission({ ...places, rules, mode: given.mode ?? "default" }, { tool: name, input: {}, acts: [act] })
    .kind;
}

describe("modes", () => {
  test.each([
    ["read inside", read("/p/a"), "allowed", "allowed", "allowed", "allowed"],
    ["read in an added folder", read("/added/a"), "allowed", "allowed", "allowed", "allowed"],
    ["read outside", read("/etc/passwd"), "ask", "ask", "ask", "allowed"],
    ["read of a neighbour", read("/project/a"), "ask", "ask", "ask", "allowed"],
    ["write inside", write("/p/a"), "ask", "allowed", "denied", "allowed"],
    ["write outside", write("/home/me/.bashrc"), "ask", "ask", "denied", "allowed"],
    ["write where git looks for programs", write("/p/.git/config"), "ask", "ask", "denied", "allowed"],
    ["write there in other letters", write("/p/sub/.GIT/hooks/x"), "ask", "ask", "denied", "allowed"],
    ["write of our settings", write("/p/.palimpsest/settings.json"), "ask", "ask", "denied", "allowed"],
    ["harmless command", shell("ls"), "allowed", "allowed", "allowed", "allowed"],
    ["unknown command", shell("make"), "ask", "ask", "denied", "allowed"],
    ["the engine's own list", { kind: "state", what: "todo" }, "allowed", "allowed", "allowed", "allowed"],
    ["what the agent asks of it", { kind: "state", what: "compaction" }, "allowed", "allowed", "allowed", "allowed"],
    [
      "an agent, whose own acts are asked about",
      { kind: "state", what: "agent" },
      "allowed",
      "allowed",
      "allowed",
      "allowed",
    ],
    ["a worktree for one", { kind: "state", what: "worktree" }, "allowed", "allowed", "denied", "allowed"],
    ["another state", { kind: "state", what: "an issue" }, "ask", "ask", "denied", "allowed"],
  ] as const)("%s", (_name, act, ...expected) => {
    const modes = ["default", "acceptEdits", "plan", "bypass"] as const;
    expect(modes.map((mode) => verdict({ mode }, act))).toEqual(expected);
  });
});

test.each([
  ["cat src/a.ts", "allowed", "allowed"],
  ["cat src/*.ts", "ask", "denied"],
  ["cat ~/a", "ask", "denied"],
  ['cat "$PWD/a"', "ask", "denied"],
  ["echo $(ls)", "ask", "denied"],
] as const)(
  "without a sandbox only literal lines are run unasked: %s is %s, in plan mode %s",
  (command, inDefault, inPlan) => {
    const by = (
      mode: PermissionMode,
      sandbox: "on" | "off",
      allow: readonly string[] = [],
    ): PermissionVerdict["kind"] =>
      decidePermission(
        { ...places, mode, sandbox, rules: parseRules({ allow }).rules },
        { tool: "bash", input: {}, acts: [shell(command)] },
      ).kind;
    expect([by("default", "off"), by("plan", "off")]).toEqual([inDefault, inPlan]);
    expect([by("default", "on"), by("plan", "on")]).toEqual(["allowed", "allowed"]);
    expect([by("default", "off", ["Bash"]), by("bypass", "off")]).toEqual(["allowed", "allowed"]);
  },
);

describe("rules about commands", () => {
  const rows: readonly (readonly [readonly string[], string, PermissionVerdict["kind"]])[] = [
    [["Bash(make:*)"], "make", "allowed"],
    [["Bash(make:*)"], "make test", "allowed"],
    [["Bash(make *)"], "make test", "allowed"],
    [["Bash(make:*)"], "makefoo", "ask"],
    [["Bash(npm run test:*)"], "npm run test -- -t x", "allowed"],
    [["Bash(npm run test:*)"], "npm run build", "ask"],
    [["Bash(npm test)"], "npm test", "allowed"],
    [["Bash(npm test)"], "npm  'test'", "allowed"],
    [["Bash(npm test)"], "npm test x", "ask"],
    [["Bash(npm run *:unit)"], "npm run a:unit", "allowed"],
    [["Bash"], "rm -rf /", "allowed"],
    [["Bash(*)"], "rm -rf /", "allowed"],
    [["Bash(git status:*)"], "git status && rm -rf /", "ask"],
    [["Bash(make:*)"], "make; rm x", "ask"],
    [["Bash(make:*)"], "make | sh", "ask"],
    [["Bash(make:*)"], "make & rm x", "ask"],
    [["Bash(make:*)"], "make\nrm x", "ask"],
    [["Bash(make:*)"], "make $(rm x)", "ask"],
    [["Bash(make:*)"], "make `rm x`", "ask"],
    [["Bash(make:*)"], 'make "$(rm x)"', "ask"],
    [["Bash(make:*)"], "make <(rm x)", "ask"],
    [["Bash(make:*)"], "make <<EOF\n$(rm x)\nEOF", "ask"],
    [["Bash(make:*)"], "make > ~/.profile", "ask"],
    [["Bash(make:*)"], "make 2>&1 > /dev/null", "allowed"],
    [["Bash(make:*)"], "PATH=. make", "ask"],
    [["Bash(make:*)"], "X=1; make", "ask"],
    [["Bash(make:*)"], "make ${X@P}", "ask"],
    [["Bash(make:*)"], "make $((a[$(rm x)]))", "ask"],
    [["Bash(make:*)"], "make() { rm x; }; make", "ask"],
    [["Bash(make:*)"], "if ls; then make; fi", "allowed"],
    [["Bash(make:*)"], "if ls; then make; else rm x; fi", "ask"],
    [["Bash(make:*)"], "for t in a b; do make $t; done", "allowed"],
    [["Bash(make:*)"], "ls && make test | tail -5", "allowed"],
    [["Bash(make:*)", "Bash(npm test)"], "make && npm test", "allowed"],
    [["Bash(make:*)"], "$'make' test", "allowed"],
    [["Bash(make:*)"], "$MAKE", "ask"],
    [["Bash(make:*)"], "ma\u200bke", "ask"],
    [["Bash(make:*)"], "make 'x", "ask"],
    [["Bash(make:*)"], "make $TOKEN", "allowed"],
    [["Bash(make:*)"], "make; echo $HOME", "allowed"],
    [["Bash(make:*)"], "make; echo $TOKEN", "ask"],
    [["Bash(make:*)"], 'make; echo "$(ls) ${TOKEN}"', "ask"],
    [["Bash(make:*)"], 'make "$(echo $TOKEN)"', "ask"],
    [["Bash(make:*)"], "make; cat <<< $TOKEN", "ask"],
    [["Bash(make:*)"], "make; cat <<EOF\n$TOKEN\nEOF", "ask"],
    [["Bash(make:*)"], "make; { cat; } <<< $TOKEN", "ask"],
    [["Bash(make:*)"], "make; for t in $TOKEN; do echo $t; done", "ask"],
    [["Bash(make:*)"], "make; LANG=$TOKEN ls", "ask"],
  ];
  test.each(rows)("%j on %s: %s", (allow, command, expected) => {
    expect(verdict({ allow }, shell(command))).toBe(expected);
  });

  test("where it can't be told what is read, a permission holds only for lines of commands that rules name", () => {
    const given = { allow: ["Bash(make:*)", "Bash(npm test)"] };
    expect(verdict(given, shell("make && npm test", "unclear"))).toBe("allowed");
    expect(verdict(given, shell("make && ls", "unclear"))).toBe("ask");
  });

  test.each([
    ["rm x", "denied"],
    ["ls && rm x", "denied"],
    ["r''m x", "denied"],
    ["/bin/rm x", "denied"],
    ["echo $(rm x)", "denied"],
    ["sudo rm x", "denied"],
    ["env A=1 rm x", "denied"],
    ["find . | xargs rm", "denied"],
    ["find . -exec rm {} +", "denied"],
    ["sh -c 'ls; rm x'", "denied"],
    ["bash -c \"eval 'rm x'\"", "denied"],
    ["f() { rm x; }", "denied"],
    ["ls 'x", "ask"],
    ["$(echo rm) -f x", "ask"],
    ["x=rm; $x -f x", "ask"],
    ["for x in rm; do $x -f x; done", "ask"],
    ["${X:-rm} -f x", "ask"],
    ["/bin/r? -f x", "ask"],
    ['bash -c "$(echo rm) -f x"', "ask"],
    ["bash -c 'x=rm; $x -f x'", "ask"],
    ["bash -c '$0' rm", "denied"],
    ["bash -c '$0'", "ask"],
    ["eval '$X'", "ask"],
    ["sudo $X", "ask"],
    ["sh -c 'ls \"'", "ask"],
    ["trap 'rm x' EXIT", "denied"],
    ["trap '$X' EXIT", "ask"],
    ["echo rm x | sh", "ask"],
    ["sh <<< 'r''m x'", "ask"],
    ["echo rm x | xargs env", "ask"],
    ["echo rm | xargs -I{} {} x", "ask"],
    ["env -S'rm x'", "denied"],
    ["env --split-string='rm x'", "denied"],
    ["env --split=rm x", "denied"],
    ["env -S 'r\\_m x'", "ask"],
    ["nice -n 5 timeout -k 1 3 rm x", "denied"],
    ["flock a -c 'rm x'", "denied"],
    ["su root -c 'rm x'", "denied"],
    ["script -qec 'rm x' /dev/null", "denied"],
    ["setarch -R rm x", "denied"],
    ["git bisect run rm x", "denied"],
    ["git rebase --exec 'rm x' HEAD~1", "denied"],
    ["git -c core.pager='rm x' -p log", "denied"],
    ["alias y='rm x'", "ask"],
    ["RM x", "denied"],
    ['python3 -c \'import os; os.system("r" + "m x")\'', "ask"],
    ['node -e \'require("child_" + "process")\'', "ask"],
    ['awk \'BEGIN { system("r" "m x") }\'', "ask"],
    ["sed 's/.*/&/e' a", "ask"],
    ["cp /bin/rm y; ./y x", "ask"],
    ["hash -p /bin/rm y; y x", "ask"],
    ["some-launcher --quiet rm x", "ask"],
    ["some-launcher --run='rm x'", "ask"],
    ["GIT_PAGER='rm x' git -p log", "ask"],
    ["git some-alias", "ask"],
    ["test -v 'a[$(rm x)]'", "ask"],
    ["X='a[$(rm x)]'; echo $((X))", "ask"],
    ["PS4='$(rm x)'; set -x; ls", "ask"],
    ["at now <<< 'ls'", "ask"],
    ["docker run --rm image", "allowed"],
    ["git commit -m 'rm the old one'", "allowed"],
    ["git commit -F - <<'E'\nrm the old one\nE", "allowed"],
    ["echo rm x; grep rm a; cp rm a", "allowed"],
    ["sudo -n env A=1 make rm", "allowed"],
    ["python3 -c 'import os; print(os.path.exists(\"rm\"))'", "allowed"],
    ["sed -i 's|rm|del|g; /x/d' a", "allowed"],
    ["ls | xargs git add", "allowed"],
    ["ls | xargs git", "ask"],
    ["which rm | xargs -I% cp % y", "ask"],
    ["echo 'rm the old one' | git commit -F -", "allowed"],
    ["ls | xargs -I% sh -c 'echo %'", "ask"],
    ["ls", "allowed"],
    ["make", "allowed"],
    ["echo $X", "allowed"],
    ["make $X", "allowed"],
    ["sh script.sh", "allowed"],
    ["bash -c 'make && ls'", "allowed"],
    ["find . -name '*.ts' | xargs wc -l", "allowed"],
  ] as const)("with Bash(rm:*) forbidden, bypass and all allowed: %s is %s", (command, expected) => {
    expect(verdict({ mode: "bypass", allow: ["Bash"], deny: ["Bash(rm:*)"] }, shell(command))).toBe(expected);
  });

  test.each([
    ["Bash(git push:*)", "git $X", "ask"],
    ["Bash(git push:*)", "git pus? origin", "ask"],
    ["Bash(git push:*)", "git add $X", "allowed"],
    ["Bash(git push:*)", "git", "allowed"],
    ["Bash(git push:*)", "git -C . push", "denied"],
    ["Bash(git push:*)", "git -c a=b --no-pager push origin", "denied"],
    ["Bash(git push:*)", "git --git-dir=.git --work-tree . -P push", "denied"],
    ["Bash(git push:*)", "/usr/bin/git --git-dir .git push", "denied"],
    ["Bash(git push:*)", "sudo git -C $X push", "denied"],
    ["Bash(git push:*)", "git -C . $X", "ask"],
    ["Bash(git push:*)", "git -c alias.x=push x", "ask"],
    ["Bash(git push:*)", "git-push origin", "denied"],
    ["Bash(git push:*)", "/usr/lib/git-core/git-push origin", "denied"],
    ["Bash(git push:*)", "git send-pack x main", "denied"],
    ["Bash(git push:*)", "git subtree push x", "denied"],
    ["Bash(git push:*)", "git config alias.p push; git p", "ask"],
    ["Bash(git push:*)", "git submodule foreach 'git push'", "denied"],
    ["Bash(git push:*)", "some-launcher git push", "ask"],
    ["Bash(git push:*)", "some-launcher git pull", "allowed"],
    ["Bash(git push:*)", "git -C push status", "allowed"],
    ["Bash(npm publish)", "npm $X", "ask"],
    ["Bash(npm publish)", "echo $X", "allowed"],
    ["Bash(*publish)", "npm $X", "ask"],
  ] as const)("with %s forbidden, words that may become it: %s is %s", (ban, command, expected) => {
    expect(verdict({ mode: "bypass", deny: [ban] }, shell(command))).toBe(expected);
  });

  test("in plan mode a permission for a command does not let it change things", () => {
    expect(verdict({ mode: "plan", allow: ["Bash(make:*)"] }, shell("make"))).toBe("denied");
  });
});

describe("rules about files", () => {
  test.each([
    [{ allow: ["Edit(src/**)"] }, write("/p/src/a.ts"), "allowed"],
    [{ allow: ["Edit(src/**)"] }, write("/p/srcs/a.ts"), "ask"],
    [{ allow: ["Edit(src/**)"] }, write("/added/src/a.ts"), "ask"],
    [{ allow: ["Edit(/src)"] }, write("/p/src/a/b.ts"), "allowed"],
    [{ allow: ["Edit(*.md)"] }, write("/p/docs/a.md"), "allowed"],
    [{ allow: ["Edit(*.md)"] }, write("/elsewhere/a.md"), "ask"],
    [{ allow: ["Write(src/**)"] }, write("/p/src/a.ts"), "allowed"],
    [{ allow: ["Edit"] }, write("/anywhere"), "allowed"],
    [{ allow: ["Read(//etc/hosts)"] }, read("/etc/hosts"), "allowed"],
    [{ allow: ["Read(/etc/hosts)"] }, read("/etc/hosts"), "ask"],
    [{ allow: ["Read(~/notes/**)"] }, read("/home/me/notes/a"), "allowed"],
    [{ allow: ["Read(src/**)"] }, write("/p/src/a"), "ask"],
    [{ deny: ["Read(~/.ssh/**)"], mode: "bypass" }, read("/home/me/.ssh/id_ed25519"), "denied"],
    [{ deny: ["Read(~/.ssh/**)"], mode: "bypass" }, read("/home/me/.ssh/.hidden"), "denied"],
    [{ deny: ["Read(~/.ssh)"], mode: "bypass" }, read("/home/me/.SSH/key"), "denied"],
    [{ deny: ["Read(.env)"] }, read("/p/a/.env"), "denied"],
    [{ deny: ["Read(.env)"] }, read("/p/a/.ENV"), "denied"],
    [{ deny: ["Read(.env)"] }, read("/added/.env"), "denied"],
    [{ deny: ["Edit(src/**)"], allow: ["Edit(src/a.ts)"] }, write("/p/src/a.ts"), "denied"],
    [{ deny: ["Read(caf\u00e9)"] }, read("/p/cafe\u0301"), "denied"],
  ] as const)("%j on %j: %s", (given, act, expected) => {
    expect(verdict(given, act)).toBe(expected);
  });

  test("a hidden file is not shown by a search either", () => {
    const mayRead = createMayRead({ ...places, rules: parseRules({ deny: ["Read(.env)"] }).rules });
    expect([mayRead("/p/a.ts"), mayRead("/p/x/.env")]).toEqual([true, false]);
  });

  test.each([
    ["names a hidden file", { files: [shown("/p/.env")], others: "none" }, "denied", "denied"],
    ["goes through a hidden folder", { files: [shown("/p/keys", "below")], others: "none" }, "denied", "denied"],
    ["goes through a folder above it", { files: [shown("/p", "below")], others: "none" }, "denied", "allowed"],
    [
      "goes through a folder that may hold one",
      { files: [shown("/p/src", "below")], others: "none" },
      "ask",
      "allowed",
    ],
    ["may show others", { files: [], others: "perhaps" }, "ask", "allowed"],
    ["names another file", { files: [shown("/p/src/a.ts")], others: "none" }, "allowed", "allowed"],
    ["nobody has looked into", undefined, "ask", "allowed"],
  ] as const)("a line that %s is %3$s where files are hidden, and %4$s where the sandbox hides them", (...row) => {
    const [, shows, bare, held] = row;
    const act: ToolAction = {
      kind: "shell",
      command: "cat",
      effect: "read-only",
      reads: "known",
      writes: "known",
      ...(shows && { shows }),
    };
    const by = (mode: PermissionMode, sandbox: "on" | "off", use: "ask" | "deny"): PermissionVerdict["kind"] => {
      const { rules } = parseRules({ allow: ["Bash"], [use]: ["Read(.env)", "Read(./keys/**)"] });
      return decidePermission({ ...places, mode, sandbox, rules }, { tool: "bash", input: {}, acts: [act] }).kind;
    };
    for (const mode of ["default", "bypass"] as const) {
      expect([by(mode, "off", "deny"), by(mode, "on", "deny")]).toEqual([bare, held]);
      for (const sandbox of ["off", "on"] as const)
        expect(by(mode, sandbox, "ask")).toBe(bare === "allowed" ? "allowed" : "ask");
    }
  });

  test("a permission for a command is one for the files it is given, a deny rule on a file stands", () => {
    const request = { tool: "bash", input: {}, acts: [shell("cat /etc/hosts"), read("/etc/hosts", 0)] };
    const by = (given: Case) =>
      decidePermission(
        { ...places, mode: "default", rules: parseRules({ allow: given.allow ?? [], deny: given.deny ?? [] }).rules },
        request,
      );
    expect(by({}).kind).toBe("ask");
    expect(by({ allow: ["Bash(cat:*)"] }).kind).toBe("allowed");
    expect(by({ allow: ["Bash(cat:*)"], deny: ["Read(//etc/**)"] }).kind).toBe("denied");
  });

  test.each([
    ["of another command", ["Bash(make:*)"], "make; cat /etc/hosts", read("/etc/hosts", 1), "ask"],
    ["of that command", ["Bash(make:*)", "Bash(cat:*)"], "make; cat /etc/hosts", read("/etc/hosts", 1), "allowed"],
    ["redirected", ["Bash(make:*)"], "make < /etc/hosts", read("/etc/hosts"), "ask"],
    ["redirected where every command is allowed", ["Bash"], "make < /etc/hosts", read("/etc/hosts"), "allowed"],
    ["of a process", ["Bash(cat:*)"], "cat /proc/1/environ", read("/proc/1/environ", 0), "ask"],
    ["of a process where every command is allowed", ["Bash"], "cat /proc/1/environ", read("/proc/1/environ", 0), "ask"],
    ["of a process, by its own rule", ["Read(//proc/1/stat)"], "cat /proc/1/stat", read("/proc/1/stat", 0), "allowed"],
  ] as const)("a permission for one command and a file %s: %j on %s", (_name, allow, command, act, expected) => {
    const { rules } = parseRules({ allow });
    const request = { tool: "bash", input: {}, acts: [shell(command), act] };
    expect(decidePermission({ ...places, mode: "default", rules }, request).kind).toBe(expected);
  });

  test("a project at the root of the file system does not hold what processes hold", () => {
    const policy = { ...places, roots: ["/"], mode: "default", rules: parseRules({}).rules } as const;
    expect(decidePermission(policy, { tool: "bash", input: {}, acts: [read("/proc/1/environ")] }).kind).toBe("ask");
  });

  test("a folder for reading is read like the project, and not written", () => {
    const policy = { ...places, readRoots: ["/kept"], mode: "acceptEdits", rules: parseRules({}).rules } as const;
    const by = (act: ToolAction) => decidePermission(policy, { tool: "read", input: {}, acts: [act] }).kind;
    expect([by(read("/kept/a")), by(read("/keptx")), by(write("/kept/a"))]).toEqual(["allowed", "ask", "ask"]);
    const rules = parseRules({ deny: ["Read(//kept/**)"] }).rules;
    expect(decidePermission({ ...policy, rules }, { tool: "read", input: {}, acts: [read("/kept/a")] }).kind).toBe(
      "denied",
    );
  });
});

describe("rules about tools", () => {
  const state: ToolAction = { kind: "state", what: "x" };
  test.each([
    [{ allow: ["mcp__tracker"] }, "mcp__tracker__create", "allowed"],
    [{ allow: ["mcp__tracker__create"] }, "mcp__tracker__create", "allowed"],
    [{ allow: ["mcp__track"] }, "mcp__tracker__create", "ask"],
    [{ deny: ["mcp__tracker"], mode: "bypass" }, "mcp__tracker__create", "denied"],
    [{ allow: ["mcp__tracker"], mode: "plan" }, "mcp__tracker__create", "denied"],
  ] as const)("%j on %s: %s", (given, tool, expected) => {
    expect(verdict(given, state, tool)).toBe(expected);
  });

  test.each([
    [{}, "ask"],
    [{ mode: "acceptEdits" }, "ask"],
    [{ mode: "bypass" }, "allowed"],
    [{ allow: ["mcp__tracker"] }, "allowed"],
    [{ allow: ["mcp__tracker__create"] }, "allowed"],
    [{ allow: ["mcp__Tracker__CREATE"] }, "allowed"],
    [{ allow: ["mcp__track", "mcp__tracker__creat", "mcp__tracker__create__x"] }, "ask"],
    [{ allow: ["mcp__tracker"], ask: ["mcp__tracker__create"] }, "ask"],
    [{ allow: ["mcp__tracker"], deny: ["mcp__tracker__create"] }, "denied"],
    [{ deny: ["mcp__tracker"], mode: "bypass" }, "denied"],
    [{ deny: ["use_tool"], mode: "bypass" }, "denied"],
    [{ allow: ["mcp__tracker"], mode: "plan" }, "denied"],
  ] as const)("a call of a server's tool, whatever tool makes it: %j: %s", (given, expected) => {
    expect(verdict(given, { kind: "mcp", server: "tracker", tool: "create" }, "use_tool")).toBe(expected);
  });

  test.each([
    [{ allow: ["Bash"], ask: ["Bash(make:*)"] }, shell("make"), "ask"],
    [{ allow: ["Bash"], ask: ["Bash(make:*)"] }, shell("ls; make x"), "ask"],
    [{ allow: ["Bash"], ask: ["Bash(make:*)"] }, shell("npm test"), "allowed"],
    [{ ask: ["Bash(make:*)"], deny: ["Bash(make x)"] }, shell("make x"), "denied"],
    [{ ask: ["Bash(ls:*)"] }, shell("ls"), "ask"],
    [{ ask: ["Bash(make:*)"], mode: "bypass" }, shell("make"), "ask"],
    [{ ask: ["Bash(make:*)"], mode: "plan" }, shell("make"), "denied"],
    [{ allow: ["Edit(src/**)"], ask: ["Edit(src/a.ts)"] }, write("/p/src/a.ts"), "ask"],
    [{ allow: ["Edit(src/**)"], ask: ["Edit(src/a.ts)"] }, write("/p/src/b.ts"), "allowed"],
    [{ ask: ["Read(.env)"] }, read("/added/x/.ENV"), "ask"],
    [{ ask: ["mcp__tracker"], allow: ["mcp__tracker"] }, state, "ask"],
  ] as const)("deny, then ask, then allow: %j on %j: %s", (given, act, expected) => {
    expect(verdict(given, act, act.kind === "state" ? "mcp__tracker__create" : undefined)).toBe(expected);
  });

  test("a file that is to be asked about is not shown by a search", () => {
    const mayRead = createMayRead({ ...places, rules: parseRules({ ask: ["Read(.env)"] }).rules });
    expect([mayRead("/p/a.ts"), mayRead("/p/x/.env")]).toEqual([true, false]);
  });

  test("what is no rule is told", () => {
    expect(parseRules({ allow: ["Bash(x", "WebFetch(a.org)", ""] }).problems).toHaveLength(3);
  });
});

test("a sub-agent never gets more than its parent", async () => {
  const acts = [read("/p/a"), read("/etc/x"), write("/p/a"), shell("ls"), shell("make")];
  const modes = fc.constantFrom<PermissionMode>("default", "acceptEdits", "plan", "bypass");
  const lists = fc.subarray(["Bash(make:*)", "Edit", "Read", "Read(//etc/**)"]);
  await fc.assert(
    fc.asyncProperty(
      modes,
      lists,
      modes,
      lists,
      fc.constantFrom(...acts),
      async (mode, allow, childMode, childAllow, act) => {
        const parent = createPermit({ ...places, mode, rules: parseRules({ allow }).rules });
        const child = createPermit({
          ...places,
          mode: childMode,
          rules: parseRules({ allow: childAllow }).rules,
          parent,
        });
        const request = { tool: "bash", input: {}, acts: [act] };
        const [upper, lower] = [await parent(request), await child(request)];
        expect(stricterVerdict(upper, lower).kind).toBe(lower.kind);
      },
    ),
  );
});

describe("a command outside the sandbox", () => {
  const outside = (command: string): ToolAction => ({
    ...shellAct(command),
    strength: "none",
    outsideReason: "it needs docker",
  });
  const by = (
    mode: PermissionMode,
    written: Parameters<typeof parseRules>[0] = {},
    command = "ls",
  ): PermissionVerdict =>
    decidePermission(
      { ...places, mode, sandbox: "on", rules: parseRules(written).rules },
      { tool: "bash", input: {}, acts: [outside(command)] },
    );

  test.each(["default", "acceptEdits", "bypass"] as const)(
    "is asked about in %s, and only the user answers",
    (mode) => {
      for (const allow of [[], ["Bash"], ["Bash(ls:*)"]]) {
        const verdict = by(mode, { allow });
        expect(verdict).toMatchObject({ kind: "ask", answeredBy: "user" });
        expect(JSON.stringify(verdict)).toContain("--no-sandbox");
      }
    },
  );

  test("is denied in plan mode, and by a deny rule in every mode", () => {
    expect(by("plan")).toMatchObject({ kind: "denied" });
    expect(by("bypass", { deny: ["Bash(ls:*)"] })).toMatchObject({ kind: "denied" });
  });

  test("is offered no rule", async () => {
    const permit = createPermit({ ...places, mode: "default", sandbox: "on", rules: parseRules({}).rules });
    expect(await permit({ tool: "bash", input: {}, acts: [outside("npm test")] })).not.toHaveProperty("suggestedRules");
  });
});

function shellAct(command: string): ShellAction {
  const act = shell(command);
  if (act.kind !== "shell") throw new Error("a shell act");
  return act;
}

test.each(["[z-a]", "}{", "a}b{c", "[]", "x{y", "a[b"])("a deny rule for %s denies the file of that name", (name) => {
  const path = `/p/src/${name}`;
  for (const mode of ["default", "bypass"] as const) {
    expect(verdict({ mode, deny: [`Read(${name})`] }, read(path))).toBe("denied");
    expect(verdict({ mode, deny: [`Edit(src/${name}/**)`] }, write(`${path}/b`))).toBe("denied");
    expect(verdict({ mode, deny: [`Read(${name})`] }, read("/p/src/a"))).toBe("allowed");
  }
});
