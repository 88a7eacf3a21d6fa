import { execFileSync } from "node:child_process";
import { access, link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { type Toolbox, toolbox } from "../fixture/toolbox.ts";
import { called } from "./support/called.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function attacked(options: Parameters<typeof toolbox>[0] = { mode: "acceptEdits" }): Promise<Toolbox> {
  const box = await toolbox(options);
  await writeFile(join(box.outside, "secret"), "the secret\n");
  await mkdir(join(box.project, "src"));
  await writeFile(join(box.project, "src/a.ts"), "a\n");
  await symlink(box.outside, join(box.project, "folder-link"));
  await symlink(join(box.outside, "secret"), join(box.project, "file-link"));
  await symlink(join(box.outside, "new"), join(box.project, "dangling-link"));
  return box;
}

const untouched = async (box: Toolbox): Promise<void> => {
  expect(await readdir(box.outside)).toEqual(["secret"]);
  expect(await readFile(join(box.outside, "secret"), "utf8")).toBe("the secret\n");
};

describe("files outside the project", () => {
  test.each([
    ["..", "../outside/new"],
    [".. below", "src/../../outside/new"],
    [".. through a link", "folder-link/../outside/new"],
    ["a linked folder", "folder-link/new"],
    ["new folders in a linked folder", "folder-link/a/b/new"],
    ["a linked file", "file-link"],
    ["a link to what is not there yet", "dangling-link"],
  ])("are not written without the user's word: %s", async (_name, file_path) => {
    const box = await attacked();
    expect(await box.call("write", { file_path, content: "evil" })).toMatchObject({ kind: "asked" });
    await untouched(box);
  });

  test("nor by an absolute path", async () => {
    const box = await attacked();
    const file_path = join(box.outside, "new");
    expect(await box.call("write", { file_path, content: "evil" })).toMatchObject({ kind: "asked" });
    expect(await box.call("write", { file_path: "/dev/tcp", content: "evil" })).toMatchObject({ kind: "wrong" });
    await untouched(box);
  });

  test.each(["../outside/secret", "file-link", "folder-link/secret", "folder-link/../outside/secret"])(
    "are not read: %s",
    async (path) => {
      const box = await attacked();
      expect(await box.call("read", { path })).toMatchObject({ kind: "asked" });
      expect(await box.call("grep", { path, pattern: "." })).toMatchObject({ kind: "asked" });
      expect(await box.call("bash", { command: `cat ${path}` })).toMatchObject({ kind: "asked" });
      expect(await box.call("edit", { file_path: path, old_string: "the", new_string: "x" })).toMatchObject({
        kind: "asked",
      });
      await untouched(box);
    },
  );
});

