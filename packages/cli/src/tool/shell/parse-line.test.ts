import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { shellWord } from "../../../../../test/support/attacks/shell-words.ts";
import { findShell } from "./bash-tool.ts";
import { isLiteralLine, parseLine } from "./parse-line.ts";

test.each([
  "ls -la src",
  "cat 'a b' \"c d\" e\\ f | head -20",
  "cd src && git log --oneline -5 HEAD~1 HEAD@{1}",
  "grep -rn 'a*b' . 2>/dev/null || echo none",
  "(cd src; pwd); find . -name '*.ts' -exec {} \\;",
  "time ls",
])("%s is literal", (line) => {
  expect(isLiteralLine(line)).toBe(true);
});

test.each([
  "cat *.ts",
  "cat a?",
  "cat [ab]",
  "cat {a,b}",
  "cat ~/a",
  "cat x=a:~/b",
  "cat $HOME",
  'cat "$PWD/a"',
  "cat $(ls)",
  "cat `ls`",
  "cat <(ls)",
  "cat $'\\xff'",
  "cat $((1))",
  "X=1 ls",
  "cat <<E\nx\nE",
  "cat <<< x",
  "ls &",
  "for f in a; do cat a; done",
  "if ls; then ls; fi",
  "f() { ls; }",
  "[[ a ]]",
  "cat @(a)",
  "cat 'a",
])("%s is not", (line) => {
  expect(isLiteralLine(line)).toBe(false);
});

test("bash gives a command of a literal line exactly the words that the parser reads", async () => {
  const { path } = await findShell();
  const script = String.raw`show() { (($#)) && printf '%s\0' "$@"; printf '\1\0'; }; for word; do eval "show $word" || exit; done`;
  let seen = 0;
  fc.assert(
    fc.property(fc.array(shellWord(), { minLength: 150, maxLength: 150 }), (words) => {
      const literal = words.filter((word) => !/[|()]/.test(word) && isLiteralLine(`show ${word}`));
      const output = execFileSync(path, ["-c", script, "bash", ...literal], { cwd: "/", encoding: "utf8" });
      const shown = output
        .split("\u0001\0")
        .slice(0, -1)
        .map((one) => one.split("\0").slice(0, -1));
      const read = literal.map((word) => {
        const line = parseLine(`show ${word}`);
        return line.kind === "line" ? line.commands[0]?.words.slice(1).map(({ value }) => value) : undefined;
      });
      expect(shown).toEqual(read);
      seen += literal.length;
    }),
    { numRuns: 15, endOnFailure: true },
  );
  expect(seen).toBeGreaterThan(200);
});
