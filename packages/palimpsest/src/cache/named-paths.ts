import { namedPathsCharsMax } from "./limits.ts";

/** Whether the user's message names the file: by its whole path, or by the end of it. */
export const isNamed = (path: string | undefined, named: readonly string[]): boolean =>
  path !== undefined && named.some((end) => path === end || path.endsWith(`/${end}`));

/** Words that may be the name of a file: with an extension or a folder, without a leading `@`, `./` or `/`. */
export const findPaths = (text: string): readonly string[] =>
  text.length > namedPathsCharsMax
    ? []
    : [...text.matchAll(/[\w.~-]*(?:\/[\w.~-]+)+|[\w-]+\.\w{1,8}\b/g)].map(([word]) => word.replace(/^[.~]?\//, ""));
