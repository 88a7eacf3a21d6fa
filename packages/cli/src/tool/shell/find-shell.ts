import { canRun } from "../file-checks.ts";
import type { Shell } from "./bash.ts";

/** Where systems keep it; not looked up in PATH, which may lead into a project. */
const places: readonly string[] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];

export async function findShell(): Promise<Shell> {
  for (const path of places) if (await canRun(path)) return { kind: "bash", path };
  return { kind: "sh", path: "/bin/sh" };
}
