import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agentId, millis } from "palimpsest/internal/schema/brand";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sandboxHere } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import { sessionSandbox } from "../../tool/sandbox/session-sandbox.ts";
import { agentWorktrees, type OpenWorktree } from "./agent-worktrees.ts";

const identity = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
};
const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", folder, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...identity },
  }).trim();

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function emptyRepository(): Promise<string> {
  const root = join(await temporaryFolder(), "project");
  await mkdir(root);
  git(root, "init", "--quiet", "--initial-branch=main");
  return root;
}

async function repository(): Promise<string> {
  const root = await emptyRepository();
  await put(join(root, "src", "a.txt"), "a\n");
  await put(join(root, ".gitignore"), "node_modules/\n");
  git(root, "add", ".");
  git(root, "commit", "--quiet", "-m", "first");
  return root;
}

const deps = { now: () => millis(Date.now()), uuid: randomUUID };
const worktreesIn = (cwd: string) => agentWorktrees({ deps, cwd, env: process.env });
const one = agentId("agent-0a1b2c3d");
const two = agentId("agent-ffffffff");

async function open(cwd: string, agent = one): Promise<OpenWorktree> {
  const outcome = await worktreesIn(cwd).open(agent);
  if (outcome.kind === "refused") throw new Error(outcome.message);
  const { worktree } = outcome;
  onTestFinished(async () => void (await worktree.finish()));
  return worktree;
}

async function refusal(cwd: string): Promise<string> {
  const outcome = await worktreesIn(cwd).open(one);
  return outcome.kind === "refused" ? outcome.message : "open";
}

/** What is left of all agents in a repository. */
async function leftIn(root: string) {
  const branches = git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/palimpsest").split("\n");
  return {
    files: (await readdir(join(root, ".git", "palimpsest-worktrees"))).toSorted(),
    branches: branches.filter((name) => name !== ""),
    worktrees:
      git(root, "worktree", "list", "--porcelain")
        .split("\n")
        .filter((line) => line.startsWith("worktree ")).length - 1,
  };
}

const nothing = { files: [], branches: [], worktrees: 0 };
const branch = "palimpsest/agent-0a1b2c3d";

