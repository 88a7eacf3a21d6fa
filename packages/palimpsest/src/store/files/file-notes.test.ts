import { chmod, mkdir, readdir, readFile, realpath, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { NotesFileOutcome } from "../../ports/session-files.ts";
import { sessionId } from "../../schema/brand.ts";
import { hashFileBytes } from "@palimpsest/cli/internal/tool/file/text-file";
import { notesBytesMax } from "../limits.ts";
import { fileNotes, notesPath } from "./file-notes.ts";

const session = sessionId("one");
const messageOf = (opened: NotesFileOutcome): string => (opened.kind === "failed" ? opened.message : "");
const notes = async () => {
  const folder = await temporaryFolder();
  const file = fileNotes({ folder, session });
  return { folder, file, place: async () => mkdir(dirname(file.path), { recursive: true }) };
};

describe("the notes file of a session", () => {
  it("lies in the session's folder, for its owner alone", async () => {
    const { folder, file } = await notes();
    expect(await file.open("# A\n")).toMatchObject({ kind: "open", text: "# A\n" });
    expect(file.path).toBe(notesPath({ folder, session }));
    expect(file.path).toBe(join(folder, "one", "notes.md"));
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(file.path))).mode & 0o777).toBe(0o700);
  });

  it("is made once: what is there stays", async () => {
    const { file } = await notes();
    const texts = await Promise.all(["a", "b", "c"].map((text) => file.open(text)));
    const [first] = texts;
    expect(new Set(texts.map((one) => (one.kind === "open" ? one.text : one.message))).size).toBe(1);
    expect(await file.open("later")).toEqual(first);
  });

  it("is known by the hash and the real path that tools know it by", async () => {
    const { folder } = await notes();
    await symlink(folder, `${folder}-link`);
    const opened = await fileNotes({ folder: `${folder}-link`, session }).open("# A\n");
    const path = await realpath(join(folder, "one", "notes.md"));
    expect(opened).toMatchObject({ path, hash: hashFileBytes(new TextEncoder().encode("# A\n")) });
  });

  it("is replaced as a whole, and stays closed to others", async () => {
    const { file } = await notes();
    await file.open("long text\n");
    await chmod(file.path, 0o644);
    expect(await file.write("new")).toMatchObject({ kind: "open", text: "new" });
    expect(await readFile(file.path, "utf8")).toBe("new");
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
  });

  it("is closed to others when it is opened", async () => {
    const { file } = await notes();
    await file.open("x");
    await chmod(file.path, 0o644);
    await file.open("x");
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
  });
});

describe("no notes are opened", () => {
  it("through a link", async () => {
    const { folder, file, place } = await notes();
    await place();
    await writeFile(join(folder, "secret"), "s");
    await symlink(join(folder, "secret"), file.path);
    expect(messageOf(await file.open("x"))).toContain("link");
  });

  it("through a link that leads nowhere yet, and nothing is made there", async () => {
    const { folder, file, place } = await notes();
    await place();
    await symlink(join(folder, "elsewhere"), file.path);
    expect(messageOf(await file.open("x"))).toContain("link");
    await expect(stat(join(folder, "elsewhere"))).rejects.toThrow("ENOENT");
  });

  it.each(["open", "write"] as const)("to %s through a link in place of the session's folder", async (act) => {
    const { folder, file } = await notes();
    await mkdir(join(folder, "elsewhere"));
    await symlink(join(folder, "elsewhere"), dirname(file.path));
    expect(messageOf(await file[act]("x"))).toContain("link");
    expect(await readdir(join(folder, "elsewhere"))).toEqual([]);
  });

  it("from a folder in their place", async () => {
    const { file } = await notes();
    await mkdir(file.path, { recursive: true });
    expect(await file.open("x")).toMatchObject({ kind: "failed" });
  });

  it("from a file that nobody could have noted", async () => {
    const { file } = await notes();
    await file.open("x");
    await truncate(file.path, notesBytesMax + 1);
    expect(messageOf(await file.open("x"))).toContain("more than");
  });

  it("where a file stands in the folder's place", async () => {
    const { folder, file } = await notes();
    await writeFile(join(folder, "one"), "");
    expect(await file.open("x")).toMatchObject({ kind: "failed" });
  });

  it.each(["open", "write"] as const)(
    "to %s a file that its owner closed to writing: it stays as it is",
    async (act) => {
      const { file } = await notes();
      await file.open("mine");
      await chmod(file.path, 0o444);
      expect(messageOf(await file[act]("x"))).toMatch(/^Can't write .*notes\.md \(not allowed: .*permissions/);
      expect(await readFile(file.path, "utf8")).toBe("mine");
      expect((await stat(file.path)).mode & 0o777).toBe(0o444);
    },
  );

  it.each(["open", "write"] as const)("to %s in a folder that is closed to writing", async (act) => {
    const { file } = await notes();
    await file.open("mine");
    await chmod(dirname(file.path), 0o500);
    expect(messageOf(await file[act]("x"))).toMatch(/^Can't write .*notes\.md \(not allowed: .*permissions/);
    expect(await readFile(file.path, "utf8")).toBe("mine");
    await chmod(dirname(file.path), 0o700);
  });

  it("of a session whose name leaves its folder", async () => {
    const file = fileNotes({ folder: await temporaryFolder(), session: sessionId("../x") });
    expect(await file.open("x")).toMatchObject({ kind: "failed" });
  });
});
