import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import { findSkills, type Skill } from "./find-skills.ts";
import { skillBodyCharsMax } from "./limits.ts";
import { type Skills, skillTool, renderSkill } from "./skill-tool.ts";

const skillText = (description: string, body = "Do it."): string => `---\ndescription: ${description}\n---\n${body}\n`;

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function places() {
  const base = await temporaryFolder();
  const [user, project] = [join(base, "user"), join(base, "project", "skills")];
  await Promise.all([mkdir(user), mkdir(project, { recursive: true })]);
  const found = () => findSkills([{ folder: user }, { folder: project, within: join(base, "project") }]);
  return { base, user, project, found };
}

describe("finding skills", () => {
  it("each folder with a SKILL.md is one, in the order of their names", async () => {
    const { user, project, found } = await places();
    await put(join(user, "zeta", "SKILL.md"), skillText("of the user"));
    await put(join(project, "alpha", "SKILL.md"), skillText("of the project"));
    await put(join(user, "notes.txt"), "no skill");
    await mkdir(join(user, "empty"));
    const { skills, problems } = await found();
    expect(skills.map(({ name, folder }) => [name, folder])).toEqual([
      ["alpha", join(project, "alpha")],
      ["zeta", join(user, "zeta")],
    ]);
    expect(problems).toEqual([]);
  });

  it("a project's never takes the place of the user's own, and that is told", async () => {
    const { user, project, found } = await places();
    await put(join(user, "commit", "SKILL.md"), skillText("mine"));
    await put(join(project, "commit", "SKILL.md"), skillText("theirs"));
    const { skills, problems } = await found();
    expect(skills.map(({ description }) => description)).toEqual(["mine"]);
    expect(problems).toEqual([expect.stringContaining(join(project, "commit", "SKILL.md"))]);
  });

  it("what can't be used is told and the others are there nevertheless", async () => {
    const { base, user, project, found } = await places();
    await put(join(user, "Bad Name", "SKILL.md"), skillText("x"));
    await put(join(user, "bare", "SKILL.md"), "no front matter");
    await put(join(user, "binary", "SKILL.md"), "\u0000\u0001");
    await put(join(user, "good", "SKILL.md"), skillText("x"));
    await put(join(base, "outside", "SKILL.md"), skillText("secret"));
    await symlink(join(base, "outside"), join(project, "link"));
    const { skills, problems } = await found();
    expect(skills.map(({ name }) => name)).toEqual(["good"]);
    expect(problems.map((one) => /lower-case letters|front matter|UTF-8|out of the project/.exec(one)?.[0])).toEqual([
      "lower-case letters",
      "front matter",
      "UTF-8",
      "out of the project",
    ]);
    expect(problems.join("")).not.toContain("secret");
  });

  it("a place that is not there holds none", async () => {
    expect(await findSkills([{ folder: "/nowhere/skills" }])).toEqual({ skills: [], problems: [] });
  });
});

const skill = (over: Partial<Skill> = {}): Skill => ({
  name: "commit",
  description: "For commits.",
  allowedTools: [],
  callers: "all",
  folder: "/skills/commit",
  path: "/skills/commit/SKILL.md",
  body: "Write a message.",
  ...over,
});

const skillsOf = (list: readonly Skill[], mayRead: Skills["mayRead"] = () => true): Skills => ({
  find: async () => ({ skills: list, problems: [] }),
  mayRead,
});

async function called(skills: Skills, input: JsonObject): Promise<string> {
  const context = { toolUse: toolUseId("t"), cwd: "/", files: createReadFiles(), now: millis(0) };
  const plan = await skillTool({ skills }).plan(input, context);
  if (plan.kind === "wrong") return plan.message;
  const { content } = await plan.run(new AbortController().signal);
  return typeof content === "string" ? content : JSON.stringify(content);
}

describe("the tool", () => {
  it("gives the text and the folder of the skill", async () => {
    expect(await called(skillsOf([skill()]), { name: "commit" })).toBe(
      "Skill commit. Files that it names are in /skills/commit.\n\nWrite a message.",
    );
  });

  it("tools that a skill wants are told, and nothing is allowed by it", async () => {
    const told = await called(skillsOf([skill({ allowedTools: ["Bash(rm:*)"] })]), { name: "commit" });
    expect(told).toContain("It counts on Bash(rm:*); what needs leave still does.");
  });

  it("a name that is not known is answered with those that are", async () => {
    const list = [skill(), skill({ name: "hidden", callers: "people" }), skill({ name: "banned", path: "/secret" })];
    const skills = skillsOf(list, (path) => path !== "/secret");
    for (const name of ["hidden", "banned", "other"])
      expect(await called(skills, { name })).toBe(
        `There is no skill called ${JSON.stringify(name)}. There are: commit.`,
      );
  });

  it.each([
    ["in place of $ARGUMENTS, wherever it stands", "Fix $ARGUMENTS, then $ARGUMENTS.", "Fix $& 7, then $& 7."],
    ["behind a text that names none", "Fix it.", "Fix it.\n\nArguments: $& 7"],
  ])("arguments are put %s", (_, body, expected) => {
    expect(renderSkill(skill({ body }), " $& 7 ")).toMatch(new RegExp(`\n\n${RegExp.escape(expected)}$`));
  });

  it("a text that is too long is cut, with where the rest is", () => {
    const told = renderSkill(skill({ body: "x".repeat(2 * skillBodyCharsMax) }), undefined);
    expect(told.length).toBeLessThan(skillBodyCharsMax + 300);
    expect(told).toMatch(/\(cut; read \/skills\/commit\/SKILL\.md for the rest\)$/);
  });
});
