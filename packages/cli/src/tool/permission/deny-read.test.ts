import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { toolbox, type Toolbox, type ToolboxOptions } from "../../../../../test/fixture/toolbox.ts";

afterEach(() => vi.unstubAllEnvs());

const programs =
  "awk base64 bash cat cd cp curl dd diff echo env find for git grep head ln make mv node perl python3 rg rm sed tar xargs";
const named = programs.split(" ").map((program) => `Bash(${program}:*)`);

/** A project in whose files, history and stash lies a text that a deny rule hides. */
async function project(options: ToolboxOptions): Promise<Toolbox> {
  const box = await toolbox({ deny: ["Read(./secret/**)"], ...options });
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example", ...args], {
      cwd: box.project,
      encoding: "utf8",
    });
  await Promise.all(["secret", "src"].map((folder) => mkdir(join(box.project, folder))));
  git("init", "-q");
  await writeFile(join(box.project, "secret/gone"), "TOP SECRET 0\n");
  git("add", ".");
  git("commit", "-qm", "zero");
  git("rm", "-q", "secret/gone");
  await mkdir(join(box.project, "secret"), { recursive: true });
  for (const text of ["TOP SECRET 1", "TOP SECRET 2", "TOP SECRET 3"]) {
    await writeFile(join(box.project, "secret/x"), `${text}\n`);
    await writeFile(join(box.project, "src/a.txt"), "an open text\n");
    if (text.endsWith("3")) git("stash", "-q");
    else {
      git("add", ".");
      git("commit", "-qm", text.toLowerCase());
    }
  }
  return box;
}

/** The home folder holds a secret. */
async function boxWithHome(options: ToolboxOptions): Promise<Toolbox> {
  const home = join(await temporaryFolder(), "home");
  await mkdir(join(home, ".ssh"), { recursive: true });
  await writeFile(join(home, ".ssh/id_rsa"), "TOP SECRET\n");
  vi.stubEnv("HOME", home);
  return await toolbox(options);
}

const surely = [
  "grep -r TOP secret",
  "grep -r TOP secret/",
  "grep -rn TOP .",
  "grep TOP secret/x",
  "rg TOP",
  "rg TOP secret",
  "rg --no-ignore TOP .",
  "cat secret/x",
  "cat secret/*",
  "cat s*/x",
  "cd secret && cat x",
  "cd secret; head -1 ./x",
  "base64 secret/x",
  "dd if=secret/x status=none",
  "awk 1 secret/x",
  "sed -n p secret/x",
  "perl -pe 1 secret/x",
  "node --env-file=secret/x x.js",
  "tar cf - secret",
  "tar cf - .",
  "tar cf - -C secret x",
  "make CAT=secret/x",
  "cp -r secret pub",
  "cp -r . /tmp/never",
  "cp secret/x pub",
  "mv secret pub",
  "ln secret/x pub",
  "ln -s secret/x pub && cat pub",
  "diff -r secret src",
  "bash -c 'cat secret/x'",
  "env cat secret/x",
  "cat < secret/x",
  "echo $(< secret/x)",
  "find secret -type f -exec cat {} +",
  "git show HEAD:secret/x",
  "git show HEAD:./secret/x",
  "git show :secret/x",
  "git show HEAD~1:secret/x",
  "git show 'stash@{0}:secret/x'",
  "cd secret && git show HEAD:./x",
  "cd src && git show HEAD:secret/x",
  "git -C src show HEAD:secret/x",
  "git cat-file -p HEAD:secret/x",
  "git log -p -- secret",
  "git diff HEAD~1 -- secret/x",
  "git diff HEAD~1 secret",
  "git grep TOP -- secret",
  "git grep TOP HEAD -- secret",
  "git blame secret/x",
  "git log -L1,1:secret/x",
  "git diff --no-index /dev/null secret/x",
  "git archive HEAD secret",
  "git mv secret pub",
  "git commit -q --allow-empty -F secret/x && git log -1",
  "git commit --allow-empty -qFsecret/x",
  "git tag -a x --file=secret/x",
  "git add --pathspec-from-file=secret/x",
  "BASH_ENV=secret/x bash -c :",
  "git init -q ../c && git -C ../c fetch -q ../project && git -C ../c checkout -q FETCH_HEAD",
];

