import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findWordsIn } from "./find-words.ts";

it("finds which words a folder has as whole words", async () => {
  const folder = await mkdtemp(join(tmpdir(), "words-"));
  await writeFile(join(folder, "a.ts"), "export const openSession = 1;\nopenSessions();\n");
  expect(await findWordsIn(folder)(["openSession", "openSess", "closeSession"])).toEqual(new Set(["openSession"]));
});

it("can't tell if the folder is gone", async () => {
  expect(await findWordsIn("/nowhere/at/all")(["openSession"])).toBeUndefined();
});