describe("a worktree of an agent", () => {
  it("is the current commit on a branch of its own, and the project does not list it", async () => {
    const root = await repository();
    const { path, cwd, branch: own, notes } = await open(join(root, "src"));
    expect(own).toBe(branch);
    expect(cwd).toBe(join(path, "src"));
    expect(await readFile(join(cwd, "a.txt"), "utf8")).toBe("a\n");
    expect(git(path, "symbolic-ref", "--short", "HEAD")).toBe(branch);
    expect(git(path, "rev-parse", "HEAD")).toBe(git(root, "rev-parse", "HEAD"));
    expect(git(root, "status", "--porcelain", "--ignored")).toBe("");
    expect(notes).toEqual([]);
  });

  it("without changes goes with its branch, and nothing is left; ignored files are no change", async () => {
    const root = await repository();
    const worktree = await open(root);
    await put(join(worktree.path, "node_modules", "x.js"), "x");
    const ended = await worktree.finish();
    expect(ended).toEqual({ agent: one, path: worktree.path, branch, state: "removed" });
    expect(await leftIn(root)).toEqual(nothing);
    expect(await worktree.finish()).toEqual(ended);
  });

  it.each<[string, string, (path: string) => Promise<unknown>]>([
    ["a changed file", "it has uncommitted changes", (path) => writeFile(join(path, "src", "a.txt"), "b\n")],
    ["a new file", "it has uncommitted changes", (path) => writeFile(join(path, "new.txt"), "b\n")],
    ["a deleted file", "it has uncommitted changes", (path) => rm(join(path, "src", "a.txt"))],
    ["a commit", "it has commits", async (path) => git(path, "commit", "--quiet", "--allow-empty", "-m", "x")],
    [
      "a commit without a branch",
      "it has commits",
      async (path) => {
        git(path, "checkout", "--quiet", "--detach");
        git(path, "commit", "--quiet", "--allow-empty", "-m", "x");
      },
    ],
    [
      "a commit that its branch has and the folder has not",
      "it has commits",
      async (path) => {
        git(path, "commit", "--quiet", "--allow-empty", "-m", "x");
        git(path, "checkout", "--quiet", "--detach", "HEAD~1");
      },
    ],
  ])("is kept with %s", async (_, why, change) => {
    const root = await repository();
    const worktree = await open(root);
    await change(worktree.path);
    expect(await worktree.finish()).toEqual({ agent: one, path: worktree.path, branch, state: "kept", why });
    expect(await leftIn(root)).toEqual({ files: [one, `${one}.json`], branches: [branch], worktrees: 1 });
    expect(await worktreesIn(root).endLeftovers()).toEqual([]);
    expect(existsSync(worktree.path)).toBe(true);
  });

  it("that was kept is there again for the same agent, and counts from where it began", async () => {
    const root = await repository();
    const first = await open(root);
    await writeFile(join(first.path, "new.txt"), "b\n");
    git(first.path, "add", ".");
    git(first.path, "commit", "--quiet", "-m", "x");
    await first.finish();
    const again = await open(root);
    expect(await readFile(join(again.path, "new.txt"), "utf8")).toBe("b\n");
    expect(await again.finish()).toMatchObject({ state: "kept", why: "it has commits" });
  });

  it("that the user removed is made anew from the branch, whose commits are never dropped", async () => {
    const root = await repository();
    const first = await open(root);
    git(first.path, "commit", "--quiet", "--allow-empty", "-m", "x");
    await first.finish();
    git(root, "worktree", "remove", "--force", first.path);
    expect(await worktreesIn(root).endLeftovers()).toEqual([]);
    expect((await leftIn(root)).files).toEqual([]);
    const again = await open(root);
    expect(git(again.path, "log", "-1", "--format=%s")).toBe("x");
    expect(await again.finish()).toMatchObject({ state: "kept", why: "it has commits" });
    expect((await leftIn(root)).branches).toEqual([branch]);
  });

  it("is one agent's at a time", async () => {
    const root = await repository();
    const worktree = await open(root);
    expect(await refusal(root)).toMatch(/^The worktree of agent-0a1b2c3d is in use by process/);
    expect(await worktreesIn(root).endLeftovers()).toEqual([]);
    expect((await worktree.finish()).state).toBe("removed");
  });

  it("eight at once get in each other's way neither at the start nor at the end", async () => {
    const root = await repository();
    const agents = Array.from({ length: 8 }, (_, at) => agentId(`agent-0000000${at}`));
    const opened = await Promise.all(agents.map((agent) => open(root, agent)));
    const ended = await Promise.all(opened.map(({ finish }) => finish()));
    expect(ended.map(({ state }) => state)).toEqual(agents.map(() => "removed"));
    expect(await leftIn(root)).toEqual(nothing);
  }, 30_000);
});

describe("where it begins", () => {
  it("uncommitted changes, staged or not, stay where they are, and the agent is told", async () => {
    const root = await repository();
    await put(join(root, "src", "a.txt"), "changed\n");
    await put(join(root, "staged.txt"), "x");
    git(root, "add", "staged.txt");
    const { path, notes } = await open(root);
    expect(await readFile(join(path, "src", "a.txt"), "utf8")).toBe("a\n");
    expect(notes).toEqual([
      expect.stringMatching(
        /^The worktree begins with the commit [\da-f]{10}: 2 uncommitted changes of .* are not in it\.$/,
      ),
    ]);
    expect(git(root, "status", "--porcelain")).toBe("M src/a.txt\nA  staged.txt");
  });

  it("without a branch checked out it begins with the commit", async () => {
    const root = await repository();
    git(root, "checkout", "--quiet", "--detach");
    const { path, finish } = await open(root);
    expect(git(path, "symbolic-ref", "--short", "HEAD")).toBe(branch);
    expect((await finish()).state).toBe("removed");
  });

  it("from another worktree it begins with that one's commit", async () => {
    const root = await repository();
    const linked = join(dirname(root), "linked");
    git(root, "worktree", "add", "--quiet", "-b", "other", linked);
    git(linked, "commit", "--quiet", "--allow-empty", "-m", "second");
    const { path, finish } = await open(linked);
    expect(path).toBe(join(root, ".git", "palimpsest-worktrees", one));
    expect(git(path, "log", "-1", "--format=%s")).toBe("second");
    expect((await finish()).state).toBe("removed");
  });

  it("a folder that is in no commit stands for the whole worktree", async () => {
    const root = await repository();
    await mkdir(join(root, "empty"));
    const { path, cwd } = await open(join(root, "empty"));
    expect(cwd).toBe(path);
  });

  it("submodules are empty in it, and it goes all the same", async () => {
    const [root, inner] = [await repository(), await repository()];
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner");
    git(root, "commit", "--quiet", "-m", "inner");
    const { path, notes, finish } = await open(root);
    expect(notes).toEqual(["Submodules are empty in the worktree."]);
    expect(await readdir(join(path, "inner"))).toEqual([]);
    expect((await finish()).state).toBe("removed");
    expect(await leftIn(root)).toEqual(nothing);
  });
});

