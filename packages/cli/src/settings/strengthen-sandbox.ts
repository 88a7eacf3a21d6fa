import { type SandboxMode, sandboxModeNames, settingTable } from "palimpsest/internal/schema/settings";
import type { ReadFile } from "./files.ts";

/**
 * The same files, weakest first. A project's file, trusted or not, may ask for a stronger sandbox and never for a weaker
 * one than what counts without it: what would weaken it is left out, with a warning.
 */
export function strengthenSandbox(files: readonly ReadFile[]): readonly ReadFile[] {
  let counting: SandboxMode = settingTable.sandbox.default;
  return files.map((file) => {
    const asked = sandboxModeNames.find((name) => name === file.parsed.values.get("sandbox"));
    if (asked === undefined) return file;
    if (file.scope !== "user" && strongerMode(counting, asked) !== asked) return withoutSandbox(file);
    counting = asked;
    return file;
  });
}

export const strongerMode = (one: SandboxMode, other: SandboxMode): SandboxMode =>
  sandboxModeNames.indexOf(one) > sandboxModeNames.indexOf(other) ? one : other;

function withoutSandbox(file: ReadFile): ReadFile {
  const values = new Map(file.parsed.values);
  values.delete("sandbox");
  const what =
    "the settings of a project may only strengthen the sandbox; ignored: say it in your own settings, or with --sandbox";
  const problems = [...file.parsed.problems, { severity: "warning", where: file.path, key: "sandbox", what } as const];
  return { ...file, parsed: { ...file.parsed, values, problems } };
}
