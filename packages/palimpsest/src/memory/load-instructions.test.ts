import { createHash } from "node:crypto";
import { mkdir, mkdtemp, realpath, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type InstructionFiles, instructionFiles } from "./instruction-files.ts";
import type { InstructionPlace } from "./load-instruction-file.ts";
import { loadFolderInstructions, loadInstructions, loadMatchedRule } from "./load-instructions.ts";
import { instructionCharsMax } from "./limits.ts";

const place: InstructionPlace = {
  cwd: "/home/me/code/app/src",
  root: "/home/me/code/app",
  home: "/home/me",
  managedFolders: ["/etc/claude-code"],
  userFolders: ["/home/me/.claude", "/home/me/.palimpsest"],
  trust: "trusted",
  importAnswers: new Map(),
  excludes: [],
  foreign: [],
  named: [],
};

/** A disk of texts; `links`: where a path really leads. */
const disk = (
  textByPath: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
): InstructionFiles => ({
  find: async (path) => {
    const realPath = links[path] ?? path;
    return textByPath[realPath] === undefined ? { kind: "missing" } : { kind: "file", realPath };
  },
  read: async (realPath) => ({ kind: "text", text: textByPath[realPath] ?? "" }),
  list: async (folder) => ({
    paths: [...Object.keys(textByPath), ...Object.keys(links)]
      .filter((path) => path.startsWith(`${folder}/`))
      .toSorted(),
    reach: "all",
  }),
});

const loaded = async (read: InstructionFiles, where: InstructionPlace = place) => {
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
    ["project", "@../other/x.md", "/home/me/code/other/x.md", "asked"],
    ["project", "@~/.claude/mine.md", "/home/me/.claude/mine.md", "asked"],
    ["project", "@data.json", app("data.json"), "taken"],
    ["user", "@~/notes/x.md", "/home/me/notes/x.md", "taken"],
    ["user", "@/opt/team/x.md", "/opt/team/x.md", "asked"],
    ["user", "@/etc/passwd", "/etc/passwd", "refused"],
    ["machine", "@/opt/policy/rules", "/opt/policy/rules", "taken"],
  ])("a %s's %s, which leads to %s, is %s", async (whose, text, target, fate) => {
    const folder = { user: "/home/me/.claude", machine: "/etc/claude-code", project: place.root }[whose] ?? "";
    const from = `${folder}/CLAUDE.md`;
    const outcome = await loadInstructions(disk({ [from]: text, [target]: "content" }), place);
    expect(outcome.files.some(({ path }) => path === target)).toBe(fate === "taken");
    expect(outcome.problems).toHaveLength(fate === "taken" ? 0 : 1);
    expect(outcome.asked).toEqual(
      fate === "asked" ? [{ path: target, realPath: target, importedBy: from, answer: "unasked" }] : [],
    );
  });

  it("a project's link that leads outside is not followed, the user's own is", async () => {
    const texts = { "/home/me/.ssh/id_rsa": "key", "/nix/store/x": "mine", "/home/me/other/rules.md": "other" };
    const links = {
      [app("CLAUDE.md")]: "/home/me/.ssh/id_rsa",
      [app("src/CLAUDE.md")]: "/home/me/other/rules.md",
      "/home/me/.claude/CLAUDE.md": "/nix/store/x",
    };
    const { files, problems, asked } = await loadInstructions(disk(texts, links), place);
    expect(files.map(({ path }) => path)).toEqual(["/home/me/.claude/CLAUDE.md"]);
    expect(problems).toEqual([
      `${app("CLAUDE.md")} lies outside of where instructions may come from and was left out`,
      `${app("src/CLAUDE.md")} lies outside of the project and was left out; to include it, answer the question of a chat, or add it to "allowedImports" in your settings.json`,
    ]);
    expect(asked).toEqual([{ path: app("src/CLAUDE.md"), realPath: "/home/me/other/rules.md", answer: "unasked" }]);
  });
});