describe("what is swapped between permission and run", () => {
  const toLink = (box: Toolbox, name: string, target: string) => async (): Promise<void> => {
    await rm(join(box.project, name), { recursive: true });
    await symlink(target, join(box.project, name));
  };

  test("a file for a link: the link is not followed in reading", async () => {
    const box = await attacked();
    const meanwhile = toLink(box, "src/a.ts", join(box.outside, "secret"));
    const read = await box.call("read", { path: "src/a.ts" }, { meanwhile });
    expect(read).toMatchObject({ kind: "ran", isError: true });
    expect(read.text).not.toContain("the secret");
  });

  test("a folder for a link: nothing is read through it", async () => {
    const box = await attacked();
    await writeFile(join(box.outside, "a.ts"), "the secret\n");
    const meanwhile = toLink(box, "src", box.outside);
    expect((await box.call("read", { path: "src/a.ts" }, { meanwhile })).text).not.toContain("the secret");
  });

  test.each<[string, JsonObject]>([
    ["grep", { pattern: "secret", path: "src", output: "content" }],
    ["glob", { pattern: "*", path: "src" }],
  ])("a folder for a link: %s does not look into it", async (tool, input) => {
    const box = await attacked();
    const found = await box.call(tool, input, { meanwhile: toLink(box, "src", box.outside) });
    expect(found.text).not.toContain("secret\n");
    expect(found).toMatchObject({ isError: true });
  });

  test("a folder for a link: nothing is written through it", async () => {
    const box = await attacked();
    const meanwhile = toLink(box, "src", box.outside);
    const input = { file_path: "src/new.ts", content: "evil" };
    expect(await box.call("write", input, { meanwhile })).toMatchObject({ kind: "ran", isError: true });
    await untouched(box);
  });

  test("a folder further up for a link: nothing is written through it", async () => {
    const box = await attacked();
    await mkdir(join(box.project, "src/deep"));
    await mkdir(join(box.outside, "deep"));
    const meanwhile = toLink(box, "src", box.outside);
    const input = { file_path: "src/deep/new.ts", content: "evil" };
    expect(await box.call("write", input, { meanwhile })).toMatchObject({ kind: "ran", isError: true });
    expect(await readdir(join(box.outside, "deep"))).toEqual([]);
  });

  test("a folder that was not there for a link: nothing is written through it, no folder made", async () => {
    const box = await attacked();
    const meanwhile = (): Promise<void> => symlink(box.outside, join(box.project, "fresh"));
    const input = { file_path: "fresh/a/b/new.ts", content: "evil" };
    expect(await box.call("write", input, { meanwhile })).toMatchObject({ kind: "ran", isError: true });
    await untouched(box);
  });

  test("a file for a link: what it leads to stays as it is", async () => {
    const box = await attacked();
    await box.call("read", { path: "src/a.ts" });
    const meanwhile = toLink(box, "src/a.ts", join(box.outside, "secret"));
    expect(await box.call("write", { file_path: "src/a.ts", content: "evil" }, { meanwhile })).toMatchObject({
      isError: true,
    });
    await untouched(box);
  });

  test("a file for a pipe: reading does not hang", async () => {
    const box = await attacked();
    const path = join(box.project, "src/a.ts");
    const meanwhile = async (): Promise<void> => {
      await rm(path);
      execFileSync("/bin/sh", ["-c", "mkfifo src/a.ts"], { cwd: box.project });
    };
    expect(await box.call("read", { path }, { meanwhile })).toMatchObject({ isError: true });
  });

  test("a hard link: replacing the file leaves the other name as it was", async () => {
    const box = await attacked();
    await link(join(box.outside, "secret"), join(box.project, "hard"));
    await box.call("read", { path: "hard" });
    expect(await box.call("write", { file_path: "hard", content: "evil" })).toMatchObject({ isError: false });
    await untouched(box);
  });

  test("the parent folder renamed away: the write is refused, not lost elsewhere", async () => {
    const box = await attacked();
    const meanwhile = async (): Promise<void> => {
      await rename(join(box.project, "src"), join(box.outside, "moved"));
      await symlink(join(box.outside, "moved"), join(box.project, "src"));
    };
    expect(await box.call("write", { file_path: "src/b.ts", content: "evil" }, { meanwhile })).toMatchObject({
      isError: true,
    });
    expect(await readdir(join(box.outside, "moved"))).toEqual(["a.ts"]);
  });
});

describe("commands", () => {
  const mark = "touch evil";
  test.each([
    ["a list", `ls; ${mark}`],
    ["a condition", `git status && ${mark}`],
    ["a substitution", `echo $(${mark})`],
    ["backticks", `echo \`${mark}\``],
    ["a second line", `ls\n${mark}`],
    ["escapes", "$'\\x74ouch' evil"],
    ["a continued line", "tou\\\nch evil"],
    ["a here-document", `cat <<EOF\n$(${mark})\nEOF`],
    ["a here-document for a shell", `sh <<'EOF'\n${mark}\nEOF`],
    ["find", `find . -maxdepth 0 -exec ${mark} \\;`],
    ["git's pager", `git -c core.pager='${mark}' -p log`],
    ["git's alias", `git -c alias.x='!${mark}' x`],
    ["git's watcher", `git -c core.fsmonitor='${mark}' status`],
    ["sed", "echo a | sed -n 'w evil'"],
    ["sed that executes", `echo a | sed '1e ${mark}'`],
    ["env", `env ${mark}`],
    ["a look-alike of ls", `ⅼs; ${mark}`],
    ["a redirection", "echo > evil"],
    ["a redirection in a substitution", "echo $(echo > evil)"],
    ["sort", "echo | sort -o evil"],
    ["a variable", "X='touch evil'; $X"],
    ["a prompt", "X='$(touch evil)'; echo ${X@P}"],
    ["arithmetic", "X='a[$(touch evil)]'; echo $((X))"],
    ["a trap", `trap '${mark}' EXIT`],
    ["a function", `ls() { ${mark}; }; ls`],
    ["xargs", "echo evil | xargs touch"],
    ["a process substitution", `cat <(${mark})`],
  ])("are not run without the user's word: %s", async (_name, command) => {
    const rules = { allow: ["Bash(git status:*)", "Bash(echo:*)"] };
    const [box, planning] = [await attacked({ mode: "acceptEdits", ...rules }), await attacked({ mode: "plan" })];
    expect(await box.call("bash", { command })).toMatchObject({ kind: "asked" });
    expect(await planning.call("bash", { command })).toMatchObject({ kind: "denied" });
    expect(await exists(join(box.project, "evil"))).toBe(false);
    expect(await exists(join(planning.project, "evil"))).toBe(false);
  });

  test("cannot be brought in by writing what harmless commands run", async () => {
    const box = await attacked();
    for (const file_path of [".git/config", ".git/hooks/post-checkout", "src/.git/config", ".claude/settings.json"]) {
      expect(await box.call("write", { file_path, content: "evil" }), file_path).toMatchObject({ kind: "asked" });
    }
  });
});

