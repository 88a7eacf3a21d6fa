import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readInstructions } from "./read-instructions.ts";

it("reads the user's files and the project's for a system prompt, and nothing from outside of the project", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "instructions-")));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  await mkdir(join(home, ".claude"), { recursive: true });
  await mkdir(join(project, ".git"), { recursive: true });
  await writeFile(join(home, ".claude/CLAUDE.md"), "Mine.");
  await writeFile(join(folder, "secret.md"), "Not for a clone.");
  await writeFile(join(project, "AGENTS.md"), "The project's. @../secret.md");
  const { system, files, problems } = await readInstructions({ cwd: project, home });
  expect(files.map(({ scope }) => scope)).toEqual(["user", "project"]);
  expect(system[0]).toBe(
    `# Instructions from ${join(home, ".claude/CLAUDE.md")}\n(the user's own, for all projects)\n\nMine.`,
  );
  expect(system.join("\n")).not.toContain("Not for a clone.");
  expect(problems.join("\n")).toContain("secret.md");
});
