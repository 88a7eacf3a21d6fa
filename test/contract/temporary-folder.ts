import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { openFiles } from "./open-files.ts";

/**
 * An empty folder for the running test, removed after it. The real path, so that tests can compare paths. The test fails if
 * it leaves a file in it open: everything that it opened must be closed by then, after errors too.
 */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "store-")));
  onTestFinished(async () => {
    const left = await openFiles(folder);
    await rm(folder, { recursive: true, force: true });
    expect(left, "files that the test left open").toEqual([]);
  });
  return folder;
}
