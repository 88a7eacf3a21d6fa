import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { listProjects, findSession } from "../../packages/palimpsest/src/store/files/list-sessions.ts";
import {
  homeFolder,
  type Project,
  findProject,
  locateProject,
} from "../../packages/palimpsest/src/store/files/project.ts";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { storeDeps } from "../contract/store-deps.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { makePipe } from "../fixture/pipe.ts";
import { openWriter } from "../contract/open-writer.ts";

interface World {
  readonly home: string;
  readonly work: string;
}
async function world(): Promise<World> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "work"));
  return { home: join(folder, "home"), work: join(folder, "work") };
}

function git(cwd: string, ...args: string[]): void {
  const identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", [...identity, ...args], { cwd, env, stdio: "pipe" });
}

/** The text makes the first commit, and with it the repository, another one. */
async function repository(path: string, text = path): Promise<string> {
  await mkdir(path, { recursive: true });
  git(path, "init");
  git(path, "commit", "--allow-empty", "-m", text);
  return path;
}

async function locate({ home }: World, cwd: string): Promise<Project> {
  const located = await locateProject(storeDeps, { home, cwd });
  if (located.kind !== "located") throw new Error(located.message);
  return located;
}

const storeIn = (project: Project) => filePorts({ deps: storeDeps, folder: project.folder, durability: "never" });

async function sessionIn(project: Project, id: string): Promise<void> {
  const writer = openWriter(await storeIn(project).transcripts.create(sessionId(id)));
  await writer.append([`{"type":"user","in":"${project.root}"}`]);
  await writer.close();
}

/** A memory of the project, as a plain file. */
async function rememberIn({ folder }: Project, word: string): Promise<void> {
  await mkdir(join(folder, "memory"), { recursive: true });
  await writeFile(join(folder, "memory", `${word}.md`), `---\nname: ${word}\n---\nThe word is ${word}.\n`);
}

const memoriesOf = async ({ folder }: Project): Promise<string[]> =>
  await readdir(join(folder, "memory")).catch(() => []);

const sessionsOf = async (project: Project): Promise<string[]> =>
  (await storeIn(project).sessions.list()).map((row) => row.sessionId);

describe("18. Scope: one repository is one project", () => {
  it("from its root, a folder in it, a symlink to it and two worktrees", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    await mkdir(join(repo, "deep", "er"), { recursive: true });
    await symlink(repo, join(at.work, "link"));
    git(repo, "worktree", "add", join(at.work, "tree-1"));
    git(repo, "worktree", "add", join(at.work, "elsewhere", "tree-2"));
    const first = await locate(at, repo);
    await sessionIn(first, "s1");
    await rememberIn(first, "root");
    const memories = ["root.md"];
    for (const cwd of ["repo/deep/er", "link", "link/deep", "tree-1", "elsewhere/tree-2"]) {
      const found = await locate(at, join(at.work, cwd));
      const { folder, root } = found;
      expect({ cwd, folder, root, sessions: await sessionsOf(found), memories: await memoriesOf(found) }).toEqual({
        cwd,
        folder: first.folder,
        root: repo,
        sessions: ["s1"],
        memories,
      });
      // What is written from there is found from everywhere else.
      await rememberIn(found, cwd.replaceAll("/", "-"));
      memories.push(`${cwd.replaceAll("/", "-")}.md`);
      memories.sort();
    }
    expect(await memoriesOf(first)).toEqual(memories);
    expect(await listProjects(at.home)).toHaveLength(1);
  });

  it("whichever worktree is used first, and after that one is deleted", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const tree = join(at.work, "tree");
    git(repo, "worktree", "add", tree);
    await sessionIn(await locate(at, tree), "s1");
    await rememberIn(await locate(at, tree), "tree");
    git(repo, "worktree", "remove", tree);
    expect(await sessionsOf(await locate(at, repo))).toEqual(["s1"]);
    expect(await memoriesOf(await locate(at, repo))).toEqual(["tree.md"]);
  });

  it("after a worktree was deleted without telling git, and after the folder that a session ran in was", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const tree = join(at.work, "tree");
    git(repo, "worktree", "add", tree);
    await mkdir(join(tree, "deep"));
    const first = await locate(at, join(tree, "deep"));
    await sessionIn(first, "s1");
    await rememberIn(first, "deep");
    await rm(tree, { recursive: true });
    const found = await locate(at, repo);
    expect([await sessionsOf(found), await memoriesOf(found)]).toEqual([["s1"], ["deep.md"]]);
    // The place where the worktree was is no longer known: it gets nothing of the project and takes nothing from it.
    const gone = await locate(at, join(tree, "deep"));
    expect([await sessionsOf(gone), await memoriesOf(gone)]).toEqual([[], []]);
    expect([await sessionsOf(found), await memoriesOf(found)]).toEqual([["s1"], ["deep.md"]]);
  });

  it("also where the repository is bare and has only worktrees", async () => {
    const at = await world();
    const origin = await repository(join(at.work, "origin"));
    const bare = join(at.work, "project.git");
    git(at.work, "clone", "--bare", origin, bare);
    git(bare, "worktree", "add", join(at.work, "t1"), "main");
    git(bare, "worktree", "add", join(at.work, "t2"), "-b", "other");
    const first = await locate(at, join(at.work, "t1"));
    expect(first.root).toBe(bare);
    expect((await locate(at, join(at.work, "t2"))).folder).toBe(first.folder);
    expect((await locate(at, origin)).folder).not.toBe(first.folder);
  });
});