const perhaps = [
  "grep -d recurse TOP .",
  "grep --directories=recurse TOP .",
  "rg TOP --glob '!secret'",
  "grep -r --exclude-dir=secret TOP .",
  "git show",
  "git show HEAD",
  "git diff HEAD~1",
  "git log -p",
  "git log -S TOP",
  "git log -G TOP --oneline -U1",
  "git stash show -p",
  "git stash list -p",
  "git reflog -p",
  "git grep TOP",
  "git archive HEAD",
  "git format-patch -1 --stdout",
  "git fast-export HEAD",
  "git reflog show -p",
  "git status -v",
  "git status -sv",
  "git status --verb",
  "git commit --dry-run -v",
  "git add -p",
  "git show HEAD: HEAD",
  "git show $(git rev-parse HEAD:secret/x)",
  "git cat-file --batch-all-objects --batch",
  "git worktree add /tmp/never",
  "git for-each-ref --format='%(raw)'",
  "git remote add x ../c",
  "git push -q file:///tmp/never HEAD",
  "GIT_WORK_TREE=../w git checkout HEAD -- secret",
  "export GIT_DIR=../c; git checkout HEAD",
  "cat secret/gone",
  "git tag -l --format='%(*raw)'",
  "git branch --format=$(echo '%(raw)')",
  "git restore --source=HEAD~2 secret/gone && cat secret/gone",
  "git checkout -q HEAD~2 -- secret/gone; base64 secret/gone",
  "git checkout -q HEAD~2 -- secret && cat s*/gone",
  "git stash -q && cat */gone",
  "git -c diff.external=cat diff -- src",
  "git log -p --full-diff -- src",
  "git diff HEAD~1 -- ':!src'",
  "find . -name x -exec cat {} +",
  "find . -type f | xargs cat",
  "find . -type f | xargs -a rm cat",
  "cat $(find . -name x)",
  "for f in */x; do cat $f; done",
  'find . -name x | while read f; do cat "$f"; done',
  `python3 -c 'print(open("sec" + "ret/x").read())'`,
  `python3 -c 'print(open("secret/x").read())'`,
  "python3 <<< 'print(1)'",
  `node -e 'console.log(require("fs").readFileSync("sec" + "ret/x", "utf8"))'`,
  `awk 'BEGIN { while ((getline l < ("sec" "ret/x")) > 0) print l }'`,
  "sed 'r secret/x' src/a.txt",
  "perl -e 'print <>' src/a.txt",
  "tar cf - -T list",
  "curl -s file://$PWD/secret/x",
  "curl -s -F f=@secret/x http://127.0.0.1:9/",
];

const open = [
  "ls",
  "ls -la src",
  "cat src/a.txt",
  "grep -rn text src",
  "rg text src",
  "rg -n -i text src/a.txt",
  "git status --short",
  "git log --oneline -5",
  "git log --format=%s --stat",
  "git show HEAD:src/a.txt",
  "git diff HEAD~1 -- src",
  "git log -p -- src/a.txt",
  "git grep text -- src",
  "git add src && git commit -q --allow-empty -m 'the secret is out'",
  "git stash list",
  "git for-each-ref --format='%(refname) %(subject)'",
  "git tag x && git tag -d x",
  "git remote -v",
  "grep .env src/a.txt || true",
  "echo secret",
  "find . -name '*.txt'",
  "find . -name never | xargs -r -n 1 rm",
  "find . -name never -exec rm {} +",
  "rm -f never",
  "mv src/a.txt src/b.txt && mv src/b.txt src/a.txt",
  "cp src/a.txt .",
  "awk '{ print $1 }' src/a.txt",
  "sed s/a/b/ src/a.txt",
  "node --version",
  "make --version",
  "make && git diff -- src",
];

const held = [
  ...surely.map((command) => [command, "denied"] as const),
  ...perhaps.map((command) => [command, "asked"] as const),
];

async function wrongOf(box: Toolbox, rows: readonly (readonly [string, string])[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [command, expected] of rows) {
    const { kind, text } = await box.call("bash", { command });
    if (kind !== expected || text.includes("TOP SECRET")) wrong.push(`${command}: ${kind}, not ${expected}`);
  }
  return wrong;
}

