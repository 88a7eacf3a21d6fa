import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { type ExportJob, exportTo } from "./export-to.ts";

/** Every file has the same inode; only `other-device.md` seems to be on another device. */
vi.mock(import("node:fs/promises"), async (original) => {
  const actual = await original();
  const stat = async (path: string) =>
    Object.assign(await actual.stat(path), { ino: 1, dev: path.endsWith("other-device.md") ? 2 : 1 });
  return { ...actual, stat: stat as typeof actual.stat };
});

test("a file on another device is not taken for the log, even if both have the same inode", async () => {
  const folder = await temporaryFolder();
  const [log, linked, other] = [join(folder, "log.jsonl"), join(folder, "linked.md"), join(folder, "other-device.md")];
  for (const path of [log, linked, other]) await writeFile(path, "");
  const request = { source: { size: 0 } };
  const job = { log: { path: log }, request, format: "jsonl", existing: "keep" } as unknown as ExportJob;
  expect(await exportTo(linked, job)).toMatchObject({ kind: "refused", why: "the-log" });
  expect(await exportTo(other, job)).toMatchObject({ kind: "refused", why: "taken" });
});
