import { dirname, join, basename, delimiter, isAbsolute } from "node:path";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { isInside, isInsideAny, resolveRealPath } from "../resolve-real-path.ts";
import { type RuleRoots, type Rule, type Rules, rootPatterns, pathMatcher } from "../permission/rule.ts";
import { FolderNameCache } from "./folder-scanner.ts";
import type { GitFolders } from "./git-folders.ts";
import { GitHistory, mayShowHistory } from "./git-history.ts";
import { deniedEntriesMax } from "./limits.ts";
import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { errorCode } from "../error-code.ts";

interface RuleLimitsDeps extends RuleRoots {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called for each command: rules may be added while a session is open. */
  readonly rules: () => Rules;
}

interface RuleLimitsInput {
  readonly act: ShellAction;
  /** The files that the command names. Ask rules were already answered for them. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** By repository folder: the project's, and those inside it. */
  readonly gitByFolder: ReadonlyMap<string, GitFolders>;
}

type RuleLimits =
  | {
      readonly kind: "limits";
      readonly hidden: readonly string[];
      /** Hidden files that the command names and only an ask rule covers: the user has allowed them. */
      readonly asked: readonly string[];
      readonly protected: readonly string[];
    }
  | { readonly kind: "refused"; readonly why: string };

type PathRule = Extract<Rule, { kind: "path" }>;

/** Finds the paths that rules about files cover, for the sandbox. One per session, because it caches folders. */
export class RulePathFinder {
  readonly #deps: RuleLimitsDeps;
  readonly #names = new FolderNameCache();
  readonly #history: GitHistory;

  constructor(deps: RuleLimitsDeps) {
    this.#deps = deps;
    this.#history = new GitHistory(deps.env);
  }

  async limits(input: RuleLimitsInput): Promise<RuleLimits> {
    const { roots } = this.#deps;
    const hidden = await this.#findPaths("read", input.reads);
    if (hidden.kind === "refused") return hidden;
    const covered = hidden.paths.find((path) => roots.some((root) => isInside(root, path)));
    if (covered !== undefined) return refuseLimits("a rule forbids to read the whole project");
    const unchanged = await this.#findPaths("write", input.writes);
    if (unchanged.kind === "refused") return unchanged;
    const contents = await this.#findContents(input);
    return {
      kind: "limits",
      hidden: [...hidden.paths, ...contents],
      asked: hidden.asked,
      protected: [...unchanged.paths, ...unchanged.missing],
    };
  }

  async #findPaths(act: PathRule["act"], named: readonly string[]): Promise<FoundPaths | LimitsRefusal> {
    const { roots, home, rules } = this.#deps;
    const { deny, ask } = rules();
    const pathsByUse = { deny: [] as string[], ask: [] as string[] };
    const missing: string[] = [];
    for (const [rule, use] of [
      ...deny.map((one) => [one, "deny"] as const),
      ...ask.map((one) => [one, "ask"] as const),
    ]) {
      if (rule.kind !== "path" || rule.act !== act) continue;
      const found = await findDeniedPaths({ names: this.#names }, { pattern: rule.pattern, roots, home });
      if (found.kind === "too-many") {
        if (roots.some((root) => isInside(root, found.folder)))
          return refuseLimits(
            `the rule ${rule.text} is for files of any folder in ${found.folder}, which holds too many to look at`,
          );
        pathsByUse[use].push(found.folder);
        continue;
      }
      const isAsked = (path: string): boolean => use === "ask" && isInsideAny(path, named);
      pathsByUse[use].push(...found.paths.filter((path) => !isAsked(path)));
      missing.push(...found.missing.filter((path) => !isAsked(path)));
    }
    const { deny: byDenyRules, ask: byAskRules } = pathsByUse;
    const asked = named.filter((path) => isInsideAny(path, byAskRules) && !isInsideAny(path, byDenyRules));
    return { kind: "paths", paths: [...byDenyRules, ...byAskRules], asked, missing };
  }

  /** Object folders of repositories that hold hidden files, unless the line can't show them. */
  async #findContents({ act, gitByFolder }: RuleLimitsInput): Promise<readonly string[]> {
    const { roots, home, rules } = this.#deps;
    const patterns = rules().deny.flatMap((rule) =>
      rule.kind === "path" && rule.act === "read" ? [rule.pattern ?? "**"] : [],
    );
    if (patterns.length === 0) return [];
    const found = await Promise.all(
      [...gitByFolder].map(async ([root, { contents, hooks }]) => {
        const [objects] = contents;
        if (objects === undefined) return [];
        const repository = dirname(objects);
        if (!(await mayShowHistory(act, hooks))) return [];
        return (await this.#history.holds({ root, repository, patterns, roots, home })) ? contents : [];
      }),
    );
    return found.flat();
  }
}

interface FoundPaths extends Pick<Extract<RuleLimits, { kind: "limits" }>, "asked"> {
  readonly kind: "paths";
  readonly paths: readonly string[];
  readonly missing: readonly string[];
}

type LimitsRefusal = Extract<RuleLimits, { kind: "refused" }>;

const refuseLimits = (why: string): LimitsRefusal => ({ kind: "refused", why });

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

export interface DeniedProgramsInput {
  /** Deny rules. */
  readonly rules: readonly Rule[];
  /** The command's PATH variable. */
  readonly path: string;
  /** Programs without which the command itself can't start. */
  readonly needed: readonly string[];
}

/**
 * Files of programs that a rule such as `Bash(rm:*)` denies with any arguments: if hidden, they can't be run or copied,
 * under any name. A rule for particular arguments hides nothing.
 */
export class DeniedPrograms {
  readonly #twinsByFile = new Map<string, { readonly changedMs: number; readonly twins: readonly string[] }>();

