import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { editText } from "./edit-text.ts";

/** The value of EDITOR: a shell script with the file as its only argument. */
async function editor(script: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "editor-")), "editor.sh");
  await writeFile(file, script);
  return `/bin/sh ${file}`;
}

const edited = (variables: Readonly<Record<string, string>>) =>
  editText({ env: { PATH: process.env["PATH"], ...variables }, cwd: tmpdir() }, "what was said\n", {
    fileName: "summary.md",
    name: "summary",
  });

describe("editing a summary", () => {
  it("gives what the editor left in the file, without its last line ends", async () => {
    const EDITOR = await editor(`printf 'and more\\n\\n' >> "$1"`);
    expect(await edited({ EDITOR })).toEqual({ kind: "edited", text: "what was said\nand more" });
  });

  it("VISUAL counts before EDITOR, and an empty one does not", async () => {
    const VISUAL = await editor(`echo visual > "$1"`);
    const EDITOR = await editor(`echo editor > "$1"`);
    expect(await edited({ VISUAL, EDITOR })).toMatchObject({ text: "visual" });
    expect(await edited({ VISUAL: "", EDITOR })).toMatchObject({ text: "editor" });
  });

  it("only its owner may read the file, and nothing of it is left", async () => {
    const seen = join(await mkdtemp(join(tmpdir(), "seen-")), "seen");
    const EDITOR = await editor(`{ ls -l "$1" | cut -c1-10; echo "$1"; } > ${seen}; echo x > "$1"`);
    const before = await readdir(tmpdir());
    await edited({ EDITOR });
    const [mode, file = ""] = (await readFile(seen, "utf8")).split("\n");
    expect(mode).toBe("-rw-------");
    expect(file).toContain("palimpsest-");
    expect((await readdir(tmpdir())).filter((name) => !before.includes(name))).toEqual([]);
  });

  it.each([
    ["set VISUAL or EDITOR", undefined],
    ["nothing was changed", "true"],
    ["an empty summary is none", `printf ' \\n' > "$1"`],
    ["the editor ended with exit code 3", "exit 3"],
  ])("says %j and goes on with what there was", async (message, script) => {
    const env = script === undefined ? {} : { EDITOR: await editor(script) };
    expect(await edited(env)).toEqual({ kind: "unchanged", message: expect.stringContaining(message) as string });
  });
});