describe("there is none", () => {
  it("outside of a repository", async () => {
    expect(await refusal(await temporaryFolder())).toMatch(/^A worktree needs a git repository .*not a git repository/);
  });

  it("before the first commit", async () => {
    const root = await emptyRepository();
    expect(await refusal(root)).toMatch(/has none yet: commit something first$/);
    expect(existsSync(join(root, ".git", "palimpsest-worktrees"))).toBe(false);
  });

  it("where a branch has the name that its own would be below; nothing is left", async () => {
    const root = await repository();
    git(root, "branch", "palimpsest");
    expect(await refusal(root)).toMatch(/^git made no worktree: .*palimpsest/);
    expect((await leftIn(root)).files).toEqual([]);
  });

  it("where the repository names a program that git would start", async () => {
    const root = await repository();
    git(root, "config", "filter.x.smudge", "touch pwned; cat");
    expect(await refusal(root)).toMatch(/git might start a program there, since .*filter/);
  });

  it("where a link stands in the place of its folder", async () => {
    const root = await repository();
    const elsewhere = await temporaryFolder();
    await symlink(elsewhere, join(root, ".git", "palimpsest-worktrees"));
    expect(await refusal(root)).toMatch(/is a link; it is not followed$/);
  });

  it("under a name that leads elsewhere", async () => {
    const outcome = await worktreesIn(await repository()).open(agentId("../../x"));
    expect(outcome).toMatchObject({ kind: "refused" });
  });
});

describe("what the repository or the agent could abuse", () => {
  it("hooks do not run", async () => {
    const root = await repository();
    for (const name of ["post-checkout", "reference-transaction", "post-index-change"]) {
      await put(join(root, ".git", "hooks", name), `#!/bin/sh\ntouch "${root}/../pwned"\n`);
      await chmod(join(root, ".git", "hooks", name), 0o755);
    }
    const { finish } = await open(root);
    await finish();
    expect(existsSync(join(root, "..", "pwned"))).toBe(false);
  });

  it("a filter that the agent configured does not run when its worktree is looked at", async () => {
    const root = await repository();
    const worktree = await open(root);
    git(root, "config", "filter.x.clean", `touch "${root}/../pwned"; cat`);
    await put(join(worktree.path, ".gitattributes"), "* filter=x\n");
    expect(await worktree.finish()).toMatchObject({
      state: "kept",
      why: expect.stringContaining("git might start") as unknown,
    });
    expect(existsSync(join(root, "..", "pwned"))).toBe(false);
  });

  it("a link or another repository in its place leads to the removal of nothing", async () => {
    const root = await repository();
    const precious = join(await temporaryFolder(), "precious");
    await put(join(precious, "x"), "x");
    const worktree = await open(root);
    await rm(worktree.path, { recursive: true });
    await symlink(precious, worktree.path);
    expect((await worktree.finish()).state).toBe("kept");
    const other = await open(root, two);
    await writeFile(join(other.path, ".git"), `gitdir: ${join(await repository(), ".git")}\n`);
    expect(await other.finish()).toMatchObject({ state: "kept", why: "it is no worktree of this repository any more" });
    expect(await readFile(join(precious, "x"), "utf8")).toBe("x");
  });
});

