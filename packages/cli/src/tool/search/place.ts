import { relative } from "node:path";
import { pathPattern } from "../pattern.ts";

/** As the model names files: relative to where it works, absolute elsewhere. */
export function shownPath(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near === "" || near.startsWith("..") ? path : near;
}

/**
 * By patterns of our own after the search, because a pattern given to ripgrep would bring back what .gitignore leaves
 * out. One without a slash is for names in any folder.
 */
export function nameFilter(pattern: string): (name: string) => boolean {
  const below = pattern.replace(/^\.?\//, "");
  const form = pathPattern(pattern.includes("/") ? below : `**/${below}`, "as-given");
  return (name) => form.test(name);
}

/** Hidden files are part of a project, its history is not. Ignore files count without a repository too. */
export const searchedFiles: readonly string[] = ["--hidden", "--no-require-git", "--glob=!.git", "--glob=!.git/**"];
