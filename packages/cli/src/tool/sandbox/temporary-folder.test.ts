import { chmod, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder as newFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sessionId } from "palimpsest/internal/schema/brand";
import { temporaryFolder } from "./temporary-folder.ts";

const one = sessionId("one");

test("is this user's alone, the same for every agent of a session, and leaves nothing behind", async () => {
  const above = await newFolder();
  const [first, again, other] = [one, one, sessionId("other")].map((id) => temporaryFolder(id, above));
  const path = (await first?.open()) ?? "";
  expect(await again?.open()).toBe(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  await writeFile(join(path, "kept"), "");
  expect(await other?.open()).not.toBe(path);
  await first?.remove();
  expect(await readdir(above)).toHaveLength(1);
  await other?.remove();
  expect(await readdir(above)).toEqual([]);
});

test.skipIf(process.platform === "win32").each([
  ["open to others", (path: string) => mkdir(path).then(() => chmod(path, 0o777))],
  ["a link", (path: string) => mkdir(`${path}-elsewhere`).then(() => symlink(`${path}-elsewhere`, path))],
  ["a file", (path: string) => writeFile(path, "")],
])("a folder that another user made beforehand is not used: %s", async (_, make) => {
  const above = await newFolder();
  await make(join(above, `palimpsest-${process.getuid?.() ?? 0}`));
  await expect(temporaryFolder(one, above).open()).rejects.toThrow("is not this user's alone");
});
