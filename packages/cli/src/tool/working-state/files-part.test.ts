import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { charsPerTokenMax, restoredFileTokensMax } from "palimpsest/internal/layers/4-compact/limits";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { restoreBudgets } from "palimpsest/internal/layers/4-compact/plan-restoration";
import type { ReadFile } from "palimpsest/internal/ports/tool";
import type { RestoreRequest, WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { toolUseId } from "palimpsest/internal/schema/brand";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";
import { hashFileBytes, nothingShown } from "../file/text-file.ts";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import { type Todo, todosPart } from "../todo-tool.ts";
import { filesPart } from "./files-part.ts";
import { findGitBranch, placePart } from "./place-part.ts";
import { planPart } from "../plan-tool.ts";

const request = (...kept: readonly string[]): RestoreRequest => ({
  budgets: restoreBudgets(200_000),
  isKept: (shownBy) => kept.includes(shownBy),
});

async function piecesOf(part: WorkingStatePart, asked = request()): Promise<readonly RestoredPiece[]> {
  const state = await part.snapshot(asked);
  if (state?.kind === "failed") throw new Error(state.message);
  return state?.pieces ?? [];
}

describe("files", () => {
  async function world(...names: readonly string[]) {
    const folder = await temporaryFolder();
    const files = createReadFiles();
    for (const name of names) {
      const path = join(folder, name);
      await writeFile(path, `content of ${name}\n`);
      files.set(path, readOf(name));
    }
    const part = (over: Partial<Parameters<typeof filesPart>[0]> = {}) =>
      filesPart({ files, mayRead: () => true, isShownElsewhere: () => false, ...over });
    return { path: (name: string) => join(folder, name), files, part };
  }
  const readOf = (name: string): ReadFile => ({
    hash: hashFileBytes(Buffer.from(`content of ${name}\n`)),
    modifiedMs: 0,
    shownBy: toolUseId(`toolu_${name}`),
  });

  it("the five read last are read again, newest first; older ones are named", async () => {
    const { part, path } = await world("1", "2", "3", "4", "5", "6", "7");
    const pieces = await piecesOf(part());
    expect(pieces.map(({ title }) => title)).toEqual(["7", "6", "5", "4", "3", "2", "1"].map(path));
    expect(pieces[0]).toMatchObject({
      intro: `Content of ${path("7")}, read again just now:`,
      text: "     1\tcontent of 7",
      file: { path: path("7"), hash: readOf("7").hash, lines: 1 },
    });
    expect(pieces.map(({ text }) => text !== undefined)).toEqual([true, true, true, true, true, false, false]);
  });

  it("one that changed is shown as it is now, and that is said", async () => {
    const { part, path } = await world("a");
    await writeFile(path("a"), "new\n");
    expect(await piecesOf(part())).toMatchObject([
      {
        intro: `${path("a")} has changed on disk since it was last read. It now reads:`,
        text: "     1\tnew",
        file: { hash: hashFileBytes(Buffer.from("new\n")) },
      },
    ]);
  });

  it("one that vanished, one that a rule forbids, and one that is no text are said", async () => {
    const { part, path } = await world("gone", "secret", "binary", "image");
    await rm(path("gone"));
    await writeFile(path("binary"), Buffer.from([0, 1, 2]));
    await writeFile(path("image"), Buffer.from("\x89PNG\r\n\x1A\n", "latin1"));
    const pieces = await piecesOf(part({ mayRead: (one) => one !== path("secret") }));
    expect(pieces.map(({ text, handle }) => [text, handle])).toEqual([
      [undefined, "it has changed since it was last read; not text: read it again when you need it"],
      [undefined, "it has changed since it was last read; a binary file, or not UTF-8"],
      [undefined, "a rule forbids to read it now"],
      [undefined, "it is no longer there"],
    ]);
  });

  it("one that a kept message shows is left out, unless it changed or the message only tells of a change", async () => {
    const { part, path, files } = await world("same", "changed", "edited");
    await writeFile(path("changed"), "new\n");
    files.set(path("edited"), { ...readOf("edited"), lines: nothingShown });
    const asked = request("toolu_same", "toolu_changed", "toolu_edited");
    expect((await piecesOf(part(), asked)).map(({ title }) => title)).toEqual([path("edited"), path("changed")]);
  });

  it("plan and memory files are told elsewhere", async () => {
    const { part, path } = await world("CLAUDE.md", "a");
    const pieces = await piecesOf(part({ isShownElsewhere: (one) => one === path("CLAUDE.md") }));
    expect(pieces.map(({ title }) => title)).toEqual([path("a")]);
  });

  it("of a file that can't fit only the beginning is taken up, with how many lines there are", async () => {
    const { part, path } = await world("long");
    await writeFile(path("long"), "line\n".repeat(100_000));
    const [piece] = await piecesOf(part());
    expect(piece?.file?.lines).toBe(100_000);
    expect(piece?.text?.length).toBeLessThan(restoredFileTokensMax * charsPerTokenMax + 100);
  });

  it("an empty file is said to be empty", async () => {
    const { part, path } = await world("empty");
    await writeFile(path("empty"), "");
    expect(await piecesOf(part())).toMatchObject([{ text: "(the file is empty)", file: { lines: 1 } }]);
  });
});

describe("todos", () => {
  const step = (status: Todo["status"], content: string = status): Todo => ({ content, status });

  it("the list as it is at the moment of asking", async () => {
    const todos = { list: [step("pending")] };
    const part = todosPart({ todos });
    todos.list = [step("completed"), step("in_progress", "fix\nit"), step("pending")];
    expect(await piecesOf(part)).toMatchObject([
      {
        text: "1. [done] completed\n2. [in progress] fix it\n3. [to do] pending",
        data: { todos: todos.list },
      },
    ]);
  });

  it.each([
    ["no list", []],
    ["a finished list", [step("completed"), step("completed")]],
  ])("%s is not told again", async (_, list) => {
    expect(await todosPart({ todos: { list } }).snapshot(request())).toBeUndefined();
  });
});

describe("place", () => {
  test("the folder and the branch that are in force now", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, ".git"));
    await writeFile(join(folder, ".git", "HEAD"), "ref: refs/heads/feat/x\n");
    await mkdir(join(folder, "inner"));
    const part = placePart({ cwd: () => join(folder, "inner") });
    expect(await piecesOf(part)).toMatchObject([
      { text: `Working directory now: ${join(folder, "inner")}\nGit branch now: feat/x` },
    ]);
  });

  test.each([
    ["a detached head", `${"a1".repeat(20)}\n`, "detached at a1a1a1a1a1a1"],
    ["a head that git would not write", "nonsense", undefined],
  ])("%s", async (_, head, expected) => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, ".git"));
    await writeFile(join(folder, ".git", "HEAD"), head);
    expect(await findGitBranch(folder)).toBe(expected);
  });

  test("a worktree, where .git is a file that names the folder", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "real"));
    await writeFile(join(folder, "real", "HEAD"), "ref: refs/heads/side\n");
    await writeFile(join(folder, ".git"), "gitdir: real\n");
    expect(await findGitBranch(folder)).toBe("side");
  });
});

describe("plan", () => {
  const plan = { text: "1. Do it.", state: "accepted" } as const;

  it.each([
    ["neither", { modeText: undefined, plan: undefined }, []],
    ["plan mode alone", { modeText: "On.", plan: undefined }, ["On."]],
    ["a plan that was accepted", { modeText: undefined, plan }, ["The plan that the person accepted: 1. Do it."]],
    [
      "both",
      { modeText: "On.", plan: { ...plan, state: "proposed" as const } },
      ["On.", "The plan as it was last put before the person, who has not accepted it: 1. Do it."],
    ],
  ])("%s", async (_, state, expected) => {
    const pieces = await piecesOf(planPart({ planState: () => state }));
    expect(pieces.map(({ intro, text }) => [intro, text].filter((one) => one !== undefined).join(" "))).toEqual(
      expected,
    );
  });
});
