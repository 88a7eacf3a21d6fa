/** A path as one would type it in the working folder; one that lies elsewhere, or leaves it again, as it is. */
export function shortPath(path: string, cwd: string | undefined): string {
  if (cwd === undefined || !path.startsWith(`${cwd}/`)) return path;
  const below = path.slice(cwd.length + 1);
  return below === "" || below.split("/").some((part) => part === "..") || below.startsWith("/") ? path : below;
}

/** Somebody's words about files, with the paths in them as above. */
export function shortPaths(words: string, cwd: string | undefined): string {
  if (cwd === undefined || !words.includes(`${cwd}/`)) return words;
  return words
    .split(/(\s+)/)
    .map((word) => shortPath(word, cwd))
    .join("");
}