describe("files that a harmless command would show", () => {
  const prepared = async (options: Parameters<typeof toolbox>[0]): Promise<Toolbox> => {
    const box = await attacked(options);
    const at = (name: string): string => join(box.project, name);
    await writeFile(at("list"), `${join(box.outside, "secret")}\n`);
    await writeFile(at("s"), "x\n");
    await mkdir(at("links"));
    await symlink(join(box.outside, "secret"), at("links/s"));
    await mkdir(at("plain"));
    await writeFile(at("plain/s"), "x\n");
    await writeFile(at("plain/.env"), "x\n");
    await symlink(join(box.outside, "secret"), at("-link"));
    await writeFile(at(".env"), "the secret\n");
    execFileSync("git", ["init", "-q"], { cwd: box.project });
    execFileSync("git", ["add", "-f", ".env"], { cwd: box.project });
    return box;
  };

  test.each([
    "strings @list",
    "diff links plain",
    "diff links s",
    "diff s links",
    "wc --files0-from=list",
    "du --files0-from=list",
    "sort --files0-from=list",
    "file -f list",
    "md5sum -c list",
    "cat -- -link",
    "cat links/*",
    "cat */s",
    "grep -f file-link s",
    "grep -f folder-link/* s",
    "cat < file-link",
  ])("outside the project is not shown: %s", async (command) => {
    const box = await prepared({ mode: "default" });
    expect(await box.call("bash", { command })).toMatchObject({ kind: "asked" });
  });

  test.each([
    "diff . plain",
    "grep -d recurse secret .",
    "grep --directories=recurse secret .",
    "grep -r secret .",
    "git status -v",
    "git status -sv",
    "cat .e*",
  ])("against a deny rule is not shown: %s", async (command) => {
    const box = await prepared({ mode: "default", deny: ["Read(.env)"] });
    expect((await box.call("bash", { command })).kind).toMatch(/asked|denied/);
    const allowing = await prepared({ mode: "default", deny: ["Read(.env)"], allow: ["Bash(git commit:*)"] });
    expect((await allowing.call("bash", { command: `git commit -m x; ${command}` })).kind).toMatch(/asked|denied/);
  });

  const allow = ["Bash(git status:*)", "Bash(git commit:*)", "Bash(npm --version)"];
  const openers = ["git status", "git commit -m x", "npm --version", "if true; then npm --version; fi"];

  test.each(openers)("is not shown behind a command that a rule allows: %s", async (opener) => {
    const env = { ...process.env, GITHUB_TOKEN: "the secret" };
    const box = await prepared({ mode: "acceptEdits", allow, env });
    for (const second of [
      "cat ../outside/secret",
      "cat file-link",
      "cat < file-link",
      "cd ../outside && cat secret",
      "cat /proc/*/environ | tr '\\0' '\\n' | grep KEY",
      "cat /pro[c]/self/environ",
      "echo $GITHUB_TOKEN",
      'printf %s "${GITHUB_TOKEN}"',
      "cat <<< $GITHUB_TOKEN",
      "for t in $GITHUB_TOKEN; do echo $t; done",
      "for HOME in ../outside; do cat ~/secret; done",
    ]) {
      expect(await box.call("bash", { command: `${opener}; ${second}` }), second).toMatchObject({ kind: "asked" });
      expect(await box.call("bash", { command: `${second}; ${opener}` }), second).toMatchObject({ kind: "asked" });
    }
    expect(await box.call("bash", { command: `${opener}; cat s; echo $HOME` })).toMatchObject({ kind: "ran" });
  });

  test.each([...openers, "touch a > b", "X=1"])("that a deny rule names is not shown behind: %s", async (opener) => {
    for (const mode of ["default", "bypass"] as const) {
      const box = await prepared({ mode, allow, deny: ["Read(.env)"] });
      expect(await box.call("bash", { command: `${opener}; cat .env` })).toMatchObject({ kind: "denied" });
    }
  });

  test("of a process is not shown even by a command that a rule allows", async () => {
    for (const rule of ["Bash(cat:*)", "Bash"]) {
      const box = await prepared({ mode: "default", allow: [rule] });
      for (const command of ["cat /proc/self/environ", "cat /proc/*/environ", "cd /proc/self; cat environ"])
        expect(await box.call("bash", { command }), command).toMatchObject({ kind: "asked" });
      expect(await box.call("bash", { command: "cat file-link" })).toMatchObject({ kind: "ran", text: "the secret" });
    }
  });
});

