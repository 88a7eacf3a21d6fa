import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { copySampleProject, runProjectTests } from "./open-demo-agent.ts";

it("one test of the sample project fails, and its cause is two imports away", async () => {
  const cwd = await copySampleProject(join(await mkdtemp(join(tmpdir(), "sample-")), "project"));
  expect(await runProjectTests(cwd, new AbortController().signal)).toEqual({ passed: 25, failed: 1 });
  const imports = async (path: string): Promise<string> => await readFile(join(cwd, path), "utf8");
  expect(await imports("test/bulletin.test.js")).not.toMatch(/clock\.js|days\.js/);
  expect(await imports("src/bulletin.js")).toMatch(/from "\.\/days\.js"/);
  expect(await imports("src/days.js")).toMatch(/localDay.* from "\.\/clock\.js"/);
});

it("the sample project needs nothing but Node", async () => {
  const cwd = await copySampleProject(join(await mkdtemp(join(tmpdir(), "sample-")), "project"));
  for (const folder of ["src", "test"])
    for (const file of await readdir(join(cwd, folder))) {
      const text = await readFile(join(cwd, folder, file), "utf8");
      const from = [...text.matchAll(/from "(?<from>[^"]+)"/g)].map((one) => one.groups?.["from"] ?? "");
      expect(from.filter((path) => !/^(?:node:|\.)/.test(path))).toEqual([]);
    }
});
