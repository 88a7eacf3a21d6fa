import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { listPathLinks } from "./session-sandbox.ts";

test("names every link that is passed, where it really stands, and what the path leads to", async () => {
  const top = await realpath(await temporaryFolder());
  const at = (name: string): string => join(top, name);
  await mkdir(at("a/b"), { recursive: true });
  await writeFile(at("a/b/file"), "");
  await symlink("a", at("relative"));
  await symlink(at("relative/b"), at("absolute"));
  await symlink("../b/../../absolute/file", at("a/b/up"));
  await symlink("round", at("round"));
  expect(listPathLinks(at("a/b/file"))).toEqual([at("a/b/file")]);
  expect(listPathLinks(at("relative/b/file"))).toEqual([at("relative"), at("a/b/file")]);
  expect(listPathLinks(at("absolute/file"))).toEqual([at("absolute"), at("relative"), at("a/b/file")]);
  expect(listPathLinks(at("relative/b/up"))).toEqual([
    at("relative"),
    at("a/b/up"),
    at("absolute"),
    at("relative"),
    at("a/b/file"),
  ]);
  expect(listPathLinks(at("relative/none/file"))).toEqual([at("relative"), at("a/none/file")]);
  expect(new Set(listPathLinks(at("round/file")))).toEqual(new Set([at("round"), at("round/file")]));
});
