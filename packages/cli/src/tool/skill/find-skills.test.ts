import { describe, expect, it, test } from "vitest";
import { isSkillName, parseSkillText } from "./find-skills.ts";
import { skillDescriptionCharsMax, skillFrontCharsMax } from "./limits.ts";

const file = (head: string, body = "Do it."): string => `---\n${head}\n---\n${body}`;

describe("front matter", () => {
  test.each<[string, string, object]>([
    ["the two fields that count", file("name: a-b\ndescription: For x."), { name: "a-b", description: "For x." }],
    ["a name left to the folder", file("description: For x."), { description: "For x." }],
    ["line breaks of Windows and a byte order mark", `\uFEFF---\r\ndescription: For x.\r\n---\r\nDo it.`, {}],
    ["a folded description", file("description: >\n  For x\n  and y."), { description: "For x and y." }],
    ["a colon that is no YAML", file("description: Use when: asked"), { description: "Use when: asked" }],
    [
      "tools as a text",
      file("description: x\nallowed-tools: Bash(git add:*), Read"),
      { allowedTools: ["Bash(git add:*)", "Read"] },
    ],
    ["tools as a list", file("description: x\nallowed-tools:\n  - Read\n  - Grep"), { allowedTools: ["Read", "Grep"] }],
    ["keys of other agents", file("description: x\nlicense: MIT\nmodel: opus"), { description: "x" }],
    ["one for people only", file("description: x\ndisable-model-invocation: true"), { callers: "people" }],
    [
      "that also where the rest is no YAML",
      file("description: a: b\ndisable-model-invocation: true"),
      { callers: "people" },
    ],
  ])("is read with %s", async (_, source, front) => {
    expect(await parseSkillText(source)).toMatchObject({ kind: "skill", front, body: "Do it." });
  });

  test.each<[string, string, RegExp]>([
    ["no front matter", "# Skill", /does not begin with front matter/],
    ["one that does not end", "---\ndescription: x\n", /does not begin with front matter/],
    ["no description", file("name: a"), /^description in its front matter/],
    ["an empty one", file('description: "  "'), /^description in its front matter/],
    ["a name that is a list", file("name: [a]\ndescription: x"), /^name in its front matter/],
    ["a list in place of fields", file("- a"), /can't be read/],
    ["more than a head", file(`description: ${"x".repeat(skillFrontCharsMax)}`), /more than/],
  ])("is refused with %s", async (_, source, why) => {
    expect(await parseSkillText(source)).toMatchObject({ kind: "wrong", why: expect.stringMatching(why) as unknown });
  });

  it("a description is one line of bounded length: it stands in a list", async () => {
    const read = await parseSkillText(file(`description: "a\\n- evil: b\\u2028${"x".repeat(2_000)}"`));
    const description = read.kind === "skill" ? read.front.description : "";
    expect(description).toMatch(/^a - evil: b x+$/);
    expect(description).toHaveLength(skillDescriptionCharsMax);
  });

  it("aliases are not expanded, so that a few lines can't become gigabytes", async () => {
    const head = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\ndescription: x";
    expect(await parseSkillText(file(head))).toMatchObject({ kind: "skill", front: { description: "x" } });
  });
});

test.each([
  ["a", true],
  ["commit-2", true],
  ["x".repeat(64), true],
  ["x".repeat(65), false],
  ["Commit", false],
  ["a--b", false],
  ["-a", false],
  ["a/b", false],
  ["..", false],
  ["", false],
  ["a\nb", false],
])("%j is a skill's name: %s", (name, expected) => {
  expect(isSkillName(name)).toBe(expected);
});
