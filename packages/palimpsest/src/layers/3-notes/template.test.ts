import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  notesSections,
  isBare,
  defaultTemplate,
  readNotes,
  readTemplate,
  renderNotes,
  templateProblem,
} from "./notes.ts";

const bare = renderNotes(defaultTemplate);
const bodyOf = (text: string, title: string): string | undefined =>
  readNotes(text, defaultTemplate).sections.find(({ heading }) => heading === `# ${title}`)?.body;

describe("the template", () => {
  it("is as it was reviewed", () => {
    expect(bare).toMatchSnapshot();
  });

  it("has the ten sections of the spec, in order, each with a hint of one line", () => {
    expect(notesSections.map(({ title }) => title)).toEqual([
      "Session Title",
      "Current State",
      "Task specification",
      "Files and Functions",
      "Workflow",
      "Errors & Corrections",
      "Codebase and System Documentation",
      "Learnings",
      "Key results",
      "Worklog",
    ]);
    for (const { hint } of notesSections) expect(hint).toMatch(/^[^\n_]+$/);
  });

  it("is read back as what it is", () => {
    expect(readTemplate(bare)).toEqual(defaultTemplate);
    expect(isBare(readNotes(bare, defaultTemplate), defaultTemplate)).toBe(true);
  });
});

describe("the user's own template", () => {
  const cases: readonly (readonly [string, string, string | undefined])[] = [
    ["with a heading will do", "# Plan\n", undefined],
    ["of any level, with words around them, too", "Ours.\n\n### Plan\n_What next_\n\n## Log\n", undefined],
    ["without a heading keeps no section", "Plan:\n\nLog:\n", "no heading"],
    ["with headings only in code keeps none either", "```\n# Plan\n```\n", "no heading"],
    ["with a heading twice could not tell them apart", "# Plan\n\n## plan:\n", "called plan"],
  ];
  it.each(cases)("%s", (_, text, problem) => {
    expect(templateProblem(readTemplate(text)) ?? "").toContain(problem ?? "");
    expect(templateProblem(readTemplate(text)) === undefined).toBe(problem === undefined);
  });
});

describe("notes are bare", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["as the template", bare, true],
    [
      "with other line ends and blank lines",
      bare.replaceAll("\n", "\r\n").replaceAll("\r\n\r\n", "\r\n\r\n\r\n"),
      true,
    ],
    ["empty", "", true],
    ["with a word in one section", bare.replace("# Worklog\n", "# Worklog\nx\n"), false],
    ["with a word in front", `x\n${bare}`, false],
  ];
  it.each(cases)("%s: %#", (_, text, expected) => {
    expect(isBare(readNotes(text, defaultTemplate), defaultTemplate)).toBe(expected);
  });

  it("where the user's own template says something, as long as they say no more", () => {
    const template = readTemplate("Ours.\n\n# Plan\n_What to do_\n\n- [ ] start\n\n## Later\n");
    expect(template.sections.map(({ heading, hint }) => [heading, hint])).toEqual([
      ["# Plan", "_What to do_"],
      ["## Later", undefined],
    ]);
    const text = renderNotes(template);
    expect(isBare(readNotes(text, template), template)).toBe(true);
    expect(isBare(readNotes(text.replace("start", "done"), template), template)).toBe(false);
  });
});

describe("notes that a model has edited", () => {
  const cases: readonly (readonly [string, string, string, string])[] = [
    [
      "text below the hint is the section's",
      bare.replace(/(# Workflow\n.*\n)/, "$1\nnpm test\n"),
      "Workflow",
      "npm test",
    ],
    [
      "a heading of another level or case is the same",
      bare.replace("# Workflow\n", "### workflow:\n").replace(/(### workflow:\n.*\n)/, "$1npm test\n"),
      "Workflow",
      "npm test",
    ],
    [
      "text above the hint is the section's too",
      bare.replace("# Workflow\n", "# Workflow\nnpm test\n"),
      "Workflow",
      "npm test",
    ],
    [
      "what looks like a heading and is none of ours belongs to its section",
      bare.replace(/(# Workflow\n.*\n)/, "$1\n# build first\nnpm test\n"),
      "Workflow",
      "# build first\nnpm test",
    ],
    [
      "a heading inside fenced code is code",
      bare.replace(/(# Workflow\n.*\n)/, "$1\n```md\n# Worklog\n```\n"),
      "Workflow",
      "```md\n# Worklog\n```",
    ],
    [
      "a fence that is never closed takes no section along",
      bare.replace(/(# Workflow\n.*\n)/, "$1\n```\nnpm test\n").replace(/(# Worklog\n.*\n)/, "$1\n- tested\n"),
      "Worklog",
      "- tested",
    ],
    [
      "nor do two of them",
      bare.replace(/(# Workflow\n.*\n)/, "$1\n```\nnpm test\n").replace(/(# Worklog\n.*\n)/, "$1\n```\n- tested\n"),
      "Worklog",
      "```\n- tested",
    ],
    [
      "a section that stands there twice is one",
      bare.replace(/(# Worklog\n.*\n)/, "$1\none\n\n$1\ntwo\n"),
      "Worklog",
      "one\n\ntwo",
    ],
  ];
  it.each(cases)("%s", (_, text, title, body) => {
    expect(bodyOf(text, title)).toBe(body);
  });

  it("get a heading back that was lost, and keep what stood below it", () => {
    const text = bare.replace(/# Learnings\n_.*_\n/, "kept words\n");
    const notes = readNotes(text, defaultTemplate);
    expect(notes.sections).toHaveLength(10);
    expect(renderNotes(notes)).toContain("kept words");
  });

  it("lose no line, whatever they hold", () => {
    const line = fc.oneof(
      fc.constantFrom("# Workflow", "# Worklog", "_x_", "```", "~~~", "## sub", "", "  indented", "# other"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const text = lines.join("\n");
        const notes = readNotes(text, defaultTemplate);
        const rendered = renderNotes(notes);
        for (const one of text.split(/\r?\n/))
          if (one.trim() !== "" && !one.trimStart().startsWith("#")) expect(rendered).toContain(one.trim());
      }),
    );
  });
});