describe("a file outside of the project", () => {
  const outside = "/home/me/notes/style.md";
  const texts = { [app("CLAUDE.md")]: "its own, with @~/notes/style.md", [outside]: "my style" };
  const readPaths: string[] = [];
  const watched: InstructionFiles = {
    ...disk(texts),
    read: async (path) => {
      readPaths.push(path);
      return await disk(texts).read(path);
    },
  };

  it.each([
    ["trusted", undefined, "left out", 1],
    ["unasked", undefined, "left out", 1],
    ["trusted", "allowed", "loaded", 0],
    ["trusted", "left-out", "left out", 0],
    ["refused", undefined, "left out", 1],
    ["refused", "allowed", "left out", 1],
  ] as const)("of a project that is %s, answered %s, is %s", async (trust, answer, fate, problems) => {
    readPaths.length = 0;
    const importAnswers = new Map(answer === undefined ? [] : [[outside, answer]]);
    const outcome = await loadInstructions(watched, { ...place, trust, importAnswers });
    expect(outcome.files.some(({ path }) => path === outside)).toBe(fate === "loaded");
    expect(readPaths.includes(outside)).toBe(fate === "loaded");
    expect(outcome.problems).toHaveLength(problems);
    expect(outcome.asked.map((one) => one.answer)).toEqual(trust === "refused" ? [] : [answer ?? "unasked"]);
  });
});

describe("rules", () => {
  const texts = {
    "/home/me/.claude/rules/tone.md": "be brief",
    "/home/me/.claude/rules/go.md": "---\npaths: '**/*.go'\n---\ngo rules",
    [app(".claude/rules/general.md")]: "---\nowner: me\n---\ngeneral",
    [app(".claude/rules/api/rest.md")]: "---\npaths:\n  - src/api/**\n---\nrest, see @more.md",
    [app(".claude/rules/api/more.md")]: "---\npaths: never/seen\n---\nmore",
    [app(".claude/rules/logo.png")]: "no rule",
    [app("CLAUDE.md")]: "main",
  };

  it("without paths load behind their folder's file, those with paths are returned", async () => {
    const { files, rules } = await loadInstructions(disk(texts), place);
    expect(files.map(({ path, scope, text }) => [path, scope, text])).toEqual([
      ["/home/me/.claude/rules/tone.md", "user", "be brief"],
      [app("CLAUDE.md"), "project", "main"],
      [app(".claude/rules/general.md"), "project", "general"],
    ]);
    expect(rules.map(({ path, scope, text, patterns, base }) => ({ path, scope, text, patterns, base }))).toEqual([
      {
        path: "/home/me/.claude/rules/go.md",
        scope: "user",
        text: "go rules",
        patterns: ["**/*.go"],
        base: place.root,
      },
      {
        path: app(".claude/rules/api/more.md"),
        scope: "project",
        text: "more",
        patterns: ["never/seen"],
        base: place.root,
      },
      {
        path: app(".claude/rules/api/rest.md"),
        scope: "project",
        text: "rest, see @more.md",
        patterns: ["src/api/**"],
        base: place.root,
      },
    ]);
  });

  it("that a path has matched load with their imports", async () => {
    const { rules, seen } = await loadInstructions(disk(texts), place);
    const rule = rules.find(({ path }) => path.endsWith("rest.md"));
    if (rule === undefined) throw new Error("there is such a rule");
    const { files } = await loadMatchedRule(disk(texts), { place, rule, seen });
    expect(files.map(({ path }) => path)).toEqual([rule.path, app(".claude/rules/api/more.md")]);
  });

  it("and files of other folders load without what is there already", async () => {
    const nested = {
      ...texts,
      [app("lib/CLAUDE.md")]: "lib, see @../CLAUDE.md",
      [app("lib/.claude/rules/x.md")]: "---\npaths: x\n---\nx",
    };
    const { seen } = await loadInstructions(disk(nested), place);
    const { files, rules } = await loadFolderInstructions(disk(nested), { place, folders: [app("lib")], seen });
    expect(files.map(({ path }) => path)).toEqual([app("lib/CLAUDE.md")]);
    expect(rules).toMatchObject([{ base: app("lib"), patterns: ["x"] }]);
  });
});

