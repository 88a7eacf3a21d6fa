import { resolve, dirname, join, basename } from "node:path";
import { isFolder, isSpecialPath, resolveRealPath } from "../resolve-real-path.ts";
import { findGitRisk } from "./find-git-risk.ts";
import { shellFoldersMax, shellLookupsMax } from "../limits.ts";
import { type ExpandedWord, isHarmlessExpanded, type NamedWord, type LineReads } from "./analyze-effect.ts";
import { expand, isOtherHome, tildeMeanings, namesFor, resolveForProcess, isStream } from "./expand.ts";
import type { SimpleCommand } from "./parse-line.ts";
import { type WordContext, type ShellLocation, withPlaces } from "./place-values.ts";
import type { ShellWord } from "./shell-word.ts";
import type { ShellDisclosure, DisclosedFile } from "palimpsest/internal/ports/tool";
import type { LineShows } from "./analyze-shows.ts";
import type { ShownWord } from "./analyze-git-shows.ts";
import { stat } from "node:fs/promises";
import { errorCode } from "../error-code.ts";
import type { LineWrites, WrittenWord } from "./analyze-writes.ts";

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
async function resolveFolders(
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
function spellings(value: string): readonly string[] {
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

const unknownShows: ShellDisclosure = { files: [], others: "perhaps" };

/** Which files a line may show, by real path. Cost: a few disk lookups per word. */
export async function resolveShows(showing: LineShows, { cwd, home }: ShellLocation): Promise<ShellDisclosure> {
  const { values, named } = showing;
  const places = showing.folders.map((word) => withPlaces(word, { cwd, home, values }));
  const folders = await resolveFolders(places, { cwd, home });
  if (folders === undefined) return unknownShows;
  const fileByKey = new Map<string, DisclosedFile>();
  let others = showing.others;
  let lookupsLeft = shellLookupsMax;
  for (const folder of folders) {
    for (const shown of named) {
      const candidates = await findCandidates(shown, { cwd: folder, home, values });
      lookupsLeft -= candidates?.length ?? 0;
      if (lookupsLeft < 0) return unknownShows;
      if (candidates === undefined) others = "perhaps";
      for (const candidate of candidates ?? []) {
        const file = await resolveCandidate(candidate, shown);
        if (file !== undefined && isSpecialPath(file.path)) others = isStream(file.path) ? others : "perhaps";
        else if (file !== undefined) fileByKey.set(`${file.reach} ${file.sight} ${file.path}`, file);
      }
    }
  }
  return { files: [...fileByKey.values()], others };
}

interface ShownCandidate {
  readonly name: string;
  readonly folder: string;
  /** `part`: part of a word that may be a text. */
  readonly of: "word" | "part";
}

/** Undefined if the word's expansion is unknown. */
async function findCandidates(
  { word, as }: ShownWord,
  context: WordContext,
): Promise<readonly ShownCandidate[] | undefined> {
  const candidates: ShownCandidate[] = [];
  for (const one of withPlaces(word, context)) {
    const names = await namesFor(one, context);
    if (names === undefined || names.some(isOtherHome)) return undefined;
    const whole = new Set(names.flatMap((name) => spellings(name)));
    const parts =
      as === "name" ? [] : names.flatMap((name) => name.split(separators)).filter((part) => !whole.has(part));
    const folders = as === "history" ? [context.cwd, await findRepository(context.cwd)] : [context.cwd];
    for (const folder of new Set(folders)) {
      candidates.push(...[...whole].map((name): ShownCandidate => ({ name, folder, of: "word" })));
      const of = as === "history" ? "word" : "part";
      candidates.push(...[...new Set(parts)].map((name): ShownCandidate => ({ name, folder, of })));
    }
  }
  return candidates.filter(({ name }) => name !== "" && name !== "/" && !name.includes("\0"));
}

/** What separates file names in a text, an address or a program. */
const separators = /[\s"'`()<>|;&=:,@{}[\]\\]+/;

async function resolveCandidate(
  { name, folder, of }: ShownCandidate,
  { as, reach }: ShownWord,
): Promise<DisclosedFile | undefined> {
  const resolved = await resolveForProcess(name, folder);
  if (resolved.kind !== "real") return undefined;
  // A missing file may exist when the line gets there: git restores files.
  if (!resolved.exists && as !== "history")
    return { path: resolved.path, reach: as === "text" ? "itself" : reach, sight: "perhaps" };
  const isDeep = !resolved.exists || (await isFolder(resolved.path));
  const isSure = as !== "text" || (of === "word" && !isDeep);
  return { path: resolved.path, reach: isDeep ? reach : "itself", sight: isSure ? "sure" : "perhaps" };
}

/** The folder that git's object paths are relative to; the folder itself if there is no repository. */
async function findRepository(folder: string): Promise<string> {
  for (let at = folder; dirname(at) !== at; at = dirname(at)) {
    const found = await resolveRealPath(join(at, ".git"), "/");
    if (found.kind === "real" && found.exists) return at;
  }
  return folder;
}

interface ShellWrites {
  readonly files: readonly ShellWrite[];
  readonly sight: "known" | "unclear";
}

interface ShellWrite {
  /** A real path; for a link also the link's own path, since it may be replaced as well as followed. */
  readonly path: string;
  readonly reach: "itself" | "below";
}

/** What a line is known to change, so that the same rules apply to its files as to those of the write tool. */
export async function resolveWrites(writing: LineWrites, { cwd, home }: ShellLocation): Promise<ShellWrites> {
  const unclear: ShellWrites = { files: [], sight: "unclear" };
  const { values } = writing;
  const places = writing.folders.map((word) => withPlaces(word, { cwd, home, values }));
  const plain = places.filter((words) => words.every(({ kind }) => kind === "plain"));
  const folders = await resolveFolders(plain, { cwd, home });
  const words = writing.named.flatMap(({ word }) => withPlaces(word, { cwd, home, values }));
  if (folders === undefined || folders.length * words.length > shellLookupsMax) return unclear;
  let areWritesKnown = writing.sight === "clear" && plain.length === places.length;
  const writeByKey = new Map<string, ShellWrite>();
  for (const folder of folders) {
    for (const one of writing.named) {
      const names = await resolveNames(one, { cwd: folder, home, values });
      if (names === undefined) areWritesKnown = false;
      for (const name of names ?? []) {
        for (const path of await resolvePaths(name, folder)) {
          const reach = await resolveReach(one, path);
          if (!isSpecialPath(path)) writeByKey.set(`${reach} ${path}`, { path, reach });
          else if (!isStream(path)) areWritesKnown = false;
        }
      }
    }
  }
  return { files: [...writeByKey.values()], sight: areWritesKnown ? "known" : "unclear" };
}

/** Undefined if unknown. */
async function resolveNames(
  { word, nameOf, suffix = "" }: WrittenWord,
  context: WordContext,
): Promise<readonly string[] | undefined> {
  const names = await wordNames(word, context);
  if (nameOf === undefined) return names?.map((name) => name + suffix);
  const lastNames = await wordNames(nameOf, context);
  return (
    names &&
    lastNames &&
    names.flatMap((name) => [...new Set(lastNames.map((last) => join(name, basename(last) + suffix)))])
  );
}

async function wordNames(writtenWord: ShellWord, context: WordContext): Promise<readonly string[] | undefined> {
  const found = await Promise.all(withPlaces(writtenWord, context).map((word) => namesFor(word, context)));
  const names = found.includes(undefined) ? undefined : found.flatMap((one) => one ?? []);
  // What a program substitutes for the braces is unknown.
  return names?.some((name) => name.includes("{}") || isOtherHome(name)) === true ? undefined : names;
}

async function resolvePaths(name: string, cwd: string): Promise<readonly string[]> {
  if (name === "" || name.includes("\0")) return [];
  const followed = await resolveForProcess(name, cwd);
  const last = basename(name);
  const folder = last === ".." || last === "." ? undefined : await resolveForProcess(parentName(name), cwd);
  return [
    ...(followed.kind === "real" ? [followed.path] : []),
    ...(folder?.kind === "real" ? [join(folder.path, last)] : []),
  ];
}

function parentName(name: string): string {
  const trimmed = name.replace(/\/+$/, "");
  const slash = trimmed.lastIndexOf("/");
  return slash === -1 ? "." : slash === 0 ? "/" : trimmed.slice(0, slash);
}

async function resolveReach({ reach }: WrittenWord, path: string): Promise<ShellWrite["reach"]> {
  if (reach !== "new") return reach;
  try {
    return (await stat(path)).isDirectory() ? "itself" : "below";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return "below";
  }
}