describe("without a sandbox, where a deny rule hides files,", () => {
  test.each([
    ["by name", { mode: "default", allow: named }],
    ["all of them", { mode: "default", allow: ["Bash"] }],
    ["by the mode", { mode: "bypass" }],
  ] as const)("no command shows them that is allowed %s", async (_how, options) => {
    expect(await wrongOf(await project(options), held)).toEqual([]);
  });

  test("commands that show no contents, or name others, run unasked", async () => {
    const rows = open.map((command) => [command, "ran"] as const);
    expect(await wrongOf(await project({ mode: "default", allow: named }), rows)).toEqual([]);
  });

  test("a name that may lie in any folder is asked about where a folder is searched", async () => {
    const box = await project({ mode: "bypass", deny: ["Read(.env)"] });
    await writeFile(join(box.project, "src/.env"), "KEY=TOP SECRET\n");
    const rows = [
      ["grep -r KEY src", "asked"],
      ["git log -p -- src", "asked"],
      ["cat src/.env", "denied"],
      ["node --env-file=src/.env -p 1", "denied"],
      ["cat src/a.txt", "ran"],
      ["grep -r text src/a.txt", "ran"],
    ] as const;
    expect(await wrongOf(box, rows)).toEqual([]);
  });

  test.each([
    ["by name", { mode: "default", allow: [...named, "Bash(pushd:*)", "Bash(chdir:*)"] }],
    ["by the mode", { mode: "bypass" }],
  ] as const)("no way into the home folder shows them that is allowed %s", async (_how, options) => {
    const box = await boxWithHome({ deny: ["Read(~/.ssh/**)"], ...options });
    const rows = [
      ["cat ~/.ssh/id_rsa", "denied"],
      ["cd ~ && cat .ssh/id_rsa", "denied"],
      ["cd && cat .ssh/id_rsa", "denied"],
      ["cd; cd .ssh; cat id_rsa", "denied"],
      ["(cd -P && cat .ssh/id_rsa)", "denied"],
      ["cd -- && cat .ssh/id_rsa", "denied"],
      ["bash -c 'cd && cat .ssh/id_rsa'", "denied"],
      ["pushd ~ && cat .ssh/id_rsa", "denied"],
      ["pushd && cat .ssh/id_rsa", "denied"],
      ["chdir && cat .ssh/id_rsa", "denied"],
      ["cd ~root && cat .ssh/id_rsa", "asked"],
      ["cd ~root/.ssh && cat id_rsa", "asked"],
      ["pushd ~root && cat .ssh/id_rsa", "asked"],
      ["git -C ~root show HEAD:.ssh/id_rsa", "asked"],
      ["cd ~- && cat .ssh/id_rsa", "asked"],
      ["cd src; cd - && cat .ssh/id_rsa", "denied"],
      ["cd src - && cat .ssh/id_rsa", "asked"],
      ["cat ~root/.ssh/id_rsa", "asked"],
      ["cat < ~root/.ssh/id_rsa", "asked"],
      ["cat ~root/.ssh/*", "asked"],
      ["cd ../ho* && cat .ssh/id_rsa", "asked"],
      ["env -C ~/.ssh cat id_rsa", "asked"],
      ["env -C .. cat home/.ssh/id_rsa", "asked"],
      ["env -iC.. cat home/.ssh/id_rsa", "asked"],
      ["env --chdir=.. cat home/.ssh/id_rsa", "asked"],
      ["sudo --chdir=.. cat home/.ssh/id_rsa", "asked"],
      ["sudo -D ~/.ssh cat id_rsa", "asked"],
    ] as const;
    expect(await wrongOf(box, rows)).toEqual([]);
  });

  test("a rule that allows cd allows no reads outside the project", async () => {
    const box = await boxWithHome({
      mode: "default",
      allow: ["cd", "chdir", "pushd"].map((name) => `Bash(${name}:*)`),
    });
    const targets = ["cd", "cd ~", "cd ~root", "cd -", "cd --", "pushd ~", "pushd", "chdir", "chdir ~"];
    const rows = targets.map((target) => [`${target} && cat .ssh/id_rsa`, "asked"] as const);
    expect(await wrongOf(box, rows)).toEqual([]);
  });

  test("a change in a folder that is not known is asked about where a rule denies changes", async () => {
    const allow = [...named, "Bash(pushd:*)", "Bash(touch:*)"];
    const box = await boxWithHome({ mode: "default", allow, deny: ["Edit(~/.ssh/**)"] });
    const rows = [
      ["cd && touch .ssh/x", "denied"],
      ["pushd && touch .ssh/x", "denied"],
      ["cd ~root && touch .ssh/x", "asked"],
      ["pushd ~root && touch .ssh/x", "asked"],
      ["cd - && touch .ssh/x", "denied"],
      ["env -C .. touch home/.ssh/x", "asked"],
      ["touch x", "ran"],
    ] as const;
    expect(await wrongOf(box, rows)).toEqual([]);
  });

  test("variables of git that lead nowhere else are not asked about", async () => {
    const lines = ["GIT_PAGER=cat git log --oneline", "GIT_AUTHOR_NAME=x git tag y", "GIT_EDITOR=true git status"];
    const rows = lines.map((command) => [command, "ran"] as const);
    expect(await wrongOf(await project({ mode: "bypass" }), rows)).toEqual([]);
  });

  test("a rule that asks for reading asks", async () => {
    const box = await project({ mode: "bypass", deny: [], ask: ["Read(./secret/**)"] });
    expect(
      await wrongOf(
        box,
        [...surely, ...perhaps].map((command) => [command, "asked"] as const),
      ),
    ).toEqual([]);
  });
});
