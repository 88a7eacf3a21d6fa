import { join } from "node:path";
import { resolveRealPath } from "../resolve-real-path.ts";
import { rootPatterns, pathMatcher, type RuleRoots } from "../permission/rule.ts";
import type { FolderNameCache } from "./folder-scanner.ts";
import { deniedEntriesMax } from "./limits.ts";

type DeniedPaths =
  /**
   * Real paths; if a folder matches as a whole, only the folder. `missing`: named literally by the rule, but not on
   * disk.
   */
  | { readonly kind: "found"; readonly paths: readonly string[]; readonly missing: readonly string[] }
  /** Only a check of every name in this folder could tell, and it holds too many. */
  | { readonly kind: "too-many"; readonly folder: string };

interface DeniedPathsDeps {
  readonly names: FolderNameCache;
}

interface DeniedPathsInput extends RuleRoots {
  /** As in `Read(…)`; undefined: every file. */
  readonly pattern: string | undefined;
}

/**
 * What a rule's pattern matches on disk now. A deny rule ignores case, so literal names are looked up among the
 * existing ones too.
 */
export async function findDeniedPaths(
  deps: DeniedPathsDeps,
  { pattern, ...places }: DeniedPathsInput,
): Promise<DeniedPaths> {
  if (pattern === undefined) return { kind: "found", paths: ["/"], missing: [] };
  const paths = new Set<string>();
  const missing = new Set<string>();
  const matches = pathMatcher(pattern, { ...places, use: "deny" });
  for (const { folder, below } of rootPatterns(pattern.normalize("NFC"), places)) {
    const { written, open } = splitPattern(below);
    const starts = await findSpellings(deps, { folder, written });
    if (starts.length === 0 && open.length === 0) missing.add(join(folder, ...written));
    // The pattern covers everything in the folder, also future files: then the folder itself is hidden.
    const isWhole = open.every((name) => name === "**" || name === "*");
    for (const path of isWhole ? await resolveAll(starts) : []) paths.add(path);
    for (const start of isWhole ? [] : starts) {
      const walked = await walk(deps, { start, matches, depthMax: patternDepth(open) });
      if (walked.kind === "too-many") return walked;
      for (const path of walked.paths) paths.add(path);
    }
  }
  return { kind: "found", paths: [...paths], missing: [...missing] };
}

/** The literal names, up to the first that is a pattern. */
function splitPattern(below: string): { readonly written: readonly string[]; readonly open: readonly string[] } {
  const names = below.split("/").filter((name) => name !== "");
  const first = names.findIndex((name) => /[*?[{]/.test(name));
  return first === -1 ? { written: names, open: [] } : { written: names.slice(0, first), open: names.slice(first) };
}

/** How many levels deep a pattern can match; braces may hold slashes. */
const patternDepth = (open: readonly string[]): number =>
  open.some((name) => name.includes("**") || /[{}]/.test(name)) ? Infinity : open.length;

async function findSpellings(
  { names }: DeniedPathsDeps,
  { folder, written }: { readonly folder: string; readonly written: readonly string[] },
): Promise<readonly string[]> {
  let found: readonly string[] = [folder];
  for (const name of written) {
    const next = await Promise.all(
      found.map(async (at) => {
        const entries = await names.read(at);
        if (entries === "none") return [];
        // As long as the folder can't be searched, its entries can't be reached by name either; the name is taken as
        // written.
        if (entries === "unreadable") return [join(at, name)];
        return entries.filter((entry) => isSpelled(entry.name, name)).map((entry) => join(at, entry.name));
      }),
    );
    found = next.flat();
  }
  return found;
}

const isSpelled = (one: string, other: string): boolean =>
  one.normalize("NFC").toLowerCase() === other.normalize("NFC").toLowerCase();

type WalkOutcome =
  | { readonly kind: "walked"; readonly paths: readonly string[] }
  | Extract<DeniedPaths, { kind: "too-many" }>;

async function walk(
  { names }: DeniedPathsDeps,
  {
    start,
    matches,
    depthMax,
  }: { readonly start: string; readonly matches: (path: string) => boolean; readonly depthMax: number },
): Promise<WalkOutcome> {
  if (matches(start)) return { kind: "walked", paths: await resolveAll([start]) };
  const found: string[] = [];
  let level: readonly string[] = [start];
  let entriesLeft = deniedEntriesMax;
  for (let depth = 0; depth < depthMax && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (let at = 0; at < level.length; at += foldersAtOnce) {
      const folders = level.slice(at, at + foldersAtOnce);
      const read = await Promise.all(folders.map((folder) => names.read(folder)));
      for (const [index, entries] of read.entries()) {
        const folder = folders[index] ?? start;
        // It may hold matching files, and its owner can make it readable.
        if (entries === "unreadable") found.push(folder);
        if (entries === "none" || entries === "unreadable") continue;
        entriesLeft -= entries.length;
        for (const { name, kind } of entries) {
          const path = join(folder, name);
          if (matches(path)) found.push(path);
          // Git's copies of files are handled separately.
          else if (kind === "folder" && name !== ".git") next.push(path);
        }
      }
      if (entriesLeft < 0) return { kind: "too-many", folder: start };
    }
    level = next;
  }
  return { kind: "walked", paths: await resolveAll(found) };
}

/** As many as the system's thread pool takes without delaying everything else. */
const foldersAtOnce = 64;

/** The targets of links: a link can't be opened without its target. */
async function resolveAll(paths: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(paths.map((path) => resolveRealPath(path, "/")));
  return resolved.map((one, index) => (one.kind === "real" ? one.path : (paths[index] ?? "/")));
}