describe("a deny rule on commands", () => {
  test.each(["$(echo rm) -f s", "x=rm; $x -f s", 'bash -c "$(echo rm) -f s"', "echo rm -f s | sh", "r[m] -f s"])(
    "is not passed by a name that only the shell knows: %s",
    async (command) => {
      const box = await attacked({ mode: "bypass", deny: ["Bash(rm:*)"] });
      await writeFile(join(box.project, "s"), "");
      expect(await box.call("bash", { command })).toMatchObject({ kind: "asked" });
      expect(await exists(join(box.project, "s"))).toBe(true);
      const planning = await attacked({ mode: "plan", deny: ["Bash(rm:*)"] });
      expect(await planning.call("bash", { command })).toMatchObject({ kind: "denied" });
    },
  );
});

describe("a deny rule on files", () => {
  const banned = async (mode: "default" | "bypass", allow: readonly string[] = []): Promise<Toolbox> => {
    const box = await attacked({ mode, allow, deny: ["Edit(sub/**)"] });
    await mkdir(join(box.project, "sub/deep"), { recursive: true });
    await writeFile(join(box.project, "sub/d.txt"), "as it was\n");
    await writeFile(join(box.project, "a.txt"), "a\n");
    await symlink("sub", join(box.project, "way"));
    execFileSync("git", ["init", "-q"], { cwd: box.project });
    return box;
  };
  const asItWas = async ({ project }: Toolbox): Promise<void> => {
    expect(await readdir(join(project, "sub"))).toEqual(["d.txt", "deep"]);
    expect(await readdir(join(project, "sub/deep"))).toEqual([]);
    expect(await readFile(join(project, "sub/d.txt"), "utf8")).toBe("as it was\n");
  };

  test.each([
    "echo x > sub/d.txt",
    "echo x >> sub/d.txt",
    "echo x >| sub/new",
    "echo x &> sub/d.txt",
    "echo x >& sub/d.txt",
    "{ echo x; } > sub/d.txt",
    "echo $(echo x > sub/d.txt)",
    "echo x > way/d.txt",
    "echo x > $PWD/sub/d.txt",
    'echo x > "${PWD}/sub/d.txt"',
    "echo x > ./a/../sub/d.txt",
    "cd sub && echo x > d.txt",
    "cp a.txt sub/d.txt",
    "cp a.txt sub",
    "cp a.txt sub/deep/",
    "cp -t sub a.txt",
    "cp --target-directory=sub a.txt",
    "cp a.* sub",
    "/bin/cp a.txt sub/d.txt",
    "mv a.txt sub",
    "mv sub other",
    "mv sub/d.txt other",
    "rm sub/d.txt",
    "rm sub/*",
    "rm -rf sub",
    "rm -rf .",
    "echo x | tee a.txt sub/d.txt",
    "sed -i s/as/b/ sub/d.txt",
    "sed -n -i.bak s/as/b/ sub/d.txt",
    "touch sub/new",
    "mkdir -p sub/new/deep",
    "ln -s ../a.txt sub/new",
    "ln sub/d.txt other",
    "install a.txt sub/new",
    "dd if=a.txt of=sub/d.txt",
    "truncate -s 0 sub/d.txt",
    "sort -o sub/d.txt a.txt",
    "git checkout -- sub",
    "git restore sub/d.txt",
    "git -C sub rm -f d.txt",
    "git clean -fd",
    "env A=1 cp a.txt sub/d.txt",
    "bash -c 'echo x > sub/d.txt'",
    "bash -c 'cd sub; rm d.txt'",
    "eval 'rm sub/d.txt'",
    "for PWD in sub; do echo x > $PWD/d.txt; done",
    "export HOME=$PWD/sub; touch ~/new",
    "export HOME=sub; cd; touch new",
    "read PWD <<< sub; echo x > ${PWD}/d.txt",
    "printf -v HOME sub; echo x > $HOME/d.txt",
    "declare PWD=sub; touch $PWD/new",
    'readonly "HO"ME=sub; touch $HOME/new',
    "cp -s $PWD/sub/d.txt l2; echo x > l2",
    "cp --symbolic $PWD/sub/d.txt l2; echo x > l2",
    "cp -rs $PWD/sub l2; echo x > l2/d.txt",
    "cp --parents sub/d.txt .",
    "cp --par -t . sub/d.txt",
    "sed -i.txt s/a/b/ sub/d",
    "git config -f sub/d.txt a.b c",
    "git config --file=sub/d.txt a.b c",
  ])("holds for what is known to be changed, in every mode: %s", async (command) => {
    for (const box of [await banned("bypass"), await banned("default", ["Bash"])]) {
      expect(await box.call("bash", { command })).toMatchObject({ kind: "denied" });
      await asItWas(box);
    }
  });

  test.each([
    "cp a.txt $X",
    "for f in sub/d.txt; do rm $f; done",
    "find . -name d.txt -delete",
    "find . -name d.txt -exec rm {} +",
    "find . -name d.txt | xargs rm",
    "sed -n 'w sub/d.txt' a.txt",
    "echo 'rm sub/d.txt' | sh",
    "ln -s sub l; echo x > l/d.txt",
    "PWD=x; echo x > $PWD/d.txt",
    "git checkout main",
    "git reset --hard",
    "tar xf a.tar",
    "python3 x.py",
    "x=HO; export ${x}ME=s; touch ~/d.txt",
    "export $'\\x48OME=s'; touch ~/d.txt",
    "echo HOME; touch ~/d.txt",
    "cp -P way l && echo x > l/d.txt",
    "cp --no-deref way l && echo x > l/d.txt",
    "cp -a way l; cp a.txt l/d.txt",
    "cp -r way l; touch l/d.txt",
    "git mv a.txt l; touch l/d.txt",
    "git checkout -- l; touch l/d.txt",
    "git restore l; touch l/d.txt",
    "sed -i'*' s/a/b/ a.txt",
    "sed --in-place=sub/x s/a/b/ a.txt",
    "cp -b a.txt b.txt",
    "mv --suffix=.x a.txt b.txt",
    "git config core.fsmonitor ./evil && git status",
    "git --git-dir=x commit",
    "git push --receive-pack=./evil . HEAD",
    "git fetch --upload-pack ./evil .",
    "git fetch $X",
    "rg --pre ./evil x .",
    "date -s 2020-01-01",
    "PATH=. ls",
    "for PATH in .; do ls; done",
    "ls {PATH}> /dev/null; ls",
    "export PATH=.; ls",
    "read PATH < a.txt; ls",
    "LD_PRELOAD=./x.so ls",
    "export GIT_EXTERNAL_DIFF=./evil; git diff",
    "GIT_EDITOR=./evil git commit --amend",
    "declare -i x='a[$(touch sub/new)]'",
    "p='a[$'; declare -i \"x=$p(touch sub/new)]\"",
    "[ -v 'x[$(touch sub/new)]' ]",
    "test -v 'x[$(touch sub/new)]'",
    "printf -v 'x[$(touch sub/new)]' hi",
    "unset 'x[$(touch sub/new)]'",
    "x='a[$(touch sub/new)]'; (( x ))",
  ])("is asked about where it can't be told what is changed, but in bypass: %s", async (command) => {
    const box = await banned("default", ["Bash"]);
    expect(await box.call("bash", { command })).toMatchObject({ kind: "asked" });
    await asItWas(box);
  });

  test.each([
    ["cp a.txt b.txt", ["Bash(cp:*)"]],
    ["cp sub/d.txt b.txt", ["Bash(cp:*)"]],
    ["sed -i s/a/b/ a.txt", ["Bash(sed:*)"]],
    ["echo x > b.txt", ["Bash"]],
    ["cp -r src other", ["Bash(cp:*)"]],
    ["rm -rf src", ["Bash"]],
    ["make; true", ["Bash(make:*)"]],
    ["echo x > $PWD/b.txt; cat $HOME/none", ["Bash"]],
    ["cp a.txt b.txt; cp b.txt c.txt; touch d", ["Bash"]],
    ["sed -i.bak s/a/b/ a.txt", ["Bash"]],
    ["x=1; LANG=C cp a.txt b.txt; [ -f a.txt ] && printf '%s' \"$x\" > b.txt", ["Bash"]],
    ["git config --get user.name; git add a.txt", ["Bash"]],
    ["cat sub/d.txt > /dev/null 2>&1", []],
  ])("is none on what it does not name: %s", async (command, allow) => {
    expect(await (await banned("default", allow)).call("bash", { command })).toMatchObject({ kind: "ran" });
  });

  test.each([
    "head -c 100 $PWD/.env",
    'cat "$PWD/.env"',
    "cat ${PWD}/.e*",
    "cd src; cat $PWD/../.env",
    "cat $HOME/.ssh/id",
    "cat ~/.ssh/id",
    "for PWD in . src; do cat $PWD/.env; done",
    "read HOME <<< $PWD; cat < ~/.env",
    "for HOME in $PWD; do cd ~; cat .env; done",
  ])("against reading holds where the shell would put a folder's name: %s", async (command) => {
    const box = await attacked({ mode: "bypass", deny: ["Read(.env)", "Read(~/.ssh/**)"] });
    await writeFile(join(box.project, ".env"), "the secret\n");
    await mkdir(join(homedir(), ".ssh"), { recursive: true });
    await writeFile(join(homedir(), ".ssh/id"), "the secret\n");
    expect(await box.call("bash", { command })).toMatchObject({ kind: "denied" });
  });
});

