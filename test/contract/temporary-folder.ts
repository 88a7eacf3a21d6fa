import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder for the running test, removed after it. The real path, so that tests can compare paths. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "store-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
