import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { z } from "zod";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { resolveRealPath, isSpecialPath } from "../resolve-real-path.ts";
import { countWithNoun } from "../file/text-file.ts";
import { defineTool, toolError, wrongCall } from "../define-tool.ts";
import { errorCode } from "../error-code.ts";
import { globEntriesMax, globFilesMax, searchResultCharsMax } from "../limits.ts";
import type { SearchDeps } from "./grep-tool.ts";
import { nameFilter, searchArgs, displayPath, runRipgrep } from "./run-ripgrep.ts";

const input = z.strictObject({
  pattern: z.string().min(1).describe("E.g. src/**/*.ts; one without a slash is for names in any folder."),
  path: z.string().optional().describe("Folder; the working directory by default."),
});

export const globTool = (deps: SearchDeps): Tool =>
  defineTool({
    name: "glob",
    description: `Find files by name, newest first, at most ${globEntriesMax}. Leaves out what .gitignore names.`,
    input,
    effect: "read",
    resultCharsMax: searchResultCharsMax,
    plan: async ({ pattern, path }, context) => {
      const resolved = await resolveRealPath(path ?? ".", context.cwd);
      if (resolved.kind === "refused") return wrongCall(resolved.message);
      if (!resolved.exists) return wrongCall(`${resolved.path}: there is no such folder`);
      if (isSpecialPath(resolved.path)) return wrongCall(`${resolved.path}: nothing is searched there`);
      const folder = resolved.path;
      return {
        kind: "ready",
        acts: [{ kind: "read", path: folder }],
        run: (signal) => globFiles({ deps, pattern, folder, cwd: context.cwd, signal }),
      };
    },
  });

interface GlobInput {
  readonly deps: SearchDeps;
  readonly pattern: string;
  readonly folder: string;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

async function globFiles({ deps, pattern, folder, cwd, signal }: GlobInput): Promise<ToolOutcome> {
  const current = await resolveRealPath(folder, folder);
  if (current.kind === "refused" || current.path !== folder) return toolError(`${folder}: it was replaced by a link`);
  const isNamed = nameFilter(pattern.startsWith("/") ? relative(folder, pattern) : pattern);
  const paths: string[] = [];
  const end = await runRipgrep({
    args: ["--files", "--null", "--sort=path", ...searchArgs, "--", "."],
    cwd: folder,
    signal,
    separator: "\0",
    onPiece: (piece) => {
      const name = piece.replace(/^\.\//, "");
      if (isNamed(name) && deps.mayRead(join(folder, name))) paths.push(join(folder, name));
      return paths.length < globFilesMax ? "go-on" : "stop";
    },
  });
  if (end.kind === "failed") return toolError(`glob: ${end.message}`);
  const newest = await newestFirst(paths);
  const shown = newest.slice(0, globEntriesMax).map((path) => displayPath(path, cwd));
  if (newest.length > shown.length) shown.push(`(${newest.length - shown.length} more; narrow the pattern)`);
  if (end.kind === "cut") shown.push("(not all folders were looked at; narrow the search)");
  const content = shown.length === 0 ? "No files found." : shown.join("\n");
  return { content, summary: countWithNoun(newest.length, "file") };
}

async function newestFirst(paths: readonly string[]): Promise<readonly string[]> {
  const files: { readonly path: string; readonly modifiedMs: number }[] = [];
  for (const path of paths) {
    const modifiedMs = await readModifiedMs(path);
    if (modifiedMs !== undefined) files.push({ path, modifiedMs });
  }
  // The paths are sorted, and a stable sort keeps that order among equal times.
  return files.toSorted((one, other) => other.modifiedMs - one.modifiedMs).map(({ path }) => path);
}

/** Undefined if the file is gone. */
async function readModifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