  /** Real paths. */
  find({ rules, path, needed }: DeniedProgramsInput): readonly string[] {
    const names = rules.flatMap(wholeProgram);
    if (names.length === 0) return [];
    const folders = [...new Set([...path.split(delimiter).filter((folder) => isAbsolute(folder)), ...usualFolders])];
    const findAll = (name: string): readonly string[] =>
      isAbsolute(name) ? realFiles([name]) : realFiles(folders.map((folder) => join(folder, name)));
    const kept = new Set(realFiles(needed));
    // A file that is many programs is not hidden because of one of them if the system depends on it.
    const shared = new Set(realFiles(usualPrograms).filter((file) => !names.includes(basename(file))));
    const found = [...names, ...manyPrograms].flatMap(findAll).filter((file) => !kept.has(file) && !shared.has(file));
    return [...new Set(found.flatMap((file) => [file, ...this.#findTwins(file)]))];
  }

  /** Other names of the same file, such as `perl5.36.0` for `perl`. */
  #findTwins(file: string): readonly string[] {
    return emptyIfRefused((): readonly string[] => {
      const { nlink, ino, dev } = statSync(file);
      if (nlink < 2) return [];
      const folder = dirname(file);
      const changedMs = statSync(folder).ctimeMs;
      const kept = this.#twinsByFile.get(file);
      if (kept?.changedMs === changedMs) return kept.twins;
      const isTwin = (path: string): boolean => {
        const found = lstatSync(path, { throwIfNoEntry: false });
        return path !== file && found?.ino === ino && found.dev === dev;
      };
      const twins = readdirSync(folder)
        .map((name) => join(folder, name))
        .filter(isTwin);
      this.#twinsByFile.set(file, { changedMs, twins });
      return twins;
    });
  }
}

const usualFolders: readonly string[] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

const usualPrograms: readonly string[] = ["/bin/sh", "/bin/cat", "/bin/ls", "/usr/bin/cat", "/usr/bin/env"];

/** They contain most programs of a system in one file. */
const manyPrograms: readonly string[] = ["busybox", "toybox"];

/** For a script of the project only the line is judged: hiding the file would change what git sees of the project. */
function wholeProgram(rule: Rule): readonly string[] {
  if (rule.kind !== "shell" || rule.pattern.kind !== "starts") return [];
  const [name = "", ...others] = rule.pattern.words;
  return others.length === 0 && name !== "" && (isAbsolute(name) || !name.includes("/")) ? [name] : [];
}

const realFiles = (paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) =>
    emptyIfRefused((): readonly string[] => {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return [];
      const real = realpathSync.native(path);
      return statSync(real).isFile() ? [real] : [];
    }),
  );

/** Empty if the system refuses. */
function emptyIfRefused(look: () => readonly string[]): readonly string[] {
  try {
    return look();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}
