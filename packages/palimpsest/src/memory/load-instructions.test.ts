import { createHash } from "node:crypto";
import { mkdir, mkdtemp, realpath, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type InstructionPlace, loadInstructions, type ReadInstruction, readInstruction } from "./load-instructions.ts";
import { instructionCharsMax } from "./limits.ts";

const place: InstructionPlace = {
  cwd: "/home/me/code/app/src",
  root: "/home/me/code/app",
  home: "/home/me",
  userFolders: ["/home/me/.claude", "/home/me/.palimpsest"],
  trust: "trusted",
};

/** A disk of texts; `links`: where a path really leads. */
const disk =
  (textByPath: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}): ReadInstruction =>
  async (path) => {
    const realPath = links[path] ?? path;
    const text = textByPath[realPath];
    return text === undefined ? { kind: "missing" } : { kind: "text", text, realPath };
  };

const loaded = async (read: ReadInstruction, where: InstructionPlace = place) => {
  const { files, problems } = await loadInstructions(read, where);
  return { paths: files.map(({ path }) => path.replace("/home/me/", "")), files, problems };
};
const app = (name: string): string => `${place.root}/${name}`;

describe("which files load", () => {
  it("the user's, then each folder's from the root down, local ones behind their folder's", async () => {
    const names = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "CLAUDE.local.md"];
    const folders = ["/home/me/.claude", "/home/me/.palimpsest", "/home/me/code", place.root, place.cwd];
    const all = folders.flatMap((folder) => names.map((name) => [`${folder}/${name}`, name]));
    const { paths, files } = await loaded(disk(Object.fromEntries(all) as Record<string, string>));
    expect(paths).toEqual([
      ".claude/CLAUDE.md",
      ".palimpsest/CLAUDE.md",
      "code/app/CLAUDE.md",
      "code/app/.claude/CLAUDE.md",
      "code/app/CLAUDE.local.md",
      "code/app/src/CLAUDE.md",
      "code/app/src/.claude/CLAUDE.md",
      "code/app/src/CLAUDE.local.md",
    ]);
    expect(new Set(files.map(({ scope }) => scope))).toEqual(new Set(["user", "project", "local"]));
  });

  it("AGENTS.md where a folder has no CLAUDE.md", async () => {
    const read = disk({ [app("AGENTS.md")]: "a", [app("src/AGENTS.md")]: "b", [app("src/CLAUDE.md")]: "c" });
    expect((await loaded(read)).paths).toEqual(["code/app/AGENTS.md", "code/app/src/CLAUDE.md"]);
  });

  it("only those of the folder itself where it is not below the root", async () => {
    const read = disk({ [app("CLAUDE.md")]: "root", "/elsewhere/CLAUDE.md": "here", "/CLAUDE.md": "top" });
    expect((await loaded(read, { ...place, cwd: "/elsewhere" })).paths).toEqual(["/elsewhere/CLAUDE.md"]);
  });

  it("one real file once", async () => {
    const read = disk({ [app("AGENTS.md")]: "a\n@CLAUDE.md" }, { [app("CLAUDE.md")]: app("AGENTS.md") });
    expect((await loaded(read)).paths).toEqual(["code/app/CLAUDE.md"]);
  });

  it("each with the hash of what stands in the file", async () => {
    const text = "rules <!-- x -->\n<!-- y -->\n";
    const { files } = await loaded(disk({ [app("CLAUDE.md")]: text }));
    expect(files).toEqual([
      {
        path: app("CLAUDE.md"),
        scope: "project",
        text: "rules <!-- x -->",
        hash: createHash("sha256").update(text).digest("hex"),
      },
    ]);
  });
});

