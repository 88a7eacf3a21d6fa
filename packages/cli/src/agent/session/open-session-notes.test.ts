import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultTemplate } from "palimpsest/internal/layers/3-notes/notes";
import { readNotesOptions } from "./open-session-notes.ts";

/** A home folder with these files among its prompts; undefined: a folder in a file's place. */
async function homeWith(texts: Readonly<Record<string, string | undefined>>): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "notes-wishes-"));
  await mkdir(join(home, "prompts"));
  for (const [name, text] of Object.entries(texts))
    await (text === undefined ? mkdir(join(home, "prompts", name)) : writeFile(join(home, "prompts", name), text));
  return home;
}

describe("what people want their notes to be like", () => {
  it("is our template and prompt where they say nothing, and no word about that", async () => {
    expect(await readNotesOptions(await homeWith({}))).toEqual({ template: defaultTemplate });
    expect(await readNotesOptions(await homeWith({ "notes-template.md": " \n", "notes.md": "" }))).toEqual({
      template: defaultTemplate,
    });
  });

  it("is in files of the home folder", async () => {
    const home = await homeWith({ "notes-template.md": "# Plan\n_What next_\n", "notes.md": "Note it in {{path}}." });
    expect(await readNotesOptions(home)).toEqual({
      template: { preamble: "", sections: [{ heading: "# Plan", hint: "_What next_", body: "" }] },
      prompt: "Note it in {{path}}.",
    });
  });

  const unusable: readonly (readonly [string, Readonly<Record<string, string | undefined>>, RegExp])[] = [
    [
      "a template that can't be read",
      { "notes-template.md": undefined },
      /^Your template of notes could not be read.*EISDIR/,
    ],
    ["a prompt that can't be read", { "notes.md": undefined }, /^Your prompt for notes could not be read.*EISDIR/],
    [
      "a template without a heading",
      { "notes-template.md": "Plan" },
      /^Your template of notes was not taken.*no heading/,
    ],
  ];
  it.each(unusable)("is told of %s, and ours counts", async (_, texts, warning) => {
    const wishes = await readNotesOptions(await homeWith(texts));
    expect(wishes).toEqual({ template: defaultTemplate, warnings: [expect.stringMatching(warning)] });
  });

  it("is told of a name in the prompt that stands for nothing, and the prompt counts", async () => {
    const home = await homeWith({ "notes.md": "Note {{notes}} in {{file}}." });
    expect(await readNotesOptions(home)).toMatchObject({
      prompt: "Note {{notes}} in {{file}}.",
      warnings: [
        `${join(home, "prompts", "notes.md")}: {{file}} stands for nothing; there are {{path}}, {{tool}}, {{notes}}, {{budgets}}`,
      ],
    });
  });
});
