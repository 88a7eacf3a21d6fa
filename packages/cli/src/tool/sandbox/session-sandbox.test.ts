import { execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readSync, writeSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseRules } from "../permission/rule.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { heldToolbox, type HeldToolboxOptions } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import { computeSandboxLimits, type SandboxPlaces, listPathLinks } from "./session-sandbox.ts";

const git = (cwd: string, ...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@e", ...args], { cwd, encoding: "utf8" });

/** Of a pipe that is open and does not wait. */
function readableBytes(fd: number): number {
  try {
    return readSync(fd, Buffer.alloc(99));
  } catch {
    return 0;
  }
}

/** A project with a repository; every command of its box runs, whatever it is. */
async function project(options: HeldToolboxOptions = {}) {
  const box = await heldToolbox({ user: "yes", ...options });
  const write = async (path: string, text: string) => {
    await mkdir(join(box.project, path, ".."), { recursive: true });
    await writeFile(join(box.project, path), text);
  };
  await write("secret/key", "TOP SECRET\n");
  await write("src/a.txt", "plain\n");
  git(box.project, "init", "-q");
  git(box.project, "config", "user.name", "n");
  git(box.project, "config", "user.email", "e@e");
  git(box.project, "add", "-A");
  git(box.project, "commit", "-qm", "one");
  const run = async (command: string): Promise<string> => {
    const called = await box.call("bash", { command });
    if (called.kind !== "ran") throw new Error(`${called.kind}: ${called.text}`);
    return called.text;
  };
  /** Past what the permission rules make of the line: they can't look into it, and the user says yes. */
  const blindly = (script: string) => run(`eval "$(echo ${Buffer.from(script).toString("base64")} | base64 -d)"`);
  return { ...box, write, run, blindly };
}

/** Ways to read, as a script that the permission rules do not look into. */
const readings = `
  cat secret/key; head -1 secret/*; grep -r TOP .; git show HEAD:secret/key; git log -p; git cat-file -p HEAD:secret/key
  git grep TOP HEAD; git stash list -p; git archive HEAD | tar -xO; git checkout HEAD -- secret; git worktree add -f /tmp/tree HEAD
  cat /tmp/tree/secret/key; cp -r secret /tmp/copy; cat /tmp/copy/key; ln secret/key /tmp/link; cat /tmp/link
  ${process.execPath} -e 'console.log(require("fs").readFileSync("secret/key","utf8"))'
  mv secret other; cat other/key; git clone -q . /tmp/clone; cat /tmp/clone/secret/key
`;

describe.skipIf(noBubblewrap)(`rules and secrets: ${needsBubblewrap("in a sandbox")}`, () => {
  test("a deny rule for reading holds for every program, and for the history", async () => {
    const open = await project();
    expect((await open.blindly(readings)).match(/TOP SECRET/g)?.length).toBeGreaterThan(10);
    const held = await project({ deny: ["Read(./secret/**)"] });
    expect(await held.blindly(readings)).not.toContain("TOP SECRET");
    expect(await held.blindly("mv secret/key other; cat other; mv secret later; cat later/key")).not.toContain(
      "TOP SECRET",
    );
    expect(await readFile(join(held.project, "secret/key"), "utf8")).toBe("TOP SECRET\n");
  });

  test("a key is hidden from a command that names it and was allowed, wherever the home folder lies", async () => {
    const home = await temporaryFolder();
    await mkdir(join(home, ".ssh"));
    await writeFile(join(home, ".ssh/id"), "TOP SECRET\n");
    const { run } = await project({ held: { home } });
    expect(await run(`cat ${home}/.ssh/id; echo end`)).not.toContain("TOP SECRET");
  });

  test("git's own commands work on beside what is hidden", async () => {
    const { run, write, project: root } = await project({ deny: ["Read(./secret/**)"] });
    await write("src/b.txt", "new\n");
    expect(await run("git status --short src")).toBe("?? src/b.txt");
    await run("git add src && git commit -qm two");
    expect(await run("git log --oneline")).toContain("two");
    // A hook is a program like any other: the commit fails rather than to let it read.
    await write(".git/hooks/pre-commit", "#!/bin/sh\ngit show HEAD:secret/key\n");
    await chmod(join(root, ".git/hooks/pre-commit"), 0o755);
    await write("src/c.txt", "c\n");
    expect(await run("git add src; git commit -m three")).not.toContain("TOP SECRET");
  });

  test("the history is hidden from every line that shows contents, also where only the sandbox knows the rule", async () => {
    const { rules } = parseRules({ deny: ["Read(./secret/**)"] });
    const { run, write, project: root } = await project({ held: { rules: () => rules } });
    git(root, "tag", "file", "HEAD:secret/key");
    const showing = [
      "show HEAD:secret/key",
      "show HEAD",
      "log -p",
      "diff HEAD~0 HEAD",
      "for-each-ref --format='%(raw)'",
    ];
    const blob = git(root, "rev-parse", "HEAD:secret/key").trim();
    for (const args of [...showing, `cat-file -p ${blob}`, "cat-file blob file", "blame secret/key"])
      expect(await run(`git ${args}; true`), args).not.toContain("TOP SECRET");
    expect(await run("git log --oneline")).toContain("one");
    // Hooks may lie in the project.
    git(root, "config", "core.hooksPath", ".husky");
    await write(".husky/pre-commit", "#!/bin/sh\ngit show HEAD:secret/key\n");
    await chmod(join(root, ".husky/pre-commit"), 0o755);
    expect(await run("git commit --allow-empty -m two")).not.toContain("TOP SECRET");
  });

  test.each(["Read(**/secret/**)", "Read(./sub/secret/**)"])(
    "the history of a repository inside the project is hidden too: %s",
    async (rule) => {
      const { run, blindly, project: root } = await project({ mode: "bypass", deny: [rule] });
      const sub = join(root, "sub");
      await mkdir(join(sub, "secret"), { recursive: true });
      await writeFile(join(sub, "secret/key"), "INNER SECRET\n");
      git(sub, "init", "-q");
      git(sub, "add", "-A");
      git(sub, "commit", "-qm", "one");
      for (const line of ["cd sub && git log -p; true", "git -C sub show; true"])
        expect(await run(line), line).not.toContain("INNER SECRET");
      expect(await blindly("cd sub; git show HEAD:secret/key; git log -p")).not.toContain("INNER SECRET");
    },
  );

  test("a rule that hides nothing of the history leaves git as it is", async () => {
    const { run } = await project({ deny: ["Read(./none/**)", "Read(*.pem)"] });
    expect(await run("sh -c 'git show HEAD:src/a.txt'")).toBe("plain");
  });

  test("a hidden folder that was made unreachable in between stays hidden", async () => {
    const { blindly, project: root } = await project({ deny: ["Read(./secret/key)"] });
    await chmod(join(root, "secret"), 0o000);
    expect(await blindly("chmod 700 secret; cat secret/key")).not.toContain("TOP SECRET");
    await chmod(join(root, "secret"), 0o700);
  });

  test("a deny rule for changing holds, also for what is not there", async () => {
    const {
      run,
      blindly,
      project: root,
    } = await project({ deny: ["Edit(./src/a.txt)", "Edit(./new.txt)", "Edit(*.lock)"] });
    await writeFile(join(root, "x.lock"), "kept\n");
    await blindly("echo evil >> src/a.txt; rm -f src/a.txt; mv src moved; touch new.txt; echo evil > x.lock");
    expect(await readFile(join(root, "src/a.txt"), "utf8")).toBe("plain\n");
    expect(await readFile(join(root, "x.lock"), "utf8")).toBe("kept\n");
    expect(await run("ls -A")).not.toContain("new.txt");
    const all = await project({ deny: ["Edit"] });
    expect(await all.blindly("touch src/b.txt || echo held")).toMatch(/held$/);
  });

  test("what a rule asks about is hidden, unless the line that was asked about names it", async () => {
    const { run } = await project({ ask: ["Read(./secret/**)"] });
    expect(await run("cat secret/key")).toBe("TOP SECRET");
    expect(await run("sh -c 'cat sec*/k*'")).not.toContain("TOP SECRET");
  });

  test("a rule against reading everything lets no command run", async () => {
    const { run } = await project({ deny: ["Read(./**)"] });
    expect(await run("echo one")).toContain("forbids to read the whole project");
  });

  test("this engine's home is hidden by its real path, but for the results of the session", async () => {
    const top = await temporaryFolder();
    for (const folder of ["home/projects/p/results", "elsewhere"]) await mkdir(join(top, folder), { recursive: true });
    await rename(join(top, "home"), join(top, "elsewhere/home"));
    await symlink(join(top, "elsewhere/home"), join(top, "home"));
    const real = join(top, "elsewhere/home");
    await writeFile(join(real, "settings.json"), "TOP SECRET\n");
    await writeFile(join(real, "projects/p/log"), "TOP SECRET\n");
    await writeFile(join(real, "projects/p/results/one"), "result\n");
    const readRoots = [join(real, "projects/p/results")];
    const { run } = await project({ held: { ownHome: join(top, "home"), readRoots } });
    const shown = await run(`cat ${readRoots[0]}/one; sh -c 'cat ${real}/settings.json ${real}/projects/p/log'; true`);
    expect(shown).toMatch(/^result\n/);
    expect(shown).not.toContain("TOP SECRET");
  });

  test("secrets of the home folder are hidden, tools on PATH inside of them are not", async () => {
    const home = homedir();
    for (const path of [".ssh/id", ".npmrc", ".claude/history", ".claude/local/bin/tool", ".claude/local/lib/part"]) {
      await mkdir(join(home, path, ".."), { recursive: true });
      await writeFile(join(home, path), path.includes("local") ? "#!/bin/sh\necho tool\n" : "TOP SECRET\n", {
        mode: 0o755,
      });
    }
    const env = { ...process.env, PATH: `${process.env["PATH"]}:${home}/.claude/local/bin` };
    const { run } = await project({ env });
    const shown = await run(
      `sh -c 'cd ~; cat .ssh/id .npmrc .claude/history; ls .ssh .claude; cat .claude/local/lib/part; tool'; true`,
    );
    expect(shown).not.toContain("TOP SECRET");
    expect(shown).toMatch(/echo tool\ntool/);
  });

  test("settings, hooks and start-up files of the project can't be changed, made or replaced", async () => {
    const { run, project: root } = await project();
    await mkdir(join(root, ".vscode"));
    const before = git(root, "config", "--list", "--local");
    const script = `
      touch .git/hooks/pre-commit; git config core.fsmonitor ./evil; echo evil > .git/commondir; echo evil > .git/config.worktree; mv .git other; rm -rf .git/hooks
      mkdir .claude; echo {} > .mcp.json; mkdir .palimpsest; touch .vscode/tasks.json; rmdir .vscode; mkdir -p .idea/x
      ln -sf /tmp .claude; mv src .mcp.json; true`;
    await run(`sh -c '${script}'`);
    expect(git(root, "config", "--list", "--local")).toBe(before);
    expect(await run("ls -A | tr '\\n' ' '; ls -A .git/hooks .vscode | grep -v sample; ls .git")).not.toMatch(
      /commondir|config.worktree|pre-commit|tasks|\.mcp\.json\n.*\.mcp/,
    );
    expect(git(root, "status", "--short")).toBe("");
  });

  test("a folder on PATH that a command made a link to secrets does not show them", async () => {
    const secrets = join(homedir(), ".gnupg/private");
    await mkdir(secrets, { recursive: true });
    await writeFile(join(secrets, "key"), "TOP SECRET\n");
    const bin = join(await temporaryFolder(), "bin");
    await symlink(secrets, bin);
    const { run } = await project({ env: { ...process.env, PATH: `${process.env["PATH"]}:${bin}` } });
    expect(await run(`sh -c 'cat ~/.gnupg/private/key ${bin}/key'; true`)).not.toContain("TOP SECRET");
  });

  test("a denied program can't be run, whatever starts it and whatever it is called", async () => {
    const deny = ["Bash(rm:*)", "Bash(perl:*)", "Bash(bash:*)", "Bash(sh:*)", "Bash(git push:*)"];
    const { run, blindly, project: root } = await project({ deny });
    const starts = `
      rm src/a.txt; /bin/rm src/a.txt; cp /bin/rm x; ./x src/a.txt; ln -s /bin/rm y; ./y src/a.txt; cat /usr/bin/rm > z; chmod +x z; ./z src/a.txt
      node -e 'require("child_process").execFileSync("rm",["src/a.txt"])'; python3 -c 'import os; os.system("rm src/a.txt")'
      for one in /usr/bin/perl /usr/bin/perl5.??.?; do cp $one p; ./p -e 'unlink "src/a.txt"'; $one -e 'unlink "src/a.txt"'; done
      busybox rm src/a.txt; /lib64/ld-linux-x86-64.so.2 /bin/rm src/a.txt; find src -name a.txt -exec rm {} +; echo ran; sh -c 'echo too'; git log --oneline`;
    expect(await blindly(starts)).toMatch(/ran\ntoo\n\w+ one$/);
    expect(await readFile(join(root, "src/a.txt"), "utf8")).toBe("plain\n");
    expect(await run("ls src")).toBe("a.txt");
  });

  test("a pipe outside of the project, or in it if it may not be written, is heard by nobody", async () => {
    const { run, blindly, project: root } = await project();
    const home = homedir();
    await mkdir(join(home, "tools"), { recursive: true });
    const pipes = [join(home, "commands"), join(home, "tools/commands"), join(root, "commands")];
    const listening = pipes.map((path) => {
      execFileSync("mkfifo", [path]);
      onTestFinished(() => rm(path, { force: true }));
      const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      onTestFinished(() => closeSync(fd));
      return fd;
    });
    await blindly(pipes.map((path) => `(echo x > ${path}) 2>/dev/null`).join("; "));
    expect(listening.map(readableBytes)).toEqual([0, 0, 2]);
    // Also what only reads would take away from whoever it is for.
    writeSync(listening[0] ?? 0, "for others");
    expect(await run(`head -c 3 ${pipes[0]}; true`)).not.toContain("for");
  });

  test("a repository in the project keeps its hooks and its configuration, and so do files that git runs", async () => {
    const { blindly, project: root } = await project();
    const nested = join(root, "parts/one");
    await mkdir(nested, { recursive: true });
    git(nested, "init", "-q");
    await mkdir(join(root, "other/.git"), { recursive: true });
    await symlink("../../src", join(root, "other/.git/hooks"));
    await writeFile(join(root, "monitor"), "kept");
    git(root, "config", "core.fsmonitor", "./monitor");
    const before = git(nested, "config", "--list", "--local");
    expect(
      await blindly(`cd parts/one; git config core.fsmonitor ./evil; touch .git/hooks/pre-commit; cd ../..
      echo evil > monitor; rm -f monitor; mv parts elsewhere; echo ran`),
    ).toMatch(/ran$/);
    expect(git(nested, "config", "--list", "--local")).toBe(before);
    expect(await readdir(join(nested, ".git/hooks"))).not.toContain("pre-commit");
    expect(await readFile(join(root, "monitor"), "utf8")).toBe("kept");
  });

  test("git is led nowhere else while a command runs, by a file that it can bear", async () => {
    const { run, project: root } = await project();
    const ran = run("echo ../evil > .git/commondir; git status --short; git log --oneline; sleep 1");
    await expect.poll(() => existsSync(join(root, ".git/commondir"))).toBe(true);
    expect(git(root, "log", "--oneline")).toContain("one");
    expect(await ran).toMatch(/Read-only file system\n\w+ one$/);
    expect(await readdir(join(root, ".git"))).not.toContain("commondir");
  });

  test("in a worktree git works, and the repository's hooks and configuration are kept", async () => {
    const main = await temporaryFolder();
    git(main, "init", "-q");
    git(main, "config", "user.name", "n");
    git(main, "config", "user.email", "e@e");
    await writeFile(join(main, "file"), "");
    git(main, "commit", "-q", "--allow-empty", "-m", "one");
    const box = await heldToolbox({ user: "yes" });
    git(main, "worktree", "add", "-q", box.project);
    const at = async (command: string) => (await box.call("bash", { command })).text;
    expect(await at("echo x > new && git add new && git commit -qm two && git log --oneline -1")).toContain("two");
    const attempts = [`touch ${main}/.git/hooks/pre-commit`, "git config a.b c", "echo gitdir: /evil > .git"];
    expect(await at(`${attempts.join(" && echo done; ")} && echo done; true`)).not.toContain("done");
    await at(`touch ${main}/made`);
    expect(await readdir(main)).toEqual([".git", "file"]);
    expect(git(main, "log", "--oneline", "--all")).toContain("two");
  });
});

const places: SandboxPlaces = {
  roots: ["/p"],
  secrets: ["/tmp/home/.ssh", "/home/ann/.ssh"],
  protected: [],
  unchanged: [],
  tools: [],
  named: [],
  asked: [],
  temporary: "/own",
};
const shown = (...named: readonly string[]) =>
  computeSandboxLimits({ strength: "read-only", places: { ...places, named }, network: { kind: "off" } }).shown;

test("a file of the system's temporary folder that a command names is shown to it", () => {
  expect(shown("/tmp/notes.txt", "/var/tmp/x", "/tmp", "/etc/hosts")).toEqual(["/p", "/tmp/notes.txt", "/var/tmp/x"]);
});

test("a secret is hidden from a command that names it, also where the home folder is a temporary one", () => {
  expect(shown("/tmp/home/.ssh/id", "/tmp/home/.ssh", "/home/ann/.ssh/id")).toEqual(["/p"]);
});

test("a file that a rule asked about is shown to the command that names it", () => {
  const asked = ["/p/secret/key"];
  const limits = computeSandboxLimits({
    strength: "read-only",
    places: { ...places, asked },
    network: { kind: "off" },
  });
  expect(limits.shown).toEqual(["/p", "/p/secret/key"]);
});

test("names every link that is passed, where it really stands, and what the path leads to", async () => {
  const top = await realpath(await temporaryFolder());
  const at = (name: string): string => join(top, name);
  await mkdir(at("a/b"), { recursive: true });
  await writeFile(at("a/b/file"), "");
  await symlink("a", at("relative"));
  await symlink(at("relative/b"), at("absolute"));
  await symlink("../b/../../absolute/file", at("a/b/up"));
  await symlink("round", at("round"));
  expect(listPathLinks(at("a/b/file"))).toEqual([at("a/b/file")]);
  expect(listPathLinks(at("relative/b/file"))).toEqual([at("relative"), at("a/b/file")]);
  expect(listPathLinks(at("absolute/file"))).toEqual([at("absolute"), at("relative"), at("a/b/file")]);
  expect(listPathLinks(at("relative/b/up"))).toEqual([
    at("relative"),
    at("a/b/up"),
    at("absolute"),
    at("relative"),
    at("a/b/file"),
  ]);
  expect(listPathLinks(at("relative/none/file"))).toEqual([at("relative"), at("a/none/file")]);
  expect(new Set(listPathLinks(at("round/file")))).toEqual(new Set([at("round"), at("round/file")]));
});
