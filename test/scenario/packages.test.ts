import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { apiReport, reportFile } from "../../scripts/api-report.ts";
import { beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "../..");
const names = [
  "palimpsest",
  "@palimpsest/simulator",
  "@palimpsest/lab",
  "@palimpsest/gateway",
  "@palimpsest/cli",
] as const;
/** What a library user installs, on disk. */
const installedBytesMax = 15 * 2 ** 20;
const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };

const npm = (cwd: string, ...args: readonly string[]) => run("npm", args, { cwd, env, maxBuffer: 64 * 2 ** 20 });

let packed: string;
const tarball = (name: string): string => join(packed, `${name.replace("@", "").replace("/", "-")}-0.1.0.tgz`);

beforeAll(async () => {
  packed = await mkdtemp(join(tmpdir(), "packed-"));
  await npm(repository, "run", "build");
  await npm(repository, "pack", "--workspaces", "--ignore-scripts", "--pack-destination", packed);
}, 300_000);

it("have the public API of api.md (npm run api writes it)", async () => {
  expect(apiReport()).toBe(await readFile(reportFile, "utf8"));
});

describe.each(names)("the package %s as it is published", (name) => {
  it("has a manifest that says what is there", async () => {
    const content = await readFile(tarball(name));
    const { messages, pkg } = await publint({
      pack: { tarball: content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength) },
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("has types that an ESM program and a bundler find", async () => {
    const attw = join(repository, "node_modules/.bin/attw");
    const checked = await run(process.execPath, [attw, tarball(name), "--profile", "esm-only", "--quiet"], {
      env,
    }).then(
      () => "",
      (error: unknown) => String(error),
    );
    expect(checked).toBe("");
  });
});

describe("an empty project", () => {
  it("installs the engine with one dependency, small, and keeps a conversation", async () => {
    const project = await emptyProject();
    await npm(repository, "pack", "./node_modules/zod", "--ignore-scripts", "--pack-destination", project);
    const zod = (await readdir(project)).find((file) => /^zod-.*\.tgz$/.test(file)) ?? "";
    await npm(project, "install", "--offline", "--no-audit", "--no-fund", tarball("palimpsest"), join(project, zod));
    const modules = join(project, "node_modules");
    expect((await readdir(modules)).filter((file) => !file.startsWith("."))).toEqual(["palimpsest", "zod"]);
    expect(await bytesBelow(modules)).toBeLessThan(installedBytesMax);
    await writeFile(
      join(project, "talk.mjs"),
      `import { openContext } from "palimpsest";
       import { fileStore } from "palimpsest/store/files";
       import { presetNames } from "palimpsest/policy";
       const context = await openContext({ model: "claude-sonnet-5-5", store: fileStore({ folder: "kept" }) });
       await context.user("Fix the failing test");
       const { params } = await context.next();
       const [hit] = await context.recall("failing");
       console.log(JSON.stringify([params.messages[0].role, hit.kind, presetNames.includes("palimpsest")]));
       await context.close();`,
    );
    const { stdout, stderr } = await run(process.execPath, ["talk.mjs"], { cwd: project, env });
    expect([stdout.trim(), stderr]).toEqual(['["user","user",true]', ""]);
    const alone = await run(process.execPath, ["node_modules/palimpsest/bin/palimpsest"], { cwd: project, env }).catch(
      (error: unknown) => error,
    );
    expect(alone).toMatchObject({
      code: 1,
      stderr: /** A matcher has no type of its own. */ expect.stringContaining("npm install @palimpsest/cli") as string,
    });
  });

  it("runs the command line and the demo from what was packed alone", async () => {
    const project = await emptyProject();
    const modules = join(project, "node_modules");
    for (const name of names) {
      await mkdir(join(modules, name), { recursive: true });
      await run("tar", ["-xzf", tarball(name), "-C", join(modules, name), "--strip-components=1"]);
    }
    await linkOtherModules(modules);
    const command = ["node_modules/palimpsest/bin/palimpsest", "-p", "Say hello", "--model", "simulator"];
    const home = { ...env, PALIMPSEST_HOME: join(project, "home") };
    const { stdout } = await run(process.execPath, command, { cwd: project, env: home });
    expect(stdout).toContain("hello");
    // The demo outside of the checkout: what it imports, the packages must offer.
    await cp(join(repository, "examples/demo"), join(project, "demo"), { recursive: true });
    const demo = await run(process.execPath, ["demo/demo.ts"], { cwd: project, env: home });
    expect(demo.stdout).toMatch(/saved +✓/);
  });
});

async function emptyProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "project-"));
  await writeFile(join(project, "package.json"), `{ "name": "project", "private": true, "type": "module" }`);
  return project;
}

/** What our packages depend on, as the checkout has it: no test uses the network. */
async function linkOtherModules(modules: string): Promise<void> {
  for (const name of await readdir(join(repository, "node_modules"))) {
    if (name.startsWith(".") || name === "palimpsest" || name === "@palimpsest") continue;
    await symlink(join(repository, "node_modules", name), join(modules, name));
  }
}

async function bytesBelow(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((total, size) => total + size, 0);
}
