import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { startBy, startedCommand } from "../../../../../test/support/attacks/started-commands.ts";
import { parseRules } from "./rule.ts";
import { findLineRule } from "./allows-line.ts";

const { deny } = parseRules({ deny: ["Bash(rm:*)", "Bash(git push:*)"] }).rules;

test.each(["rm f", "/bin/rm -f f", "git push origin main"])(
  "whatever starts it, %s is denied or asked about",
  (command) => {
    fc.assert(
      fc.property(startedCommand(command), (line) => {
        expect(findLineRule(deny, line), line).toBeDefined();
      }),
      { numRuns: 1_500 },
    );
  },
);

test("a command that no rule is about is not asked about because of what starts it", () => {
  const plain = [
    "env %W",
    "nice -n 1 %W",
    "timeout -k 1 3 %W",
    "sh -c %S",
    "xargs %W < /dev/null",
    "sudo -n -u root %W",
    "flock x -c %S",
  ];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...plain), { maxLength: 3 }),
      fc.constantFrom("make rm", "git commit -m 'rm it'", "npm test"),
      (chain, command) => {
        const line = chain.reduce((inner, starter) => startBy(starter, inner), command);
        const isFed = /xargs .*(?:env|nice|timeout|sh|sudo|flock|xargs) /.test(line);
        if (!isFed) expect(findLineRule(deny, line), line).toBeUndefined();
      },
    ),
  );
});

test.each([
  "cp $(which rm) remove && ./remove f",
  "cp /usr/bin/r? z; ./z f",
  "ln -s /usr/bin/[r]m z; ./z f",
  "d=/bin; cp $d/rm z; ./z f",
  "cd /bin && cp rm /tmp/z; /tmp/z f",
  'cat "$(command -v rm)" > z; chmod +x z; ./z f',
  "ed <<< '!rm f'",
  "echo '!rm f' | ed",
  "echo ':!rm f' | vim",
  "echo '.shell rm f' | sqlite3",
  "printf 'rm f' > s; bash s",
])("a program under another name, or in what another is fed with, is asked about: %s", (line) => {
  expect(findLineRule(deny, line)).toBeDefined();
});

test.each([
  "cp src/a.ts src/b.ts && npm test",
  "cp *.txt out/",
  "cat $file",
  "echo 'removed' | tee log; npm test",
  "mv build/* dist/ && ls",
  "vim --version",
])("a copy of other files is not: %s", (line) => {
  expect(findLineRule(deny, line)).toBeUndefined();
});

test("the generator's lines remove the file when they are run", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "f");
  const programs = [
    "env %W",
    "env -S %S",
    "nice -n 1 %W",
    "timeout 3 %W",
    "sh -c %S",
    "find . -maxdepth 0 -exec %W ';'",
  ];
  const others = ["eval %S", "trap %S EXIT", "command %W", "xargs %W < /dev/null", "echo $(%W)", "echo %S | sh"];
  for (const [index, inner] of programs.entries()) {
    await writeFile(path, "");
    const line = startBy(others[index] ?? "", startBy(inner, `rm ${path}`));
    execFileSync("bash", ["-c", line], { cwd: folder, stdio: "ignore" });
    expect(existsSync(path), line).toBe(false);
  }
});