describe("18. Scope: a project is found again", () => {
  it("after a rename and a move, with its old paths on record", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const first = await locate(at, repo);
    await sessionIn(first, "s1");
    await rememberIn(first, "before");
    await mkdir(join(at.work, "deeper"));
    const [renamed, moved] = [join(at.work, "renamed"), join(at.work, "deeper", "moved")];
    await rename(repo, renamed);
    expect(await locate(at, renamed)).toMatchObject({ folder: first.folder, root: renamed });
    await rememberIn(await locate(at, renamed), "renamed");
    await rename(renamed, moved);
    const last = await locate(at, moved);
    expect(last).toMatchObject({ folder: first.folder, root: moved });
    expect(await sessionsOf(last)).toEqual(["s1"]);
    expect(await memoriesOf(last)).toEqual(["before.md", "renamed.md"]);
    const record = JSON.parse(await readFile(join(first.folder, "project.json"), "utf8")) as object;
    expect(record).toMatchObject({
      version: 1,
      path: moved,
      formerPaths: [repo, renamed],
      rootCommits: [expect.stringMatching(/^[0-9a-f]{40}$/)],
    });
  });

  it("after a folder without git was renamed", async () => {
    const at = await world();
    const [before, after] = [join(at.work, "before"), join(at.work, "after")];
    await mkdir(before);
    const first = await locate(at, before);
    await rename(before, after);
    expect((await locate(at, after)).folder).toBe(first.folder);
  });

  it("after a folder became a repository and was renamed", async () => {
    const at = await world();
    const [before, after] = [join(at.work, "before"), join(at.work, "after")];
    await mkdir(before);
    const first = await locate(at, before);
    await repository(before);
    expect((await locate(at, before)).folder).toBe(first.folder);
    await rename(before, after);
    expect((await locate(at, after)).folder).toBe(first.folder);
  });

  it("after it was copied to another file system and the original deleted", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const first = await locate(at, repo);
    await cp(repo, join(at.work, "copy"), { recursive: true });
    await rm(repo, { recursive: true });
    expect((await locate(at, join(at.work, "copy"))).folder).toBe(first.folder);
  });

  it("after it was cloned anew in the same place", async () => {
    const at = await world();
    const origin = await repository(join(at.work, "origin"));
    const clone = join(at.work, "clone");
    git(at.work, "clone", origin, clone);
    const first = await locate(at, clone);
    await rm(clone, { recursive: true });
    git(at.work, "clone", origin, clone);
    expect((await locate(at, clone)).folder).toBe(first.folder);
  });

  it("from a worktree whose repository was moved without telling git", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    git(repo, "worktree", "add", join(at.work, "tree"));
    const first = await locate(at, repo);
    const moved = join(at.work, "moved");
    await rename(repo, moved);
    await locate(at, moved);
    expect(await locate(at, join(at.work, "tree"))).toMatchObject({ folder: first.folder, root: moved });
  });

  it("without git on this machine", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const noGit = { home: at.home, rootCommits: async () => undefined };
    const first = await locateProject(storeDeps, { ...noGit, cwd: repo });
    await rename(repo, join(at.work, "renamed"));
    const again = await locateProject(storeDeps, { ...noGit, cwd: join(at.work, "renamed") });
    expect([first, again]).toMatchObject([
      { kind: "located", slug: first.kind === "located" ? first.slug : "" },
      { kind: "located", slug: first.kind === "located" ? first.slug : "" },
    ]);
  });

  it("by processes that start at once in a new project", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const found = await Promise.all(Array.from({ length: 10 }, () => locate(at, repo)));
    expect(new Set(found.map(({ folder }) => folder)).size).toBe(1);
    expect(await listProjects(at.home)).toHaveLength(1);
  });
});

