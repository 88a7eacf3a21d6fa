import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolAction } from "palimpsest/internal/ports/tool";
import { analyzeEffect } from "../shell/analyze-effect.ts";
import { analyzeWrites } from "../shell/analyze-writes.ts";
import { decidePermission, type PermissionMode } from "./decide-permission.ts";
import { parseRules } from "./rule.ts";
import { suggestRules } from "./create-permit.ts";

const shell = (command: string): ToolAction => ({
  kind: "shell",
  command,
  effect: analyzeEffect(command).kind,
  reads: "known",
  writes: analyzeWrites(command).sight === "clear" ? "known" : "unclear",
  shows: { files: [], others: "none" },
});
const write = (path: string): ToolAction => ({ kind: "write", path });
const read = (path: string): ToolAction => ({ kind: "read", path });
const fetch = (host: string): ToolAction => ({ kind: "fetch", url: `https://${host}/`, host });

const policy = {
  roots: ["/home/me/p"],
  home: "/home/me",
  mode: "default" as PermissionMode,
  rules: parseRules({}).rules,
  guarded: ["/home/me/p/.palimpsest"],
};
const request = (...acts: readonly ToolAction[]) => ({ tool: "some_tool", input: {}, acts });

test.each<[string, ToolAction, readonly string[] | undefined]>([
  ["a verb whose uses are like each other", shell("git add -A"), ["Bash(git add:*)"]],
  ["a script as it is called", shell("npm run build -- -w"), ["Bash(npm run build -- -w)"]],
  ["no other verb", shell("git push origin main"), ["Bash(git push origin main)"]],
  ["nor one that installs", shell("npm install x"), ["Bash(npm install x)"]],
  ["nor a target that takes settings", shell("make test"), ["Bash(make test)"]],
  ["beside what is harmless", shell("ls && npm test"), ["Bash(npm test:*)"]],
  ["the very line of any other program", shell("node x.js"), ["Bash(node x.js)"]],
  ["not what runs whatever it is given", shell("npm exec x"), ["Bash(npm exec x)"]],
  ["not of a program whose options come first", shell("git -c a=b push"), ["Bash(git -c a=b push)"]],
  ["each of two programs", shell("node a.js && rm b"), ["Bash(node a.js)", "Bash(rm b)"]],
  ["of a compound line its parts", shell("cd src && node --test 2>&1 | tail"), ["Bash(node --test)"]],
  ["no part twice", shell("make x; make x"), ["Bash(make x)"]],
  ["a verb and a line", shell("npm test && npm run build"), ["Bash(npm test:*)", "Bash(npm run build)"]],
  ["what a loop runs", shell("for t in a b; do make; done"), ["Bash(make)"]],
  ["no part that a rule would widen", shell("make x && rm *"), undefined],
  ["no part whose words would be others", shell("make && rm 'a b'"), undefined],
  ["no part that only the shell knows", shell("make && rm $X"), undefined],
  ["more parts than the user looks at, none", shell("a; b; c; d; e; f"), undefined],
  ["a line that can't be looked into, none", shell("node 'x"), undefined],
  ["a line that a pattern would widen, none", shell("rm *"), undefined],
  ["a file's folder", write("/home/me/p/src/a.ts"), ["Edit(/src/**)"]],
  ["not the whole project", write("/home/me/p/a.ts"), ["Edit(/a.ts)"]],
  ["names that look like patterns", write("/home/me/p/[id]/a.ts"), ["Edit(/[[]id[]]/**)"]],
  ["outside the project the file only", read("/usr/share/doc/x"), ["Read(//usr/share/doc/x)"]],
  ["in hidden folders the file only", write("/home/me/p/.config/a/b"), ["Edit(/.config/a/b)"]],
  ["a file that holds keys, none", read("/home/me/.netrc"), undefined],
  ["keys of a shell, none", read("/home/me/.ssh/known_hosts"), undefined],
  ["the repository's own files, none", write("/home/me/p/.git/hooks/pre-commit"), undefined],
  ["what is set for programs, none", write("/home/me/p/app/.env.local"), undefined],
  ["a key in the project, none", write("/home/me/p/certs/server.pem"), undefined],
  ["what holds the rules, none", write("/home/me/p/.palimpsest/settings.json"), undefined],
  ["a host", fetch("example.org"), ["WebFetch(domain:example.org)"]],
  ["a host that is written as many, none", fetch("*.example.org"), undefined],
  ["a tool of a server", { kind: "mcp", server: "db", tool: "get" }, ["mcp__db__get"]],
  ["a tool that is written as many, none", { kind: "mcp", server: "db", tool: "g*" }, undefined],
  ["a tool that changes a state", { kind: "state", what: "an issue" }, ["some_tool"]],
])("suggests %s", (_name, act, expected) => {
  expect(suggestRules(policy, request(act))).toEqual(expected);
});

test("the rules that are suggested would have allowed the very request, and none of them is too many", () => {
  const act = fc.oneof(
    fc.constantFrom("git push", "make x", "npm run a:b", "node a", "rm -rf /", "git a; rm b", "sh -c 'x'").map(shell),
    fc.constantFrom("/home/me/p/a", "/home/me/p/b c/{d}", "/home/me/p/.git/config", "/etc/x").map(write),
    fc.constantFrom("/etc/x", "/proc/1/environ", "/home/me/.ssh/id").map(read),
    fc.constantFrom("a.org", "b.a.org").map(fetch),
  );
  const modes = fc.constantFrom<PermissionMode>("default", "acceptEdits", "plan");
  const bans = fc.subarray(["Bash(git push:*)", "Edit(*.ts)", "WebFetch(domain:a.org)", "Read(//etc/**)"]);
  fc.assert(
    fc.property(fc.array(act, { minLength: 1, maxLength: 3 }), modes, bans, (acts, mode, deny) => {
      const given = { ...policy, mode, rules: parseRules({ deny }).rules };
      const allow = suggestRules(given, request(...acts));
      if (allow === undefined || decidePermission(given, request(...acts)).kind !== "ask") return;
      const by = (some: readonly string[]) => {
        const { rules, problems } = parseRules({ deny, allow: some });
        expect(problems).toEqual([]);
        return decidePermission({ ...given, rules }, request(...acts)).kind;
      };
      expect(by(allow)).toBe("allowed");
      for (const rule of allow) expect(by(allow.filter((one) => one !== rule))).not.toBe("allowed");
    }),
  );
});
