import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { type DefinitionPlaces, findDefinitions } from "./find-definitions.ts";
import { definitionFileBytesMax, definitionFilesMax, definitionsMax } from "./limits.ts";

const agent = (name: string, description: string, more = ""): string =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\nDo it.\n`;

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function world() {
  const base = await temporaryFolder();
  const [root, home, user] = [join(base, "project"), join(base, "own"), join(base, "user")];
  await mkdir(root);
  const folders = {
    project: join(root, ".palimpsest", "agents"),
    projectClaude: join(root, ".claude", "agents"),
    user: join(home, "agents"),
    userClaude: join(user, ".claude", "agents"),
  };
  const find = (trust: DefinitionPlaces["trust"] = "trusted") =>
    findDefinitions({ root, home, env: { HOME: user }, trust });
  return { base, root, home, user, folders, find };
}

describe("finding definitions", () => {
  it("without files there are the built-in ones", async () => {
    const { definitions, problems } = await (await world()).find();
    expect(definitions.map(({ name }) => name)).toEqual(["explore", "general", "plan"]);
    expect(problems).toEqual([]);
  });

  it("the nearest of a name counts, and each other one is named", async () => {
    const { folders, find } = await world();
    const places = [folders.project, folders.projectClaude, folders.user, folders.userClaude];
    for (const place of places) await put(join(place, "reviewer.md"), agent("reviewer", place));
    await put(join(folders.userClaude, "tester.md"), agent("tester", "mine"));
    await put(join(folders.user, "explore.md"), agent("explore", "my own"));
    const { definitions, problems } = await find();
    expect(definitions.map(({ name, description }) => [name, description])).toEqual([
      ["explore", "my own"],
      ["general", expect.any(String)],
      ["plan", expect.any(String)],
      ["reviewer", folders.project],
      ["tester", "mine"],
    ]);
    expect(problems.map(({ severity, path }) => [severity, path])).toEqual(
      places.slice(1).map((place) => ["notice", join(place, "reviewer.md")]),
    );
    expect(definitions.map(({ source }) => source.kind)).toEqual(["user", "built-in", "built-in", "project", "user"]);
  });

  it.each(["unasked", "refused"] as const)(
    "a project's count for nothing while its trust is %s, and that is said",
    async (trust) => {
      const { folders, find } = await world();
      await put(join(folders.project, "general.md"), agent("general", "theirs"));
      await put(join(folders.project, "broken.md"), "x");
      await put(join(folders.userClaude, "mine.md"), agent("mine", "mine"));
      const { definitions, untrusted, problems } = await find(trust);
      expect(untrusted.map(({ name, description }) => [name, description])).toEqual([["general", "theirs"]]);
      expect(definitions.map(({ name, source }) => [name, source.kind])).toEqual([
        ["explore", "built-in"],
        ["general", "built-in"],
        ["mine", "user"],
        ["plan", "built-in"],
      ]);
      expect(problems).toEqual([
        { severity: "notice", path: folders.project, what: "its agent counts only if you trust this project" },
      ]);
    },
  );

  it("what can't be used is named with its reason, without its content, and the others are there", async () => {
    const { base, folders, find } = await world();
    await put(join(folders.project, "a.md"), "no front matter");
    await put(join(folders.project, "b.md"), "\u0000");
    await put(join(folders.project, "c.md"), agent("c", "x", `prompt: ${"y".repeat(definitionFileBytesMax)}\n`));
    await put(join(folders.project, "d.md"), agent("d", "x", "disallowedTools: Foo(bar)\n"));
    await put(join(folders.project, "good.md"), agent("good", "x", "colour: red\n"));
    await put(join(base, "outside.md"), agent("outside", "secret"));
    await symlink(join(base, "outside.md"), join(folders.project, "link.md"));
    await put(join(folders.project, "notes.txt"), "no agent");
    const { definitions, problems } = await find();
    expect(definitions.map(({ name }) => name)).toContain("good");
    expect(definitions).toHaveLength(4);
    const said = problems.map(({ severity, path, what }) => [severity, path.slice(folders.project.length + 1), what]);
    expect(said).toEqual([
      ["error", "a.md", expect.stringContaining("front matter")],
      ["error", "b.md", expect.stringContaining("UTF-8")],
      ["error", "c.md", expect.stringContaining("bytes")],
      ["error", "d.md", expect.stringContaining("disallowedTools: Foo(bar)")],
      ["warning", "good.md", expect.stringContaining("colour is unknown")],
      ["error", "link.md", "it leads out of the project"],
    ]);
    expect(JSON.stringify(problems)).not.toContain("secret");
  });

  it("a folder of the project that leads out is not followed", async () => {
    const { base, root, find } = await world();
    await put(join(base, "elsewhere", "agents", "x.md"), agent("x", "secret"));
    await symlink(join(base, "elsewhere"), join(root, ".claude"));
    const { definitions, problems } = await find();
    expect(definitions).toHaveLength(3);
    expect(problems.map(({ what }) => what)).toEqual(["it leads out of the project"]);
  });

  it("in the user's home folder their definitions are their own, trusted or not, and count once", async () => {
    const { user, folders } = await world();
    await put(join(folders.userClaude, "mine.md"), agent("mine", "mine"));
    const found = await findDefinitions({
      root: user,
      home: join(user, ".palimpsest"),
      env: { HOME: user },
      trust: "unasked",
    });
    expect(found.definitions.map(({ name }) => name)).toContain("mine");
    expect(found.problems).toEqual([]);
  });

  it("files and definitions are bounded", async () => {
    const { folders, find } = await world();
    await mkdir(folders.user, { recursive: true });
    const names = Array.from({ length: definitionFilesMax + 2 }, (_, at) => `a${String(at).padStart(4, "0")}`);
    await Promise.all(names.map((name) => writeFile(join(folders.user, `${name}.md`), agent(name, "x"))));
    const { definitions, problems } = await find();
    expect(definitions).toHaveLength(definitionsMax + 3);
    expect(problems.map(({ what }) => what)).toEqual([
      "2 of its files were not read",
      `only the nearest ${definitionsMax} of ${definitionFilesMax} agents are used`,
    ]);
  });
});
