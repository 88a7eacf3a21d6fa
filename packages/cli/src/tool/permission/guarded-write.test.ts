import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolbox, type ToolboxOptions } from "../../../../../test/fixture/toolbox.ts";

const attempts = [
  "cp new.json $(echo pal/settings.json)",
  'X=pal; cp new.json "$X/settings.json"',
  "for d in p*l; do cp new.json $d/settings.json; done",
  "cat new.json > $(echo pal/settings.json)",
  "cat new.json | tee $(echo pal/settings.json)",
  "echo pal/settings.json | xargs cp new.json",
  "find . -name settings.json -exec cp new.json {} +",
  "bash -c 'cp new.json $0' pal/settings.json",
  "curl -so pal/settings.json file://$PWD/new.json",
  "perl -pi -e 's/{/[/' pal/settings.json",
  `python3 -c 'open("pal/settings.json", "w").write("[]")'`,
  "tar xf new.tar",
  "git checkout other",
  "git diff --output=$(echo pal/settings.json)",
];

const making = ["git init -q pal", "git -C pal init -q", "cd pal && git init", "git init --separate-git-dir=pal/x ."];

const ordinary = [
  "npm test",
  "npm run build 2>&1 | tail -5",
  "node --test",
  "node --test src",
  "git add . && git commit -m 'a word'",
  'git commit -m "$(date)" --allow-empty',
  "git init",
  "git diff HEAD",
  "make",
  "make -C src all",
  "cargo build",
  "cp new.json other.json",
  "mkdir -p build && cp new.json build/",
  "sed -i s/a/b/ new.json",
  "cat pal/settings.json",
];

async function project(options: ToolboxOptions) {
  const box = await toolbox({ mode: "default", guarded: ["pal"], ...options });
  await mkdir(join(box.project, "pal"));
  await writeFile(join(box.project, "pal/settings.json"), "{}");
  await writeFile(join(box.project, "new.json"), "[]");
  const verdicts = async (commands: readonly string[]): Promise<readonly (readonly string[])[]> => {
    const found: string[][] = [];
    for (const command of commands) found.push([command, (await box.verdict("bash", { command })).kind]);
    return found;
  };
  return { ...box, verdicts };
}

const programs = "bash cargo cat cp curl find for git make mkdir node npm perl python3 sed tail tar tee xargs".split(
  " ",
);

test.each([
  ["all commands", ["Bash"]],
  ["these programs", programs.map((program) => `Bash(${program}:*)`)],
])("without a sandbox, with %s allowed, a write that may hit the rules is asked about", async (_what, allow) => {
  const box = await project({ allow });
  const all = [...attempts, ...making];
  expect(await box.verdicts(all)).toEqual(all.map((command) => [command, "ask"]));
  expect(await box.verdicts(ordinary)).toEqual(ordinary.map((command) => [command, "allowed"]));
  for (const command of attempts) await box.call("bash", { command });
  expect(await readFile(join(box.project, "pal/settings.json"), "utf8")).toBe("{}");
});

test("where the sandbox keeps the rules from being written, only a write that names them is asked about", async () => {
  const box = await project({ allow: ["Bash"], policySandbox: "on" });
  expect(await box.verdicts(attempts)).toEqual(attempts.map((command) => [command, "allowed"]));
  const naming = ["cp new.json pal/settings.json", "rm -r pal", ...making];
  expect(await box.verdicts(naming)).toEqual(naming.map((command) => [command, "ask"]));
});