describe("18. Scope: project A never leaks into B", () => {
  it("when B is a clone of A beside it", async () => {
    const at = await world();
    const a = await repository(join(at.work, "a"));
    git(at.work, "clone", a, join(at.work, "b"));
    const inA = await locate(at, a);
    await sessionIn(inA, "s1");
    await rememberIn(inA, "a");
    const inB = await locate(at, join(at.work, "b"));
    expect(inB.folder).not.toBe(inA.folder);
    expect([await sessionsOf(inB), await memoriesOf(inB)]).toEqual([[], []]);
    await rememberIn(inB, "b");
    expect([await memoriesOf(inA), await memoriesOf(inB)]).toEqual([["a.md"], ["b.md"]]);
  });

  it.each([
    ["A's repository", "gitdir: ../a/.git"],
    ["A's worktree", "gitdir: ../a/.git/worktrees/tree"],
    ["a worktree that A does not have", "gitdir: ../a/.git/worktrees/none"],
    ["A's submodule", "gitdir: ../a/.git/modules/sub"],
  ])("when B came with a .git that names %s", async (_what, dotGit) => {
    const at = await world();
    const a = await repository(join(at.work, "a"));
    git(a, "worktree", "add", join(at.work, "tree"));
    git(a, "-c", "protocol.file.allow=always", "submodule", "add", await repository(join(at.work, "origin")), "sub");
    const [first, tree, sub] = [
      await locate(at, a),
      await locate(at, join(at.work, "tree")),
      await locate(at, join(a, "sub")),
    ];
    expect([tree.folder === first.folder, sub.folder === first.folder]).toEqual([true, false]);
    const b = join(at.work, "b");
    await mkdir(b);
    await writeFile(join(b, ".git"), `${dotGit}\n`);
    expect([first.folder, sub.folder]).not.toContain((await locate(at, b)).folder);
  });

  it("when B takes the place that A was moved from", async () => {
    const at = await world();
    const place = await repository(join(at.work, "place"), "a");
    const inA = await locate(at, place);
    await sessionIn(inA, "s1");
    await rememberIn(inA, "a");
    await rename(place, join(at.work, "a"));
    await repository(place, "b");
    const inB = await locate(at, place);
    expect(inB.folder).not.toBe(inA.folder);
    expect(await memoriesOf(inB)).toEqual([]);
    expect(await memoriesOf(await locate(at, join(at.work, "a")))).toEqual(["a.md"]);
    expect(await locate(at, join(at.work, "a"))).toMatchObject({ folder: inA.folder, root: join(at.work, "a") });
    expect((await locate(at, place)).folder).toBe(inB.folder);
  });

  it("when A and B, without git, swap places", async () => {
    const at = await world();
    const [a, b, aside] = [join(at.work, "a"), join(at.work, "b"), join(at.work, "aside")];
    await mkdir(a);
    await mkdir(b);
    const [inA, inB] = [await locate(at, a), await locate(at, b)];
    await rename(a, aside);
    await rename(b, a);
    await rename(aside, b);
    expect(await locate(at, a)).toMatchObject({ folder: inB.folder, root: a });
    expect(await locate(at, b)).toMatchObject({ folder: inA.folder, root: b });
  });

  it("when their paths give the same slug", async () => {
    const at = await world();
    const [a, b] = [join(at.work, "x", "y"), join(at.work, "x-y")];
    await mkdir(a, { recursive: true });
    await mkdir(b);
    const [inA, inB] = [await locate(at, a), await locate(at, b)];
    expect(inB.slug).toBe(`${inA.slug}-2`);
    expect([(await locate(at, a)).folder, (await locate(at, b)).folder]).toEqual([inA.folder, inB.folder]);
  });

  it("when several lost projects share a history: none is guessed", async () => {
    const at = await world();
    const origin = await repository(join(at.work, "origin"));
    const clones = ["one", "two"].map((name) => join(at.work, name));
    for (const clone of clones) {
      git(at.work, "clone", origin, clone);
      await locate(at, clone);
    }
    for (const clone of clones) await rm(clone, { recursive: true });
    git(at.work, "clone", origin, join(at.work, "three"));
    await locate(at, join(at.work, "three"));
    expect(await listProjects(at.home)).toHaveLength(3);
  });
});