describe("settings that decide what the agent may do", () => {
  const evil = '{"permissions":{"defaultMode":"bypassPermissions"}}';

  /** What became of each call of an agent whose home is reached in one of these ways. */
  async function attempted(how: "linked file" | "linked folder" | "inside the project", calls: readonly JsonObject[]) {
    const folder = await temporaryFolder();
    const cwd = join(folder, "dotfiles");
    await mkdir(join(cwd, "pal"), { recursive: true });
    await writeFile(join(cwd, "evil.json"), evil);
    await writeFile(join(cwd, "pal/settings.json"), "{}");
    const home = how === "inside the project" ? join(cwd, "pal") : join(folder, "home");
    if (how === "linked folder") await symlink(join(cwd, "pal"), home);
    if (how === "linked file") {
      await mkdir(home);
      await symlink(join(cwd, "pal/settings.json"), join(home, "settings.json"));
    }
    const tools = calls.map((call) => JSON.stringify(call)).join(", ");
    await writeFile(join(cwd, "s.yaml"), `name: s\nmoves:\n  - tools: [${tools}]\n  - text: Done.\n`);
    const options = ["--model", "simulator", "--scenario", join(cwd, "s.yaml"), "--output-format", "stream-json"];
    const leaves = ["--permission-mode", "acceptEdits", "--allow", "Edit(**)", "--allow", "Bash"];
    const said = await called({ home, cwd }, "-p", "Go", ...options, ...leaves);
    const events = said.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    return {
      settings: await readFile(join(cwd, "pal/settings.json"), "utf8"),
      outcomes: events.filter(({ type }) => type === "call-end").map(({ outcome }) => outcome),
    };
  }

  test.each(["linked file", "linked folder", "inside the project"] as const)(
    "are not written without the user's word, whatever a rule allows: %s",
    async (how) => {
      const bash = (command: string) => ({ name: "bash", input: { command } });
      const { settings, outcomes } = await attempted(how, [
        { name: "read", input: { file_path: "pal/settings.json" } },
        { name: "write", input: { file_path: "pal/settings.json", content: evil } },
        { name: "edit", input: { file_path: "pal/settings.json", old_string: "{}", new_string: evil } },
        bash("cp evil.json pal/settings.json"),
        bash("cat evil.json > pal/settings.json"),
        bash("mv pal gone"),
        bash("for HOME in pal; do cat evil.json > $HOME/settings.json; done"),
        bash("cp -s $PWD/pal/settings.json l; cat evil.json > l"),
        bash("cp --parents pal/settings.json ."),
        { name: "write", input: { file_path: ".palimpsest/settings.local.json", content: evil } },
        { name: "write", input: { file_path: "other.json", content: evil } },
      ]);
      expect(settings).toBe("{}");
      expect(outcomes).toEqual(["done", ...Array.from({ length: 9 }, () => "denied"), "done"]);
    },
  );

  test("do not widen a session that is open, and narrow it at once", async () => {
    const touch = (name: string): MoveBlock[] => [
      { type: "tool_use", name: "bash", input: { command: `touch ${name}` } },
    ];
    const world = await agentWorld({
      responder: playing(touch("one"), says("1"), touch("two"), says("2"), touch("three"), says("3")),
    });
    const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: "touch hooked" }] }] };
    const settle = async (agent: Agent, permissions: object): Promise<void> => {
      await writeFile(join(world.home, "settings.json"), JSON.stringify({ permissions, hooks }));
      const seen = (): number => agent.session.fold.path.entries.filter(({ kind }) => kind === "edit").length;
      const before = seen();
      await vi.waitFor(() => expect(seen()).toBeGreaterThan(before), { timeout: 20_000, interval: 50 });
    };
    const outcomes = (events: readonly LoopEvent[]) =>
      events.flatMap((event) => (event.kind === "call-end" ? [event.outcome] : []));
    await mkdir(world.home, { recursive: true });
    const allow = ["Bash(touch two)", "Bash(touch three)"];
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ permissions: { allow } }));
    const opened = await openAgent({
      env: world.env,
      cwd: world.work,
      version: "0.0.0",
      flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
      session: { kind: "new" },
      model: { kind: "provider" },
      tools: { allow: [], deny: [] },
    });
    if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
    await settle(opened, { allow: [...allow, "Bash"], defaultMode: "bypassPermissions" });
    const first = await turn(opened, "one");
    expect(outcomes(first)).toEqual(["denied"]);
    expect(first.flatMap((event) => (event.kind === "warning" ? [event.message] : [])).join("\n")).toMatch(
      /hooks: the change counts when.*\n.*permissions\.allow: new rules count when.*\n.*permissions\.defaultMode: /,
    );
    expect(outcomes(await turn(opened, "two"))).toEqual(["done"]);
    await settle(opened, { allow, deny: ["Bash(touch three)"] });
    expect(outcomes(await turn(opened, "three"))).toEqual(["denied"]);
    await opened.close();
    expect(await exists(join(world.work, "hooked"))).toBe(false);
  });
});