describe.skipIf(noBubblewrap)(`commands of an agent there: ${needsBubblewrap("in a sandbox")}`, () => {
  it("write and commit in the worktree, and change neither the project, nor what git would run, nor others' worktrees", async () => {
    const root = await repository();
    const [worktree, other] = [await open(root), await open(root, two)];
    const temporary = await temporaryFolder();
    const sandbox = await sandboxHere();
    const session = sessionSandbox({
      use: () => ({ kind: "held", sandbox }),
      roots: [worktree.path],
      home: homedir(),
      env: process.env,
      guarded: [],
      readRoots: [],
      rules: () => ({ allow: [], ask: [], deny: [] }),
      temporary: { open: async () => temporary, remove: async () => undefined },
    });
    const script = `echo x > new.txt && git add . && git commit --quiet -m inside && echo done
      for file in ${root}/src/a.txt ${root}/.git/config ${root}/.git/hooks/pre-commit .git ${other.path}/planted ../${two}.json ../new; do echo planted >> $file; done`;
    const env = { PATH: process.env["PATH"] ?? "", HOME: homedir(), ...identity };
    const acts = [{ kind: "shell", command: script, effect: "unknown", reads: "unclear", writes: "unclear" }] as const;
    const entered = await session.enter(
      { program: "/bin/sh", args: ["-c", script], cwd: worktree.path, env },
      { acts },
    );
    if (entered.kind !== "ready") throw new Error(entered.why);
    const { program, args, cwd } = entered.start;
    const ran = spawnSync(program, args, { cwd, env: entered.start.env, encoding: "utf8" });
    await entered.leave();
    expect(ran.stdout).toBe("done\n");
    expect(git(worktree.path, "log", "-1", "--format=%s")).toBe("inside");
    expect(await readFile(join(root, "src", "a.txt"), "utf8")).toBe("a\n");
    expect(await readFile(join(root, ".git", "config"), "utf8")).not.toContain("planted");
    expect(existsSync(join(root, ".git", "hooks", "pre-commit"))).toBe(false);
    expect((await leftIn(root)).files).not.toContain("new");
    expect(await worktree.finish()).toMatchObject({ state: "kept", why: "it has commits" });
    expect((await other.finish()).state).toBe("removed");
  });
});

describe("after a process was killed", () => {
  /** Opens a worktree in a process that is killed at once. */
  function openAndDie(root: string, agent: string): void {
    const script = `
      import { agentWorktrees } from ${JSON.stringify(new URL("./agent-worktrees.ts", import.meta.url).href)};
      import { randomUUID } from "node:crypto";
      const worktrees = agentWorktrees({ deps: { now: Date.now, uuid: randomUUID }, cwd: ${JSON.stringify(root)}, env: process.env });
      const { kind } = await worktrees.open(${JSON.stringify(agent)});
      if (kind === "open") process.kill(process.pid, "SIGKILL");`;
    const { signal } = spawnSync(process.execPath, [
      "--conditions=@palimpsest/source",
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(signal).toBe("SIGKILL");
  }

  it("its worktrees are ended or kept by the same rule at the next start; running ones stay", async () => {
    const root = await repository();
    openAndDie(root, one);
    openAndDie(root, two);
    await writeFile(join(root, ".git", "palimpsest-worktrees", two, "new.txt"), "x");
    const running = await open(root, agentId("agent-11111111"));
    const ended = await worktreesIn(root).endLeftovers();
    expect(ended.map(({ agent, state, why }) => [agent, state, why])).toEqual([
      [one, "removed", undefined],
      [two, "kept", "it has uncommitted changes"],
    ]);
    expect(await worktreesIn(root).endLeftovers()).toEqual([]);
    expect((await running.finish()).state).toBe("removed");
    expect(await leftIn(root)).toEqual({ files: [two, `${two}.json`], branches: [`palimpsest/${two}`], worktrees: 1 });
  }, 30_000);

  it.each<[string, (root: string, path: string) => Promise<unknown>]>([
    ["before git began", async () => undefined],
    [
      "while git checked files out",
      async (root, path) => {
        git(root, "worktree", "add", "--quiet", "--no-checkout", "-b", branch, path);
        await writeFile(join(root, ".git", "worktrees", one, "locked"), "initializing");
      },
    ],
    [
      "before git had written the worktree's own file",
      async (root, path) => {
        git(root, "worktree", "add", "--quiet", "-b", branch, path);
        await rm(join(path, ".git"));
      },
    ],
  ])("%s, nothing is left, and the agent can begin", async (_, leave) => {
    const root = await repository();
    const folder = join(root, ".git", "palimpsest-worktrees");
    const record = `${JSON.stringify({ state: "disposable", base: git(root, "rev-parse", "HEAD") })}\n`;
    for (const next of ["sweep", "open"] as const) {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, `${one}.json`), record);
      await leave(root, join(folder, one));
      if (next === "sweep") {
        expect(await worktreesIn(root).endLeftovers()).toMatchObject([{ state: "removed" }]);
        expect(await leftIn(root)).toEqual(nothing);
      } else expect(git((await open(root)).path, "status", "--porcelain")).toBe("");
    }
  });
});
