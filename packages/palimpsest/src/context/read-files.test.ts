import { expect, test } from "vitest";
import { toolUseId } from "../schema/brand.ts";
import { readFilesMax } from "./limits.ts";
import { createReadFiles } from "./read-files.ts";

const read = (hash: string) => ({ hash, modifiedMs: 0, shownBy: toolUseId("t") });

test("a copy is a fork's own", () => {
  const files = createReadFiles();
  files.set("/a", read("1"));
  const copy = files.copy();
  copy.set("/a", read("2"));
  copy.set("/b", read("3"));
  files.delete("/a");
  expect([...files.entries()]).toEqual([]);
  expect([...copy.entries()].map(([path, { hash }]) => [path, hash])).toEqual([
    ["/a", "2"],
    ["/b", "3"],
  ]);
});

test("the oldest are forgotten, and reading again makes a file young", () => {
  const files = createReadFiles();
  for (let index = 0; index < readFilesMax; index += 1) files.set(`/${index}`, read("1"));
  files.set("/0", read("2"));
  files.set("/new", read("1"));
  expect([files.get("/0")?.hash, files.get("/1"), files.get("/2")?.hash]).toEqual(["2", undefined, "1"]);
  expect([...files.entries()]).toHaveLength(readFilesMax);
});
