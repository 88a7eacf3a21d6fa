import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    runFolder: string;
  }
}

/** One folder for everything that a test run writes outside the repository; removed at its end. */
export function setup(project: TestProject): () => void {
  const runFolder = mkdtempSync(join(tmpdir(), "palimpsest-test-"));
  project.provide("runFolder", runFolder);
  return () => rmSync(runFolder, { recursive: true, force: true, maxRetries: 3 });
}
