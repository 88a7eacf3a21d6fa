import { namedPathsCharsMax } from "./limits.ts";

/** Whether the user's message names the file: by its whole path, or by the end of it. */
export const isNamed = (path: string | undefined, named: readonly string[]): boolean =>
  path !== undefined && named.some((end) => path === end || path === `/${end}` || path.endsWith(`/${end}`));

/** Words that may be the name of a file: with an extension or a folder, without what leads to it from here or home. */
export function findPaths(text: string): readonly string[] {
  if (text.length > namedPathsCharsMax) return [];
  const words = text.split(/[^\w./~-]+/).map((word) => word.replace(/^(?:\.{0,2}|~)\//, "").replace(/[./]+$/, ""));
  return words.filter((word) => /[./]/.test(word));
}
