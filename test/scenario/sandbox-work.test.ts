import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { heldToolbox } from "../fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../fixture/sandbox-available.ts";

const repository = join(import.meta.dirname, "../..");

/** The sample project, under git, in a box where nobody is there to be asked. */
async function sampleProject(allow: readonly string[]) {
  // `node` as the user has it: in a folder of theirs that is on PATH.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
  const box = await heldToolbox({ mode: "default", allow, env });
  await cp(join(repository, "examples/demo/project"), box.project, { recursive: true });
  const git = (...args: string[]) => execFileSync("git", args, { cwd: box.project });
  git("init", "-q");
  git("config", "user.name", "n");
  git("config", "user.email", "e@e");
  git("add", "-A");
  git("commit", "-qm", "one");
  const run = async (command: string): Promise<string> => {
    const called = await box.call("bash", { command });
    if (called.kind !== "ran") throw new Error(`${command}: ${called.kind}: ${called.text}`);
    return called.text;
  };
  /** Must end well. */
  const ran = async (command: string): Promise<string> => {
    const text = await run(command);
    if (/\[exit code \d+\]/.test(text)) throw new Error(`${command}: ${text}`);
    return text;
  };
  return { ...box, run, ran };
}

describe.skipIf(noBubblewrap)(`work in the workspace strength: ${needsBubblewrap("without a question")}`, () => {
  test("npm: the tests of the sample project, scripts, the tree of packages, a lock file", async () => {
    const { run, ran, project } = await sampleProject(["Bash(npm:*)"]);
    // One of them fails by design.
    const outside = spawnSync(process.execPath, ["--test"], { cwd: project, encoding: "utf8" }).stdout;
    const counts = (text: string) => text.match(/(?:tests|pass|fail) \d+/g);
    expect(counts(await run("npm test"))).toEqual(counts(outside));
    expect(counts(outside)?.[0]).toBe("tests 26");
    expect(await ran("npm run")).toContain("node --test");
    expect(await ran("npm ls")).toContain("weir@4.2.0");
    await mkdir(join(project, "part"));
    await writeFile(join(project, "part/package.json"), '{"name":"part","version":"1.0.0"}');
    await ran("npm install ./part --no-audit --no-fund --offline");
    await ran("npm ci --no-audit --no-fund --offline");
    expect(await ran("npm ls")).toContain("part@");
  });

  test("git: status, add, commit, diff, log, branch, stash, merge, rebase, tag", async () => {
    const { ran, project } = await sampleProject(["Bash(git:*)"]);
    await writeFile(join(project, "new.txt"), "text\n");
    await ran("git checkout -q -b side && git status --short && git add -A && git commit -qm two");
    expect(await ran("git diff HEAD~1 --stat")).toContain("new.txt");
    await writeFile(join(project, "new.txt"), "more\n");
    await ran("git stash && git stash pop && git commit -qam three && git tag v1");
    await ran("git checkout -q - && git merge -q side && git rebase -q HEAD~1 && git branch -d side && git gc -q");
    expect(await ran("git log --oneline")).toMatch(/three\n.*two\n.*one/);
    expect(await ran("git describe --tags && git worktree list")).toContain("v1");
  });

  test("a build tool: tsc, with its own output and its incremental state", async () => {
    const { ran, project } = await sampleProject(["Bash(npx:*)", "Bash(node:*)", "Bash(tsc:*)"]);
    await symlink(join(repository, "node_modules"), join(project, "node_modules"));
    await writeFile(join(project, "main.ts"), 'export const text: string = "built";\nconsole.log(text);\n');
    const options = { outDir: "out", incremental: true, module: "nodenext", types: [], skipLibCheck: true };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["main.ts"] }));
    await ran("npx tsc");
    expect(await ran("node out/main.js")).toBe("built");
  });
});
