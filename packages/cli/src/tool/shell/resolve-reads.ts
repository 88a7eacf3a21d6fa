import { resolve } from "node:path";
import { isFolder, isSpecialPath } from "../resolve-real-path.ts";
import { findGitRisk } from "./find-git-risk.ts";
import { shellFoldersMax, shellLookupsMax } from "../limits.ts";
import { type ExpandedWord, isHarmlessExpanded, type NamedWord, type LineReads } from "./analyze-effect.ts";
import { expand, isOtherHome, tildeMeanings, namesFor, resolveForProcess } from "./expand.ts";
import type { SimpleCommand } from "./parse-line.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import type { ShellWord } from "./shell-word.ts";

interface ShellReads {
  /** Every existing file that a word may name: the program may not take all of them as paths. */
  readonly files: readonly ShellRead[];
  /** Why files may be missing from the list. */
  readonly unclear: string | undefined;
}

interface ShellRead {
  /** A real path. */
  readonly path: string;
  /** The index of the command that names it; undefined for a redirect. */
  readonly command: number | undefined;
}

/** What a line may read, so that the same rules apply to its files as to those of the read tool. */
export async function resolveReads(reading: LineReads, { cwd, home }: ShellLocation): Promise<ShellReads> {
  const { values } = reading;
  const places = reading.folders.map((value) => withPlaces({ kind: "plain", value }, { cwd, home, values }));
  const folders = await resolveFolders(places, { cwd, home });
  if (folders === undefined) return { files: [], unclear: "it changes the folder too often" };
  const words = reading.named.flatMap(({ word }) => withPlaces(word, { cwd, home, values }));
  const lookups = words.reduce((sum, { value }) => sum + spellings(value).length, 0) * folders.length;
  if (lookups > shellLookupsMax) return { files: [], unclear: "it has too many words to look at" };
  let unclear = reading.shell === "unclear" || values.length > 0 ? "it changes the shell that runs it" : undefined;
  if (folders.some(isSpecialPath)) unclear ??= "it goes where files are of processes or devices";
  if (reading.programs.has("git")) for (const folder of folders) unclear ??= await findGitRisk(folder);
  const fileByKey = new Map<string, ShellRead>();
  for (const folder of folders) {
    for (const command of reading.open) unclear ??= await doubtAboutWords(command, { cwd: folder, home, values });
    for (const named of reading.named) {
      const paths = await findPaths(named.word, { cwd: folder, home, values });
      unclear ??= await wordDoubt(named, paths);
      for (const path of paths ?? []) {
        if (path !== "/dev/null") fileByKey.set(`${named.command} ${path}`, { path, command: named.command });
      }
    }
  }
  return { files: [...fileByKey.values()], unclear };
}

async function wordDoubt(
  { word, program }: NamedWord,
  paths: readonly string[] | undefined,
): Promise<string | undefined> {
  if (paths === undefined) return `it is not clear where ${word.value} leads`;
  if (program !== "diff") return undefined;
  const areFolders = await Promise.all(paths.map(isFolder));
  return areFolders.includes(true) ? "diff reads what links in a folder lead to" : undefined;
}

/** Whether the expansion of a command's words may make it do something else. */
async function doubtAboutWords({ words }: SimpleCommand, context: WordContext): Promise<string | undefined> {
  const [name, ...args] = words;
  const expanded: ExpandedWord[] = [];
  for (const arg of args) {
    const values = await expand(arg, context);
    if (values === undefined) return `it is not clear what ${arg.value} becomes`;
    expanded.push(...values.map((value) => ({ value, from: arg })));
  }
  return isHarmlessExpanded(name?.value ?? "", expanded)
    ? undefined
    : `what its patterns find may not be harmless: ${name?.value}`;
}

/**
 * Each `cd` may have happened or not, to any of its words, and `..` may go up from a link or from its target: shells do
 * either.
 */
export async function resolveFolders(
  places: readonly (readonly ShellWord[])[],
  { cwd, home }: ShellLocation,
): Promise<readonly string[] | undefined> {
  const folders = new Set([cwd]);
  for (const words of places) {
    const names = words.flatMap(({ value }) => tildeMeanings(value, home));
    for (const folder of Array.from(folders)) {
      for (const name of names) {
        folders.add(resolve(folder, name));
        const real = await resolveForProcess(name, folder);
        if (real.kind === "real") folders.add(real.path);
      }
    }
    if (folders.size > shellFoldersMax) return undefined;
  }
  return [...folders];
}

/** Undefined if unknown. */
async function findPaths(word: ShellWord, context: WordContext): Promise<readonly string[] | undefined> {
  const found: string[] = [];
  for (const placed of withPlaces(word, context)) {
    // Of the harmless commands only echo takes a dynamic word, and it reads nothing.
    if (placed.kind === "dynamic") continue;
    const names = await namesFor(placed, context);
    const paths = names && (await existingPaths(names.flatMap(spellings), context));
    if (paths === undefined) return undefined;
    found.push(...paths);
  }
  return found;
}

/** `--file=a`, `-fa` and `-rfa` may all mean the file `a`; after `--` they are file names themselves. */
export function spellings(value: string): readonly string[] {
  const afterEquals = value.includes("=") ? [value.slice(value.indexOf("=") + 1)] : [];
  const inner = [...value.matchAll(innerSpecial)].map(({ index }) => value.slice(index));
  if (!/^-[^-]/.test(value)) return [value, ...afterEquals, ...inner];
  const ends = Array.from({ length: value.length - 1 }, (_, index) => value.slice(index + 1));
  // `cut -d/` does not mean a file.
  return [value, ...afterEquals, ...inner, ...ends.filter((end) => end !== "/")];
}

/** `@/proc/self/environ`: files of processes and devices, wherever in a word their path begins. */
const innerSpecial = /(?<=[^\w.~/*?-])\/+(?:\.\/+)*(?:proc|dev|sys)(?=\/|$)/g;

async function existingPaths(
  names: readonly string[],
  { cwd, home }: WordContext,
): Promise<readonly string[] | undefined> {
  const paths: string[] = [];
  for (const name of names) {
    if (isOtherHome(name)) return undefined;
    if (name === "" || name.includes("\0")) continue;
    for (const meaning of tildeMeanings(name, home)) {
      const resolved = await resolveForProcess(meaning, cwd);
      if (resolved.kind === "real" && resolved.exists) paths.push(resolved.path);
    }
  }
  return paths;
}
