import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openFileSource } from "./file-source.ts";

it("reads any range of a file", async () => {
  const path = join(await temporaryFolder(), "f");
  await writeFile(path, "0123456789");
  const opened = await openFileSource(path);
  if (opened.kind !== "open") throw new Error(opened.kind);
  const { source } = opened;
  expect(source.size).toBe(10);
  expect(Buffer.from(await source.read({ start: 3, end: 6 })).toString()).toBe("345");
  expect(Buffer.from(await source.read({ start: -5, end: 99 })).toString()).toBe("0123456789");
  await source.close();
});

it("says that a file is missing, also below a file", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "f"), "");
  expect(await openFileSource(join(folder, "none"))).toEqual({ kind: "missing" });
  expect(await openFileSource(join(folder, "f", "below"))).toEqual({ kind: "missing" });
});

it("does not open a device and does not read a folder", async () => {
  const folder = await temporaryFolder();
  expect(await openFileSource("/dev/null")).toMatchObject({ kind: "unreadable" });
  expect(await openFileSource(folder)).toMatchObject({
    kind: "unreadable",
    message: expect.stringContaining("not a file") as unknown,
  });
});

it("explains in one line what it can't read", async () => {
  const folder = await temporaryFolder();
  await symlink("loop", join(folder, "loop"));
  expect(await openFileSource(join(folder, "loop"))).toEqual({
    kind: "unreadable",
    code: "ELOOP",
    message: `Can't read ${join(folder, "loop")} (ELOOP).`,
  });
});
