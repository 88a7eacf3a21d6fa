import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import type { CountText } from "../clip-text.ts";
import { cutLine, cutNotes, type Notes, defaultTemplate, readNotes, renderNotes } from "./notes.ts";
import { notesTokensMax, sectionTokensMax } from "./limits.ts";

const count: CountText = (text) => estimateBlock({ type: "text", text });
const rest = cutLine("/s/notes.md");
const withBodies = (bodies: readonly string[]): Notes => ({
  preamble: "",
  sections: defaultTemplate.sections.map((section, at) => ({ ...section, body: bodies[at] ?? "" })),
});
const lines = (many: number, word = "line"): string =>
  Array.from({ length: many }, (_, nth) => `- ${word} ${nth} of what was done here today`).join("\n");
const sectionsOf = (text: string) => readNotes(text, defaultTemplate).sections;

describe("notes as a summary", () => {
  it("stay as they are where every section is within its budget", () => {
    const notes = withBodies(["Port the parser", lines(20)]);
    expect(cutNotes(notes, { count, rest })).toBe(renderNotes(notes));
  });

  it("a section over its budget ends at a line, and says where more of it may be", () => {
    const body = sectionsOf(cutNotes(withBodies(["", lines(900)]), { count, rest }))[1]?.body ?? "";
    expect(count(body)).toBeLessThanOrEqual(sectionTokensMax);
    expect(count(body)).toBeGreaterThan(0.8 * sectionTokensMax);
    expect(body.split("\n").at(-1)).toBe(
      "[… cut here; the notes file may hold more of it, or what became of it since: /s/notes.md]",
    );
    for (const line of body.split("\n").slice(0, -1)) expect(lines(900).split("\n")).toContain(line);
    expect(body).toMatch(/^- line 0 /);
  });

  it("a section of one line is cut inside it, and is within its budget with the line that says so", () => {
    const deep = cutLine(`/${"folder/".repeat(200)}notes.md`);
    const notes = withBodies(["", "word ".repeat(20_000)]);
    const body = sectionsOf(cutNotes(notes, { count, rest: deep }))[1]?.body ?? "";
    expect(count(body)).toBeLessThanOrEqual(sectionTokensMax);
    expect(body.endsWith(`\n${deep}`)).toBe(true);
  });

  it("of the worklog the newest stays", () => {
    const notes = withBodies([...Array.from({ length: 9 }, () => ""), lines(900)]);
    const body = sectionsOf(cutNotes(notes, { count, rest })).at(-1)?.body ?? "";
    expect(body).toMatch(/^\[… cut here/);
    expect(body).toMatch(/- line 899 of what was done here today$/);
  });

  it.each(["```", "~~~"])(
    "a cut inside code between %s closes it, so that it does not take the sections behind it along",
    (fence) => {
      const code = `${fence}ts\n${lines(900)}\n${fence}`;
      const notes = withBodies(["", code, "the task", ...Array.from({ length: 6 }, () => ""), code]);
      const sections = sectionsOf(cutNotes(notes, { count, rest }));
      expect(sections[1]?.body).toMatch(new RegExp(`^${fence}ts\\n[^\`~]*\\n${fence}\\n\\[… cut here`));
      expect(sections[2]?.body).toBe("the task");
      expect(sections[9]?.body).toMatch(new RegExp(`^\\[… cut here.*\\n${fence}\\n[^\`~]*\\n${fence}$`));
    },
  );

  it("where ten sections fit and all together do not, the short ones stay whole", () => {
    const notes = withBodies(["Port the parser", ...Array.from({ length: 9 }, () => lines(130))]);
    expect(count(renderNotes(notes))).toBeGreaterThan(notesTokensMax);
    const cut = cutNotes(notes, { count, rest });
    expect(count(cut)).toBeLessThanOrEqual(notesTokensMax);
    expect(count(cut)).toBeGreaterThan(0.8 * notesTokensMax);
    expect(sectionsOf(cut)[0]?.body).toBe("Port the parser");
  });

  it("are never over their budgets and keep every heading and hint, whatever they hold", () => {
    const body = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc
        .tuple(fc.string({ maxLength: 80 }), fc.integer({ min: 0, max: 2_000 }))
        .map(([text, many]) => text.repeat(many)),
      fc.constantFrom("```\nx", "漢字".repeat(9_000), "x".repeat(60_000)),
    );
    fc.assert(
      fc.property(fc.array(body, { minLength: 10, maxLength: 10 }), (bodies) => {
        const cut = cutNotes(withBodies(bodies), { count, rest });
        expect(count(cut)).toBeLessThanOrEqual(notesTokensMax);
        for (const { heading, hint } of defaultTemplate.sections) expect(cut).toContain(`${heading}\n${hint}\n`);
      }),
      { numRuns: 60 },
    );
  });
});
