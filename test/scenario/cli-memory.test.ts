import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Memory, MemoryRevision } from "../../packages/palimpsest/src/ports/memories.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

const write = (name: string, text: string) => world.callWith({ input: text }, "memory", "edit", name);
const list = async (): Promise<readonly Memory[]> => json(await world.call("memory", "list", "--json"));
const log = async (...name: readonly string[]): Promise<readonly MemoryRevision[]> =>
  json(await world.call("memory", "log", ...name, "--json"));
async function textsOnDisk(): Promise<readonly string[]> {
  const entries = await readdir(world.home, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(2);
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "utf8")));
}
const key = ["ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("_");
const memory = (description: string, body: string): string =>
  `---\nname: Test runner\ndescription: ${description}\ntype: feedback\n---\n\n${body}\n`;

describe("palimpsest memory", () => {
  it("says what to do where there is none, and looking creates nothing", async () => {
    expect((await world.call("memory", "list")).out).toContain("no memories yet");
    expect(globSync("**/memory/**", { cwd: world.home })).toEqual([]);
  });

  it("keeps every version: log, blame, show and revert tell which, by whom and from where", async () => {
    expect((await write("runner", memory("vitest", "Use vitest.\nNot jest."))).code).toBe(0);
    expect((await write("runner", memory("vitest", "Use vitest.\nNever jest."))).code).toBe(0);
    expect(await list()).toMatchObject([
      { path: "runner.md", name: "Test runner", type: "feedback", author: "user", trust: "trusted" },
    ]);
    const [newest, oldest] = await log("runner");
    const blamed = json<{ text: string; revision: string }[]>(await world.call("memory", "blame", "runner", "--json"));
    expect(blamed.find(({ text }) => text === "Use vitest.")?.revision).toBe(oldest?.id);
    expect(blamed.find(({ text }) => text === "Never jest.")?.revision).toBe(newest?.id);
    expect((await world.call("memory", "log", "runner", "--diff")).out).toMatch(/- Not jest\.\n\s+\+ Never jest\./);
    expect((await world.call("memory", "revert", newest?.id ?? "")).out).toContain("was taken back (runner.md)");
    expect((await world.call("memory", "show", "Test runner")).out).toContain("Not jest.");
    const index = globSync("**/MEMORY.md", { cwd: world.home })[0] ?? "";
    expect(await readFile(join(world.home, index), "utf8")).toContain("(runner.md)");
  });

  it("a revision under a later one is refused, and so are unknown names", async () => {
    await write("runner", memory("vitest", "Use vitest.\nNo other."));
    const oldest = (await log("runner")).at(-1);
    expectRefusal(await world.call("memory", "revert", oldest?.id ?? ""), 5, "changed after revision");
    expectRefusal(await world.call("memory", "revert", "r999"), 3, "no revision r999");
    expectRefusal(await world.call("memory", "show", "runer"), 3, "Did you mean runner");
    expectRefusal(await world.call("memory", "undo"), 2, "palimpsest memory revert <revision>");
  });

  it("a text with a secret is refused before anything is written", async () => {
    expectRefusal(await write("deploy", memory("token", `The token is ${key}`)), 5, "looks like a secret");
    for (const text of await textsOnDisk()) expect(text).not.toContain(key);
  });

  it("forget asks, and leaves nothing of it on disk", async () => {
    await write("gone", memory("codename", "The codename is Quetzal."));
    expectRefusal(await world.call("memory", "forget", "gone"), 5, "nobody to ask", "--yes");
    expect((await world.call("memory", "forget", "gone", "--yes")).out).toContain("Forgot 1 memory (gone.md)");
    expect((await list()).map(({ path }) => path)).toEqual(["runner.md"]);
    for (const text of await textsOnDisk()) expect(text).not.toContain("Quetzal");
  });

  it("forget and edit take a whole path or name, never a beginning", async () => {
    const tabs = (name: string): string => `---\nname: ${name}\ndescription: tabs\ntype: user\n---\n\nTabs.\n`;
    await write("tabs", tabs("Tabs"));
    await write("tabs-are-4-wide", tabs("Width of tabs"));
    expect((await world.call("memory", "forget", "tabs", "--yes")).out).toContain("(tabs.md)");
    expectRefusal(await world.call("memory", "forget", "tabs", "--yes"), 3, "Did you mean tabs-are-4-wide.md?");
    expect((await write("tabs-are", tabs("New"))).err).toContain("tabs-are.md: revision");
    expect((await world.call("memory", "show", "tabs-are-4")).out).toContain("name: Width of tabs");
    expect((await world.call("memory", "forget", "tabs-are", "width of tabs", "--yes")).out).toContain("2 memories");
  });

  it("Claude Code's memories come over as untrusted, unless the user vouches for them", async () => {
    const home = await realpath(world.work);
    const folder = join(home, ".claude/projects", home.replaceAll(/[^A-Za-z0-9]/g, "-"), "memory");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "style.md"), memory("style", "Short sentences."));
    await writeFile(join(folder, "login.md"), memory("login", `The token is ${key}.`));
    await writeFile(join(folder, "memory.md"), memory("unfit", "Its name is the index's."));
    const env = { HOME: home };
    const said = await world.callWith({ env }, "memory", "import");
    expect(said.out).toContain("imported 1 memory from");
    expect(said.out).toMatch(/^left out: login\.md: line \d looks like a secret \(/m);
    expect(said.out).toMatch(/^left out: memory\.md: /m);
    for (const text of await textsOnDisk()) expect(text).not.toContain(key);
    expect((await list()).find(({ path }) => path === "style.md")).toMatchObject({
      trust: "untrusted",
      provenance: { importedFrom: "Claude Code" },
    });
    expect((await world.callWith({ env }, "memory", "import")).out).toContain("already here: style.md");
    expect((await world.call("memory", "edit", "style", "--trust")).code).toBe(0);
    expect((await list()).find(({ path }) => path === "style.md")).toMatchObject({ trust: "trusted" });
    expectRefusal(await world.call("memory", "edit", "none-such", "--trust"), 3, "no memory is called");
    await world.callWith({ env }, "memory", "import", "--trust");
    expect((await list()).find(({ path }) => path === "style.md")).toMatchObject({ trust: "trusted" });
    await rm(folder, { recursive: true });
    expect((await world.callWith({ env }, "memory", "import")).out).toContain("There are no memories in");
  });
  it("a memory that is not trusted says how to vouch for it, and then is, with the same text", async () => {
    const folder = join(world.home, dirname(globSync("**/MEMORY.md", { cwd: world.home })[0] ?? ""));
    const marks = join(folder, "../.memory-sessions");
    await mkdir(marks);
    await writeFile(join(marks, "open.lock"), "a session that has just begun");
    await writeFile(join(folder, "spaces.md"), memory("spaces", "Two spaces."));
    const shown = await world.call("memory", "show", "spaces.md");
    expect(shown.err).toContain("palimpsest memory edit --trust spaces.md");
    expect((await world.call("memory", "edit", "--trust", "spaces.md")).code).toBe(0);
    await rm(marks, { recursive: true });
    expect((await list()).find(({ path }) => path === "spaces.md")).toMatchObject({ trust: "trusted", author: "user" });
    expect((await world.call("memory", "show", "spaces.md")).out).toContain("Two spaces.");
    expect((await world.call("memory", "edit", "--trust", "nowhere.md")).code).toBe(3);
  });
});