describe("18. Scope: nothing is lost or written where it should not be", () => {
  it("writes nothing into the project's own folders", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const before = await snapshot(at.work);
    await sessionIn(await locate(at, repo), "s1");
    expect(await snapshot(at.work)).toEqual(before);
  });

  it("resuming with an unknown path never writes an empty session over an old one", async () => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const known = await locate(at, repo);
    await sessionIn(known, "s1");
    await rememberIn(known, "known");
    const unknown = await locate(at, join(at.work, "no", "such", "folder"));
    expect(await storeIn(unknown).transcripts.openForWriting(sessionId("s1"))).toEqual({ kind: "missing" });
    expect(await findSession(at.home, "s1")).toMatchObject({
      kind: "found",
      project: { folder: known.folder, root: repo },
    });
    expect(await storeIn(known).transcripts.create(sessionId("s1"))).toEqual({ kind: "exists" });
    expect(await readFile(join(known.folder, "s1.jsonl"), "utf8")).not.toBe("");
    expect([await memoriesOf(unknown), await memoriesOf(known)]).toEqual([[], ["known.md"]]);
  });

  it("looking for a project leaves no trace", async () => {
    const at = await world();
    expect(await findProject({ home: at.home, cwd: at.work })).toBeUndefined();
    await expect(stat(at.home)).rejects.toThrow("ENOENT");
    const made = await locate(at, at.work);
    expect(await findProject({ home: at.home, cwd: at.work })).toMatchObject({ folder: made.folder, root: at.work });
  });

  it.each<[string, (path: string) => Promise<void>]>([
    ["a damaged record", (path) => writeFile(path, "{")],
    [
      "a pipe in its place",
      async (path) => {
        await rm(path);
        makePipe(path);
      },
    ],
  ])("%s costs the record, not the sessions and memories", async (_, damage) => {
    const at = await world();
    const repo = await repository(join(at.work, "repo"));
    const first = await locate(at, repo);
    await sessionIn(first, "s1");
    await rememberIn(first, "kept");
    await damage(join(first.folder, "project.json"));
    expect(await sessionsOf(await locate(at, repo))).toEqual(["s1"]);
    expect(await memoriesOf(await locate(at, repo))).toEqual(["kept.md"]);
    expect((await readdir(first.folder)).some((name) => name.startsWith("project.json.damaged-"))).toBe(true);
  });

  it("keeps the record to its owner", async () => {
    const at = await world();
    const { folder } = await locate(at, at.work);
    expect([(await stat(folder)).mode & 0o777, (await stat(join(folder, "project.json"))).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  });
});

describe("18. Scope: a session is found across projects", () => {
  it("by its whole id, else by a beginning that only one has", async () => {
    const at = await world();
    await mkdir(join(at.work, "a"));
    await mkdir(join(at.work, "b"));
    const [a, b] = [await locate(at, join(at.work, "a")), await locate(at, join(at.work, "b"))];
    for (const id of ["abc", "abcd"]) await sessionIn(a, id);
    await sessionIn(b, "xyz");
    expect(await findSession(at.home, "abc")).toMatchObject({ kind: "found", id: "abc" });
    expect(await findSession(at.home, "x")).toMatchObject({
      kind: "found",
      id: "xyz",
      project: { root: join(at.work, "b") },
    });
    expect(await findSession(at.home, "ab")).toMatchObject({
      kind: "ambiguous",
      candidates: [{ id: "abc" }, { id: "abcd" }],
    });
    expect(await findSession(at.home, "nothing")).toEqual({ kind: "missing" });
    expect(await findSession(at.home, "")).toEqual({ kind: "missing" });
  });

  it("in the home that the environment names", () => {
    expect(homeFolder({ PALIMPSEST_HOME: "/x/y", HOME: "/h" })).toBe("/x/y");
    expect(homeFolder({ HOME: "/h" })).toBe("/h/.palimpsest");
    expect(homeFolder({ HOME: "/h", PALIMPSEST_HOME: "" })).toBe("/h/.palimpsest");
  });
});

async function snapshot(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  return await Promise.all(names.map(async (name) => `${name} ${(await stat(join(folder, name))).mtimeMs}`));
}