describe("imports", () => {
  it("stand behind the file that names them, relative to it, and know who named them", async () => {
    const read = disk({
      [app("CLAUDE.md")]: "@docs/a.md and @b.md",
      [app("docs/a.md")]: "@c.md",
      [app("docs/c.md")]: "c",
      [app("b.md")]: "b",
    });
    const { paths, files } = await loaded(read);
    expect(paths).toEqual(["CLAUDE.md", "docs/a.md", "docs/c.md", "b.md"].map((name) => `code/app/${name}`));
    expect(files[2]).toMatchObject({ importedBy: app("docs/a.md"), scope: "project" });
  });

  it("a circle is cut", async () => {
    const read = disk({ [app("CLAUDE.md")]: "@a.md", [app("a.md")]: "@CLAUDE.md @a.md" });
    const { paths, problems } = await loaded(read);
    expect(paths).toEqual(["code/app/CLAUDE.md", "code/app/a.md"]);
    expect(problems).toEqual([]);
  });

  it("reach over four files, not five", async () => {
    const names = ["CLAUDE", "1", "2", "3", "4", "5"];
    const chain = names.map((name, at) => [app(`${name}.md`), `@${names[at + 1] ?? "none"}.md`]);
    const { paths, problems } = await loaded(disk(Object.fromEntries(chain) as Record<string, string>));
    expect(paths.at(-1)).toBe("code/app/4.md");
    expect(problems).toEqual([`${app("4.md")} imports @5.md over more than 4 files; left out`]);
  });

  it("what is not there is said, unless it may be a name", async () => {
    const { problems } = await loaded(disk({ [app("CLAUDE.md")]: "Ask @ann about @scope/package and @./gone @x.md" }));
    expect(problems).toEqual(
      ["./gone", "x.md"].map((path) => `${app("CLAUDE.md")} imports @${path}, which is not there`),
    );
  });

  it.each([
    ["project", "@~/.ssh/id_rsa", "/home/me/.ssh/id_rsa", "refused"],
    ["project", "@~/.claude/.credentials.json", "/home/me/.claude/.credentials.json", "refused"],
    ["project", "@../other/x.md", "/home/me/code/other/x.md", "refused"],
    ["project", "@~/.claude/mine.md", "/home/me/.claude/mine.md", "taken"],
    ["project", "@data.json", app("data.json"), "taken"],
    ["user", "@~/notes/x.md", "/home/me/notes/x.md", "taken"],
    ["user", "@/etc/passwd", "/etc/passwd", "refused"],
  ])("a %s's %s, which leads to %s, is %s", async (whose, text, target, fate) => {
    const from = whose === "user" ? "/home/me/.claude/CLAUDE.md" : app("CLAUDE.md");
    const { files, problems } = await loaded(disk({ [from]: text, [target]: "content" }));
    expect(files.some(({ path }) => path === target)).toBe(fate === "taken");
    expect(problems).toHaveLength(fate === "taken" ? 0 : 1);
  });

  it("a project's link that leads outside is refused, the user's own is not", async () => {
    const keys = { "/home/me/.ssh/id_rsa": "key", "/nix/store/x": "mine" };
    const links = { [app("CLAUDE.md")]: "/home/me/.ssh/id_rsa", "/home/me/.claude/CLAUDE.md": "/nix/store/x" };
    const { paths, problems } = await loaded(disk(keys, links));
    expect(paths).toEqual([".claude/CLAUDE.md"]);
    expect(problems).toEqual([`${app("CLAUDE.md")} lies outside of where instructions may come from and was left out`]);
  });
});

describe("of a project that nobody trusts", () => {
  const untrusted: InstructionPlace = { ...place, trust: "untrusted" };
  const texts = {
    "/home/me/.claude/CLAUDE.md": "mine, with @~/notes/rules.md",
    "/home/me/notes/rules.md": "my rules",
    "/home/me/.claude/style.md": "my style",
    "/home/me/.claude/other.md": "another of mine",
    [app("CLAUDE.md")]: "its own, with @docs/more.md and @~/.claude/style.md",
    [app("docs/more.md")]: "more of its own",
  };

  it("its files are read, what they import from outside is not, and that is said", async () => {
    const links = { [app("src/CLAUDE.md")]: "/home/me/.claude/other.md" };
    const { paths, problems } = await loaded(disk(texts, links), untrusted);
    expect(paths).toEqual([".claude/CLAUDE.md", "notes/rules.md", "code/app/CLAUDE.md", "code/app/docs/more.md"]);
    const left = "lies outside of the project and was left out, because the project is not trusted";
    expect(problems).toEqual([`/home/me/.claude/style.md ${left}`, `${app("src/CLAUDE.md")} ${left}`]);
    expect((await loadInstructions(disk(texts, links), untrusted)).untrusted).toEqual([
      { path: "/home/me/.claude/style.md", importedBy: app("CLAUDE.md") },
      { path: app("src/CLAUDE.md") },
    ]);
  });

  it("trusted, it brings in all of them", async () => {
    const { files, untrusted: left, problems } = await loadInstructions(disk(texts), place);
    expect([files.length, left, problems]).toEqual([5, [], []]);
  });
});

describe("limits", () => {
  it("a long file is said, what is too much is left out and said", async () => {
    const read = disk({
      [app("CLAUDE.md")]: "x".repeat(50_000),
      [app("CLAUDE.local.md")]: "y".repeat(instructionCharsMax),
      [app("src/CLAUDE.md")]: "z\0",
    });
    const { paths, problems } = await loaded(read);
    expect(paths).toEqual(["code/app/CLAUDE.md"]);
    expect(problems).toEqual([
      `${app("CLAUDE.md")} has 50,000 characters, which every request carries`,
      `${app("CLAUDE.local.md")} was left out: instructions are at most 100 files and 200,000 characters`,
      `${app("src/CLAUDE.md")} is no text and was left out`,
    ]);
  });

  it("from the disk: files by their real paths, folders are none, a huge one is left out", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "instructions-")));
    await mkdir(join(folder, ".claude/CLAUDE.md"), { recursive: true });
    await writeFile(join(folder, "AGENTS.md"), "from agents");
    await symlink("AGENTS.md", join(folder, "CLAUDE.md"));
    await writeFile(join(folder, "CLAUDE.local.md"), "");
    await truncate(join(folder, "CLAUDE.local.md"), 5 * 2 ** 20);
    const { files, problems } = await loadInstructions(readInstruction, {
      cwd: folder,
      root: folder,
      home: folder,
      userFolders: [],
      trust: "untrusted",
    });
    expect(files).toMatchObject([{ path: join(folder, "CLAUDE.md"), text: "from agents" }]);
    expect(problems).toEqual([`${join(folder, "CLAUDE.local.md")} is larger than 4,194,304 bytes and was left out`]);
  });
});