describe("keys", () => {
  const key = "sk-test-0123456789";
  const env = { ...process.env, ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key, PALIMPSEST_GATEWAY_TOKEN: key };

  test.each([
    "env",
    "printenv",
    "export -p",
    "echo $ANTHROPIC_API_KEY",
    "cat /proc/self/environ",
    "cat /proc/$$/environ",
  ])("are not in the environment of a command that was permitted: %s", async (command) => {
    const box = await attacked({ mode: "bypass", env });
    const ran = await box.call("bash", { command });
    expect(ran).toMatchObject({ kind: "ran", isError: false });
    expect(ran.text).not.toContain(key);
  });

  test.each([
    "env",
    "printenv",
    "echo $ANTHROPIC_API_KEY",
    "cat /proc/self/environ",
    "cat /proc/$PPID/environ",
    "cat /proc/*/environ",
    "cd /proc/self && cat environ",
    "strings < /proc/1/environ",
    "jq -n env",
  ])("and nothing that could show one runs unasked: %s", async (command) => {
    const box = await attacked({ mode: "acceptEdits", env });
    expect(await box.call("bash", { command })).toMatchObject({ kind: "asked" });
  });

  test("nor do the tools for files read what a process holds", async () => {
    const box = await attacked({ mode: "bypass", env });
    await symlink("/proc/self/environ", join(box.project, "environ"));
    for (const path of ["/proc/self/environ", "/proc/thread-self/environ", "environ", "/dev/fd/0"]) {
      expect(await box.call("read", { path }), path).toMatchObject({ kind: "wrong" });
      expect(await box.call("grep", { path, pattern: "." }), path).toMatchObject({ kind: "wrong" });
    }
  });
});