describe("the whole order", () => {
  const all: InstructionPlace = {
    ...place,
    managedFolders: ["/etc/claude-code", "/etc/palimpsest"],
    foreign: ["gemini", "copilot", "cursor"],
    named: [
      { written: "~/notes/*.md", scope: "user" },
      { written: "CONTRIBUTING.md", scope: "user" },
      { written: "docs/**/*.md", scope: "project" },
      { written: "https://rules.example/a.md", scope: "project" },
    ],
  };
  const rows = [
    ["managed", "/etc/claude-code/CLAUDE.md"],
    ["managed", "/etc/claude-code/.claude/rules/a.md"],
    ["managed", "/etc/palimpsest/AGENTS.md"],
    ["user", "/home/me/.claude/CLAUDE.md"],
    ["user", "/home/me/.claude/rules/deep/er/a.md"],
    ["user", "/home/me/.palimpsest/AGENTS.md"],
    ["user", "/home/me/.palimpsest/rules/a.md"],
    ["user", "/home/me/notes/a.md"],
    ["user", "/home/me/notes/b.md"],
    ["project", app("CONTRIBUTING.md")],
    ["project", app("AGENTS.md")],
    ["project", app("CONTEXT.md")],
    ["project", app(".claude/rules/a.md")],
    ["project", app("GEMINI.md")],
    ["project", app(".github/copilot-instructions.md")],
    ["project", app(".cursor/rules/a.mdc")],
    ["local", app("CLAUDE.local.md")],
    ["project", app("docs/a.md")],
    ["project", app("docs/deep/b.md")],
    ["project", "https://rules.example/a.md"],
    ["project", app("src/CLAUDE.md")],
    ["project", app("src/.claude/CLAUDE.md")],
    ["project", app("src/.claude/rules/a.md")],
    ["project", app("src/GEMINI.md")],
    ["local", app("src/CLAUDE.local.md")],
  ] as const;
  const texts = Object.fromEntries([
    ...rows.map(([, path]) => [path, `text of ${path}`]),
    [app(".cursor/rules/a.mdc"), "---\nalwaysApply: true\n---\ncursor"],
    [app(".cursor/rules/b.mdc"), "---\nglobs: *.ts\n---\nfor files"],
    [app(".cursor/rules/c.mdc"), "---\ndescription: when asked\n---\nby hand"],
    [app("src/AGENTS.md"), "not read: there is a CLAUDE.md"],
    [app("src/CONTEXT.md"), "not read either"],
    ["/home/me/notes/c.txt", "does not match"],
    ["/home/me/code/CLAUDE.md", "above the root"],
  ]) as Record<string, string>;
  const source: InstructionFiles = {
    ...disk(texts),
    fetch: async (url) => ({ kind: "text", text: texts[url] ?? "", fetchedOn: "2026-11-15" }),
  };

  it("is broad to narrow, each with its scope", async () => {
    const { files, rules, problems } = await loadInstructions(source, all);
    expect(files.map(({ scope, path }) => [scope, path])).toEqual(rows);
    expect(files.find(({ path }) => path.startsWith("https:"))?.fetchedOn).toBe("2026-11-15");
    expect(rules).toMatchObject([{ path: app(".cursor/rules/b.mdc"), patterns: ["*.ts"], base: place.root }]);
    expect(problems).toEqual([
      `${app(".cursor/rules/c.mdc")} was left out: it neither always applies nor names files that it applies to`,
    ]);
  });

  it("has nothing of other agents' files unless the settings say so", async () => {
    const { files } = await loadInstructions(source, { ...all, foreign: [] });
    expect(files.filter(({ path }) => /GEMINI|copilot|cursor/.test(path))).toEqual([]);
  });

  it.each([
    ["**/src/CLAUDE.md", [app("src/CLAUDE.md")]],
    ["/home/me/code/app/.claude/rules/**", [app(".claude/rules/a.md")]],
    ["/etc/**", []],
    ["/home/me/{.claude,.palimpsest}/**", rows.slice(3, 7).map(([, path]) => path)],
  ])("without what %s excludes", async (pattern, left) => {
    const { files, excluded } = await loadInstructions(source, { ...all, excludes: [pattern] });
    expect(excluded).toEqual(left);
    expect(files.map(({ path }) => path)).toEqual(rows.map(([, path]) => path).filter((path) => !left.includes(path)));
  });

  it("says what the settings name in vain, and follows no import of an address", async () => {
    const named = ["docs/gone.md", "gone/*.md", "http://a.example/x", "https://a.example/x", "https://b.example/x"];
    const fetch: InstructionFiles["fetch"] = async (url) =>
      url.includes("//a.")
        ? { kind: "failed", why: "there is no such host" }
        : { kind: "text", text: "see @CLAUDE.md", fetchedOn: "2026-11-15", notice: "an old copy" };
    const outcome = await loadInstructions(
      { ...disk({}), fetch },
      { ...place, named: named.map((written) => ({ written, scope: "user" })) },
    );
    expect(outcome.problems).toEqual([
      "the settings name docs/gone.md for instructions, which is not there",
      "the settings name gone/*.md for instructions, which is not there",
      "http://a.example/x was left out: instructions come from files and https addresses",
      "https://a.example/x was left out: there is no such host",
      "an old copy",
    ]);
    expect(outcome.files.map(({ text }) => text)).toEqual(["see @CLAUDE.md"]);
  });

  it("asks all addresses at once, each once, and keeps their order", async () => {
    const named = [
      "https://a.example/x",
      "https://b.example/x",
      "docs/gone.md",
      "https://c.example/x",
      "https://a.example/x",
    ];
    const asked: string[] = [];
    const allAsked = Promise.withResolvers<void>();
    const fetch: InstructionFiles["fetch"] = async (url) => {
      if (asked.push(url) === 3) allAsked.resolve();
      await allAsked.promise;
      return { kind: "text", text: url, fetchedOn: "2026-11-15" };
    };
    const { files } = await loadInstructions(
      { ...disk({}), fetch },
      { ...place, named: named.map((written, at) => ({ written, scope: at === 0 ? "project" : "user" })) },
    );
    expect(asked).toHaveLength(3);
    expect(files.map(({ text }) => text)).toEqual([
      "https://b.example/x",
      "https://c.example/x",
      "https://a.example/x",
    ]);
  });

  it("says which files are the same one", async () => {
    const links = { [app("CLAUDE.md")]: app("AGENTS.md") };
    const { duplicates } = await loadInstructions(disk({ [app("AGENTS.md")]: "see @AGENTS.md" }, links), place);
    expect(duplicates).toEqual([{ path: app("AGENTS.md"), sameAs: app("CLAUDE.md") }]);
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
    const { files, problems } = await loadInstructions(instructionFiles, {
      ...place,
      cwd: folder,
      root: folder,
      home: folder,
      managedFolders: [],
      userFolders: [],
    });
    expect(files).toMatchObject([{ path: join(folder, "CLAUDE.md"), text: "from agents" }]);
    expect(problems).toEqual([`${join(folder, "CLAUDE.local.md")} is larger than 4,194,304 bytes and was left out`]);
  });

  it("a link that takes a file's place after it was judged is not followed", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "instructions-")));
    const path = join(folder, "CLAUDE.md");
    await writeFile(join(folder, "secret"), "a key");
    await symlink("secret", path);
    expect(await instructionFiles.read(path)).toEqual({ kind: "unreadable", why: "ELOOP" });
    expect(await instructionFiles.read(folder)).toMatchObject({ kind: "unreadable" });
  });

  it("a folder of rules is listed with its links; a link in a circle ends", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "rules-")));
    await mkdir(join(folder, "rules/a"), { recursive: true });
    await mkdir(join(folder, "shared/node_modules"), { recursive: true });
    for (const name of ["rules/z.md", "rules/a/b.md", "shared/s.md", "shared/node_modules/n.md"])
      await writeFile(join(folder, name), "x");
    await symlink("../shared", join(folder, "rules/linked"));
    await symlink("..", join(folder, "rules/a/up"));
    const { paths, reach } = await instructionFiles.list(join(folder, "rules"));
    expect(paths.map((path) => path.slice(folder.length + 1))).toEqual([
      "rules/a/b.md",
      "rules/linked/s.md",
      "rules/z.md",
    ]);
    expect([reach, await instructionFiles.list(join(folder, "none"))]).toEqual(["all", { paths: [], reach: "all" }]);
  });
});
